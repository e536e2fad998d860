{{- define "frontend.fullname" -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- end -}}

{{- define "frontend.tag" -}}
{{- .Values.frontend.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{- define "frontend.secretName" -}}
{{- printf "%s-secret" (include "frontend.fullname" .) -}}
{{- end -}}

{{- define "frontend.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: web
{{- end -}}

{{- define "frontend.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "frontend.selectorLabels" . }}
app.kubernetes.io/version: {{ include "frontend.tag" . | quote }}
app.kubernetes.io/part-of: ask
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
