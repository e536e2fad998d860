{{/* Base of all names. Short enough for the longest suffix to stay below 63 characters. */}}
{{- define "knowledge-management-service.fullname" -}}
{{- .Release.Name | trunc 35 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of a component's objects: "api" has none of its own. Takes {root, component}. */}}
{{- define "knowledge-management-service.componentName" -}}
{{- $base := include "knowledge-management-service.fullname" .root -}}
{{- if eq .component "api" -}}{{ $base }}{{- else -}}{{ printf "%s-%s" $base .component }}{{- end -}}
{{- end -}}

{{- define "knowledge-management-service.tag" -}}
{{- .Values.knowledgeManagementService.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{- define "knowledge-management-service.image" -}}
{{- printf "%s/%s:%s" .Values.global.imageRegistry .Values.knowledgeManagementService.image.name (include "knowledge-management-service.tag" .) -}}
{{- end -}}

{{- define "knowledge-management-service.secretName" -}}
{{- printf "%s-secret" (include "knowledge-management-service.fullname" .) -}}
{{- end -}}

{{/* Labels that select the Pods of one component. Takes {root, component}. */}}
{{- define "knowledge-management-service.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* All labels of an object. Takes {root, component}. */}}
{{- define "knowledge-management-service.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "knowledge-management-service.selectorLabels" . }}
app.kubernetes.io/version: {{ include "knowledge-management-service.tag" .root | quote }}
app.kubernetes.io/part-of: ask
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{- define "knowledge-management-service.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "knowledge-management-service.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Pods do not see a changed ConfigMap they have mounted or read at start; a changed checksum restarts them. */}}
{{- define "knowledge-management-service.configChecksum" -}}
checksum/config: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}
{{- end -}}

{{/* What every container of the application reads: secrets as environment, settings as a file. */}}
{{- define "knowledge-management-service.containerConfig" -}}
env:
  - name: SETTINGS_FILES_FOR_DYNACONF
    value: /etc/knowledge-management-service/settings.toml
envFrom:
  - secretRef:
      name: {{ include "knowledge-management-service.secretName" . }}
volumeMounts:
  - name: config
    mountPath: /etc/knowledge-management-service
    readOnly: true
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{- define "knowledge-management-service.volumes" -}}
volumes:
  - name: config
    configMap:
      name: {{ include "knowledge-management-service.fullname" . }}-config-toml
  - name: tmp
    emptyDir: {}
{{- end -}}
