{{- define "agentfy-api.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "agentfy-api.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "agentfy-api.selectorLabels" . }}
app.kubernetes.io/part-of: agentfy
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
