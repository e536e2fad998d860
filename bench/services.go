// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// service is a directory of the monorepo. Even ones are charts, odd ones
// overlays of one base; both make ten objects.
type monoService struct {
	name, path string
	chart      bool
}

func monoServices(n int) []monoService {
	list := make([]monoService, n)
	for i := range list {
		name := fmt.Sprintf("service-%04d", i)
		list[i] = monoService{name: name, path: "services/" + name, chart: i%2 == 0}
	}
	return list
}

// monorepo is a repository of services.
func monorepo(services []monoService) map[string][]byte {
	files := map[string][]byte{}
	for name, text := range base() {
		files["base/"+name] = []byte(text)
	}
	for _, s := range services {
		for name, text := range s.files("1.0.0") {
			files[s.path+"/"+name] = []byte(text)
		}
	}
	return files
}

// files of a service at a version of its image.
func (s monoService) files(version string) map[string]string {
	if s.chart {
		files := map[string]string{
			"Chart.yaml":  fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 1.0.0\n", s.name),
			"values.yaml": fmt.Sprintf("image: {repository: registry.example.test/%s, tag: %q}\nreplicas: 0\nhost: %s.example.test\nlimits: {memory: 256Mi}\nconfig:\n  LOG_LEVEL: info\n  REGION: eu\n", s.name, version, s.name),
		}
		for name, text := range chartTemplates() {
			files["templates/"+name] = text
		}
		return files
	}
	return map[string]string{
		"kustomization.yaml": fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namePrefix: %s-
resources: [../../base]
labels: [{pairs: {app.kubernetes.io/instance: %s}, includeSelectors: true}]
images: [{name: registry.example.test/app, newTag: %q}]
patches: [{path: resources.yaml, target: {kind: Deployment}}]
`, s.name, s.name, version),
		"resources.yaml": "- {op: add, path: /spec/template/spec/containers/0/resources, value: {limits: {memory: 256Mi}}}\n",
	}
}

func chartTemplates() map[string]string {
	labels := "  labels: {{- include \"service.labels\" . | nindent 4 }}\n"
	named := func(apiVersion, kind, suffix, rest string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: {{ .Release.Name }}" + suffix + "\n" + labels + rest
	}
	return map[string]string{
		"_helpers.tpl": `{{- define "service.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
{{- end -}}
`,
		"serviceaccount.yaml": named("v1", "ServiceAccount", "", ""),
		"config.yaml": named("v1", "ConfigMap", "", "data: {{- toYaml .Values.config | nindent 2 }}\n") +
			"---\n" + named("v1", "ConfigMap", "-scripts", "data:\n  run.sh: |\n    exec /app --host={{ .Values.host }}\n"),
		"rbac.yaml": named("rbac.authorization.k8s.io/v1", "Role", "", "rules:\n  - {apiGroups: [\"\"], resources: [configmaps], verbs: [get, list]}\n") +
			"---\n" + named("rbac.authorization.k8s.io/v1", "RoleBinding", "",
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Release.Name }}}\nsubjects: [{kind: ServiceAccount, name: {{ .Release.Name }}}]\n"),
		"deployment.yaml": named("apps/v1", "Deployment", "", `spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app.kubernetes.io/instance: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app.kubernetes.io/instance: {{ .Release.Name }}}}
    spec:
      serviceAccountName: {{ .Release.Name }}
      containers:
        - name: main
          image: {{ printf "%s:%s" .Values.image.repository .Values.image.tag }}
          ports: [{name: http, containerPort: 8080}]
          envFrom: [{configMapRef: {name: {{ .Release.Name }}}}]
          resources:
            limits: {{- toYaml .Values.limits | nindent 14 }}
`),
		"service.yaml": named("v1", "Service", "", "spec:\n  selector: {app.kubernetes.io/instance: {{ .Release.Name }}}\n  ports: [{name: http, port: 80, targetPort: http}]\n"),
		"scaling.yaml": named("autoscaling/v2", "HorizontalPodAutoscaler", "",
			"spec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .Release.Name }}}\n  minReplicas: 2\n  maxReplicas: 8\n") +
			"---\n" + named("policy/v1", "PodDisruptionBudget", "", "spec:\n  minAvailable: 1\n  selector: {matchLabels: {app.kubernetes.io/instance: {{ .Release.Name }}}}\n"),
		"ingress.yaml": named("networking.k8s.io/v1", "Ingress", "", `spec:
  rules:
    - host: {{ .Values.host }}
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: {{ .Release.Name }}, port: {name: http}}}}]}
`),
	}
}

// base is what the chart makes, without a template, for overlays.
func base() map[string]string {
	docs := []string{
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: app}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {LOG_LEVEL: info, REGION: eu}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app-scripts}\ndata:\n  run.sh: |\n    exec /app\n",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: app}\nrules:\n  - {apiGroups: [\"\"], resources: [configmaps], verbs: [get, list]}\n",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: app}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: app}\nsubjects: [{kind: ServiceAccount, name: app}]\n",
		`apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 0
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      serviceAccountName: app
      containers:
        - name: main
          image: registry.example.test/app:1
          ports: [{name: http, containerPort: 8080}]
          envFrom: [{configMapRef: {name: app}}]
`,
		"apiVersion: v1\nkind: Service\nmetadata: {name: app}\nspec:\n  selector: {app: app}\n  ports: [{name: http, port: 80, targetPort: http}]\n",
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: app}\nspec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}\n  minReplicas: 2\n  maxReplicas: 8\n",
		"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: app}\nspec:\n  minAvailable: 1\n  selector: {matchLabels: {app: app}}\n",
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: app}\nspec:\n  rules:\n    - host: app.example.test\n      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: app, port: {name: http}}}}]}\n",
	}
	return map[string]string{
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [all.yaml]\n",
		"all.yaml":           strings.Join(docs, "---\n"),
	}
}
