{{/* Base of all names. Short enough for the longest suffix to stay below 63 characters. */}}
{{- define "assistant-service.fullname" -}}
{{- .Release.Name | trunc 35 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of a component's objects: "api" has none of its own. Takes {root, component}. */}}
{{- define "assistant-service.componentName" -}}
{{- $base := include "assistant-service.fullname" .root -}}
{{- if eq .component "api" -}}{{ $base }}{{- else -}}{{ printf "%s-%s" $base .component }}{{- end -}}
{{- end -}}

{{- define "assistant-service.tag" -}}
{{- .Values.assistantService.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{- define "assistant-service.image" -}}
{{- printf "%s/%s:%s" .Values.global.imageRegistry .Values.assistantService.image.name (include "assistant-service.tag" .) -}}
{{- end -}}

{{- define "assistant-service.secretName" -}}
{{- printf "%s-secret" (include "assistant-service.fullname" .) -}}
{{- end -}}

{{/* Labels that select the Pods of one component. Takes {root, component}. */}}
{{- define "assistant-service.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* All labels of an object. Takes {root, component}. */}}
{{- define "assistant-service.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "assistant-service.selectorLabels" . }}
app.kubernetes.io/version: {{ include "assistant-service.tag" .root | quote }}
app.kubernetes.io/part-of: ask
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{- define "assistant-service.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "assistant-service.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Pods do not see a changed ConfigMap they have mounted or read at start; a changed checksum restarts them. */}}
{{- define "assistant-service.configChecksum" -}}
checksum/config: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}
{{- end -}}

{{/* What every container of the application reads: secrets as environment, settings and gateway list as files. */}}
{{- define "assistant-service.containerConfig" -}}
env:
  - name: SETTINGS_FILES_FOR_DYNACONF
    value: /etc/assistant-service/settings.toml
  - name: MCP_GATEWAY_FILE
    value: /etc/mcp-gateway/servers.yaml
envFrom:
  - secretRef:
      name: {{ include "assistant-service.secretName" . }}
volumeMounts:
  - name: config
    mountPath: /etc/assistant-service
    readOnly: true
  - name: mcp-gateway
    mountPath: /etc/mcp-gateway
    readOnly: true
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{- define "assistant-service.volumes" -}}
volumes:
  - name: config
    configMap:
      name: {{ include "assistant-service.fullname" . }}-config-toml
  - name: mcp-gateway
    configMap:
      name: {{ include "assistant-service.fullname" . }}-mcp-gateway
  - name: tmp
    emptyDir: {}
{{- end -}}
