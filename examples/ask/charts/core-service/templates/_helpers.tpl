{{/* Base of all names. Short enough for the longest suffix to stay below 63 characters. */}}
{{- define "core-service.fullname" -}}
{{- .Release.Name | trunc 35 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of a component's objects: "api" has none of its own. Takes {root, component}. */}}
{{- define "core-service.componentName" -}}
{{- $base := include "core-service.fullname" .root -}}
{{- if eq .component "api" -}}{{ $base }}{{- else -}}{{ printf "%s-%s" $base .component }}{{- end -}}
{{- end -}}

{{- define "core-service.tag" -}}
{{- .Values.coreService.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{- define "core-service.image" -}}
{{- printf "%s/%s:%s" .Values.global.imageRegistry .Values.coreService.image.name (include "core-service.tag" .) -}}
{{- end -}}

{{- define "core-service.secretName" -}}
{{- .Values.coreService.secretName -}}
{{- end -}}

{{/* Labels that select the Pods of one component. Takes {root, component}. */}}
{{- define "core-service.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* All labels of an object. Takes {root, component}. */}}
{{- define "core-service.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "core-service.selectorLabels" . }}
app.kubernetes.io/version: {{ include "core-service.tag" .root | quote }}
app.kubernetes.io/part-of: ask
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{- define "core-service.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "core-service.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Pods do not see a changed ConfigMap they have mounted or read at start; a changed checksum restarts them. */}}
{{- define "core-service.configChecksum" -}}
checksum/config: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}
{{- end -}}

{{/* What every container of the application reads: secrets as environment, settings and model catalog as files. */}}
{{- define "core-service.containerConfig" -}}
env:
  - name: SETTINGS_FILES_FOR_DYNACONF
    value: /etc/core-service/settings.toml
  - name: MODEL_CATALOG_FILE
    value: /etc/model-catalog/models.yml
envFrom:
  - secretRef:
      name: {{ include "core-service.secretName" . }}
volumeMounts:
  - name: config
    mountPath: /etc/core-service
    readOnly: true
  - name: model-catalog
    mountPath: /etc/model-catalog
    readOnly: true
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{- define "core-service.volumes" -}}
volumes:
  - name: config
    configMap:
      name: {{ include "core-service.fullname" . }}-config-toml
  - name: model-catalog
    configMap:
      name: {{ include "core-service.fullname" . }}-model-config
  - name: tmp
    emptyDir: {}
{{- end -}}
