{{- define "zitadel.fullname" -}}
{{- printf "%s-%s" (.Release.Name | trunc 25 | trimSuffix "-") .Chart.Name -}}
{{- end -}}

{{- define "zitadel.loginName" -}}
{{- printf "%s-login" (include "zitadel.fullname" .) -}}
{{- end -}}

{{/* Prefix of everything that prepares the database. */}}
{{- define "zitadel.postgresName" -}}
{{- printf "%s-%s-postgres" (include "zitadel.fullname" .) .Chart.Name -}}
{{- end -}}

{{- define "zitadel.tag" -}}
{{- .Values.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{- define "zitadel.image" -}}
{{- printf "%s:%s" .Values.image.repository (include "zitadel.tag" .) -}}
{{- end -}}

{{- define "zitadel.postgresClientImage" -}}
{{- .Values.postgresClientImage | default (.Values.global).postgresClientImage | required "zitadel.postgresClientImage is an image with psql" -}}
{{- end -}}

{{- define "zitadel.pullPolicy" -}}
{{- (.Values.global).imagePullPolicy | default "IfNotPresent" -}}
{{- end -}}

{{- define "zitadel.secretName" -}}
{{- tpl .Values.secretName . -}}
{{- end -}}

{{/* Written by the setup Job, see setup-job.yaml. */}}
{{- define "zitadel.loginClientSecretName" -}}
{{- printf "%s-client" (include "zitadel.loginName" .) -}}
{{- end -}}

{{/* Takes {root, component}. */}}
{{- define "zitadel.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Takes {root, component}. */}}
{{- define "zitadel.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "zitadel.selectorLabels" . }}
app.kubernetes.io/version: {{ include "zitadel.tag" .root | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{/*
A hook that stays until the next sync makes it again: the Deployments use some of these objects long after the
operation. Takes the weight.
*/}}
{{- define "zitadel.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation
{{- end -}}

{{- define "zitadel.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "zitadel.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "zitadel.configChecksum" -}}
checksum/config: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}
{{- end -}}

{{/* What every Zitadel process needs beside its configuration file. */}}
{{- define "zitadel.env" -}}
- name: ZITADEL_MASTERKEY
  valueFrom:
    secretKeyRef:
      name: {{ include "zitadel.secretName" . }}
      key: masterkey
- name: ZITADEL_DATABASE_POSTGRES_USER_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ include "zitadel.secretName" . }}
      key: database-password
{{- end -}}

{{/* Connection of psql as superuser of the cluster. */}}
{{- define "zitadel.superuserEnv" -}}
- name: PGUSER
  valueFrom:
    secretKeyRef:
      name: {{ .Values.postgres.cluster }}-superuser
      key: username
- name: PGPASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .Values.postgres.cluster }}-superuser
      key: password
{{- end -}}
