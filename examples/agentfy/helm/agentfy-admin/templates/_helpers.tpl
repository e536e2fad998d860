{{- define "agentfy-admin.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "agentfy-admin.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "agentfy-admin.selectorLabels" . }}
app.kubernetes.io/part-of: agentfy
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
