{{- define "agentfy-redis.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "agentfy-redis.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "agentfy-redis.selectorLabels" . }}
app.kubernetes.io/part-of: agentfy
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
