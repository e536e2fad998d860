{{/* The objects are called "weaviate" whatever the release: clients carry that name in their configuration. */}}
{{- define "weaviate.name" -}}weaviate{{- end -}}

{{- define "weaviate.serviceAccountName" -}}
{{- printf "%s-weaviate" (.Release.Name | trunc 50 | trimSuffix "-") -}}
{{- end -}}

{{- define "weaviate.tag" -}}
{{- .Values.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{- define "weaviate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "weaviate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: database
{{- end -}}

{{- define "weaviate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "weaviate.selectorLabels" . }}
app.kubernetes.io/version: {{ include "weaviate.tag" . | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
