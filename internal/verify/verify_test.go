// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// job is a Job with a line of metadata.annotations and lines of its container.
func job(name, annotations, container string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  annotations: {%s}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: main, image: registry.example.com/app:1, %s}
`, name, annotations, container)
}

// deployment is a Deployment with fields of its spec and of its Pods.
func deployment(name, annotations, spec, pod string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  annotations: {%[2]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
%[3]s
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: main, image: registry.example.com/app:1}]
%[4]s
`, name, annotations, spec, pod)
}

func configMap(name, annotations string) string {
	return fmt.Sprintf("\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {%s}}\ndata: {A: b}\n", name, annotations)
}

func join(docs ...string) string { return strings.Join(docs, "---\n") }

const (
	preSync  = "argocd.argoproj.io/hook: PreSync"
	postSync = "argocd.argoproj.io/hook: PostSync"
	useShop  = "envFrom: [{configMapRef: {name: shop}}]"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// reason says why the outcome is right.
		reason  string
		objects string
		in      verify.Input
		// want are "code subject" of errors and warnings.
		want []string
	}{
		{
			name:    "low wave does not help",
			reason:  "a wave of the Sync phase is behind every PreSync hook",
			objects: join(job("load", preSync, useShop), configMap("shop", `argocd.argoproj.io/sync-wave: "-5"`)),
			want:    []string{"missing-dependency Job/load"},
		},
		{
			name:    "optional",
			reason:  "the container starts without it",
			objects: join(job("load", preSync, "envFrom: [{configMapRef: {name: shop, optional: true}}]"), configMap("shop", "")),
		},
		{
			name:   "cron job in an earlier wave",
			reason: "the rollout waits for no run of it",
			objects: join("\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: b, "+useShop+"}]}}}}}\n",
				configMap("shop", "argocd.argoproj.io/sync-wave: '1'")),
		},
		{
			name:   "scaled to nothing",
			reason: "no Pod waits for it",
			objects: join(deployment("web", "", "  replicas: 0", "      serviceAccountName: web"),
				"\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: '1'}}\n"),
		},
		{
			name:    "declared from outside",
			reason:  "somebody vouches for the object",
			objects: join(job("load", preSync, useShop), configMap("shop", "")),
			in:      verify.Input{External: patterns("ConfigMap/shop")},
		},
		{
			name:    "brought by another application",
			reason:  "that is a remark, no error",
			objects: join(job("load", preSync, useShop), configMap("shop", "")),
			in:      verify.Input{Elsewhere: func(manifest.Key) string { return "platform" }},
		},
		{
			name:   "volume claim only Sync makes",
			reason: "the Pod stays Pending",
			objects: join(job("load", preSync, "tty: true")+"      volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n",
				"\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"),
			want: []string{"missing-dependency Job/load"},
		},
		{
			name:   "hook makes what a hook uses",
			reason: "hooks run together",
			objects: join(job("load", preSync, useShop),
				configMap("shop", preSync+`, argocd.argoproj.io/hook-delete-policy: HookSucceeded, argocd.argoproj.io/sync-wave: "-1"`)),
		},
		{
			name:    "waits by an image made for it",
			reason:  "its arguments name the Job",
			objects: join(deployment("web", "", "", "      initContainers: [{name: w, image: ghcr.io/acme/k8s-wait-for:v2, args: [job, load]}]"), job("load", postSync, "args: [x]")),
			want:    []string{"waits-on-later Deployment/web"},
		},
		{
			name:   "waits for a server of a later wave",
			reason: "the Service has no Pod behind it before",
			objects: join(deployment("web", "", "", "      initContainers: [{name: w, image: busybox, command: [sh, -c, 'until nc -z db 5432; do sleep 1; done']}]"),
				"\napiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {selector: {app: db}, ports: [{port: 5432}]}\n",
				deployment("db", "argocd.argoproj.io/sync-wave: '1'", "", "")),
			want: []string{"waits-on-later Deployment/web"},
		},
		{
			name:   "waits for a server of its own wave",
			reason: "both are applied before anybody waits",
			objects: join(deployment("web", "", "", "      initContainers: [{name: w, image: busybox, command: [sh, -c, 'until nc -z db 5432; do sleep 1; done']}]"),
				"\napiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {selector: {app: db}, ports: [{port: 5432}]}\n",
				deployment("db", "", "", "")),
		},
		{
			name:    "waits by the value of a variable",
			reason:  "the variable is written out",
			objects: join(deployment("web", "", "", "      initContainers: [{name: w, image: x/kubectl, command: [sh, -c, 'kubectl wait job/$JOB'], env: [{name: JOB, value: load}]}]"), job("load", postSync, "args: [x]")),
			want:    []string{"waits-on-later Deployment/web"},
		},
		{
			name:    "race by an autoscaler",
			reason:  "the most it may scale to counts",
			objects: join(deployment("web", "", "", "      initContainers: [{name: m, image: x, command: [alembic, upgrade, head]}]"), "\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"),
			want:    []string{"migration-race Deployment/web"},
		},
		{
			name:    "one replica",
			reason:  "one Pod migrates at a time",
			objects: deployment("web", "", "  strategy: {type: Recreate}", "      initContainers: [{name: m, image: x, command: [alembic, upgrade, head]}]"),
		},
		{
			name:    "kubectl without rights",
			reason:  "the binding comes with Sync",
			objects: join(account+binding, strings.Replace(job("load", preSync, "command: [kubectl, get, pods]"), "restartPolicy", "serviceAccountName: loader\n      restartPolicy", 1)),
			want:    []string{"missing-dependency Job/load"},
		},
		{
			name:    "a program of which nobody knows whether it needs rights",
			reason:  "most programs do not: that is a remark",
			objects: join(account+binding, strings.Replace(job("load", preSync, "command: [migrate-it]"), "restartPolicy", "serviceAccountName: loader\n      restartPolicy", 1)),
		},
		{
			name:    "kubectl with rights",
			reason:  "one binding in time is enough",
			objects: join(account+binding, strings.NewReplacer("name: late", "name: early, annotations: {"+preSync+"}").Replace(binding), strings.Replace(job("load", preSync, "command: [kubectl, get, pods]"), "restartPolicy", "serviceAccountName: loader\n      restartPolicy", 1)),
		},
		{
			name:    "a webhook that checks what answers it",
			reason:  "the server is refused for want of its own answer",
			objects: join(guard("{}", "{}"), server),
			want:    []string{"webhook-not-ready ValidatingWebhookConfiguration/guard"},
		},
		{
			name:    "a webhook that leaves its namespace out",
			objects: join(guard("{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [demo]}]}", "{}"), server),
		},
		{
			name:    "a webhook that leaves its server out",
			objects: join(guard("{}", "{matchExpressions: [{key: app, operator: NotIn, values: [guard]}]}"), strings.Replace(server, "name: guard, annotations", "name: guard, labels: {app: guard}, annotations", 1)),
		},
		{
			name:    "a wave that is no number",
			reason:  "it counts as 0",
			objects: configMap("shop", "argocd.argoproj.io/sync-wave: first"),
			want:    []string{"annotation-without-effect ConfigMap/shop"},
		},
		{
			name:    "a hook type that does not exist",
			reason:  "the object is never applied",
			objects: configMap("shop", "argocd.argoproj.io/hook: Presync"),
			want:    []string{"annotation-without-effect ConfigMap/shop"},
		},
		{
			name:    "a delete policy that does not exist",
			objects: configMap("shop", preSync+", argocd.argoproj.io/hook-delete-policy: 'HookSucceeded, HookFinished'"),
			want:    []string{"annotation-without-effect ConfigMap/shop"},
		},
		{
			name:    "a hook with another name each time",
			reason:  "BeforeHookCreation finds nothing by its name",
			objects: strings.Replace(job("load", postSync+", argocd.argoproj.io/hook-delete-policy: BeforeHookCreation", "tty: true"), "name: load", "generateName: load-", 1),
			want:    []string{"annotation-without-effect Job/load-*"},
		},
		{
			name:    "a wave on Pods and on the object",
			reason:  "charts put common annotations everywhere",
			objects: strings.Replace(deployment("web", "argocd.argoproj.io/sync-wave: '1'", "", ""), "metadata: {labels: {app: web}}", "metadata: {labels: {app: web}, annotations: {argocd.argoproj.io/sync-wave: '1'}}", 1),
		},
		{
			name:    "a hook that says what comes of it",
			reason:  "the Secret is there before the Deployment's wave",
			objects: join(job("load", preSync+`, wavetrain.dev/produces: "Secret/shop"`, "tty: true"), deployment("web", "", "", "      volumes: [{name: s, secret: {secretName: shop}}]")),
		},
		{
			name:    "a hook that says that something comes of it too late",
			reason:  "PostSync is behind the Deployment's wave",
			objects: join(job("load", postSync+`, wavetrain.dev/produces: "Secret/shop"`, "tty: true"), deployment("web", "", "", "      volumes: [{name: s, secret: {secretName: shop}}]")),
			want:    []string{"missing-dependency Deployment/web"},
		},
		{
			name:    "a server that migrates before it serves",
			reason:  "each of its Pods does",
			objects: strings.Replace(deployment("web", "", "  replicas: 3", ""), "app:1}", "app:1, command: [sh, -c, 'alembic upgrade head && gunicorn app']}", 1),
			want:    []string{"migration-race Deployment/web"},
		},
		{
			name:    "an init container that only looks whether a schema is up to date",
			reason:  "it changes nothing",
			objects: deployment("web", "", "  replicas: 3", "      initContainers: [{name: schema, image: x, command: [python, manage.py, migrate, --check]}]"),
		},
		{
			name:    "more than a quota allows",
			reason:  "3 × 500m are more than 1",
			objects: join(quota("requests.cpu: 1"), resources("web", "  replicas: 3", "requests: {cpu: 500m}")),
			want:    []string{"unschedulable ResourceQuota/all"},
		},
		{
			name:    "as much as a quota allows",
			reason:  "limits count as requests where there are none",
			objects: join(quota("requests.cpu: 1, requests.memory: 2Gi, pods: 2"), resources("web", "  replicas: 2", "limits: {cpu: 500m, memory: 1Gi}")),
		},
		{
			name:    "nothing said where a quota demands it",
			reason:  "the API server refuses such Pods",
			objects: join(quota("requests.cpu: 4"), resources("web", "", "requests: {memory: 1Gi}")),
			want:    []string{"unschedulable Deployment/web"},
		},
		{
			name:    "nothing said where a quota demands it, and a default is there",
			reason:  "the LimitRange fills it in",
			objects: join(quota("requests.cpu: 4"), "\napiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\nspec: {limits: [{type: Container, default: {cpu: 1}}]}\n", resources("web", "", "requests: {memory: 1Gi}")),
		},
		{
			name:    "less than a minimum",
			reason:  "the API server refuses such Pods",
			objects: join("\napiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\nspec: {limits: [{type: Container, min: {memory: 64Mi}}]}\n", resources("web", "", "requests: {memory: 32Mi}")),
			want:    []string{"unschedulable Deployment/web"},
		},
		{
			name:    "a node for the Pods",
			reason:  "labels, affinity, taints and size fit",
			objects: deployment("web", "", "", onGPU),
			in:      verify.Input{Nodes: []verify.Node{{Name: "small"}, gpuNode}},
		},
		{
			name:    "no node for the Pods: the taint is not tolerated",
			reason:  "a toleration of another key is none",
			objects: deployment("web", "", "", strings.Replace(onGPU, "key: gpu", "key: cpu", 1)),
			in:      verify.Input{Nodes: []verify.Node{{Name: "small"}, gpuNode}},
			want:    []string{"unschedulable Deployment/web"},
		},
		{
			name:    "no node for the Pods: the affinity wants another zone",
			reason:  "all expressions of a term have to fit",
			objects: deployment("web", "", "", strings.Replace(onGPU, "values: [a, b]", "values: [c]", 1)),
			in:      verify.Input{Nodes: []verify.Node{gpuNode}},
			want:    []string{"unschedulable Deployment/web"},
		},
		{
			name:    "no node for the Pods: all are too small",
			reason:  "an init container asks for more than any has",
			objects: deployment("web", "", "", onGPU+"      initContainers: [{name: i, image: i, resources: {requests: {memory: 65Gi}}}]\n"),
			in:      verify.Input{Nodes: []verify.Node{gpuNode}},
			want:    []string{"unschedulable Deployment/web"},
		},
		{
			name:    "annotated as coming from others",
			reason:  "the rollout waits for it",
			objects: job("load", preSync+`, wavetrain.dev/needs: "ConfigMap/shop"`, useShop),
		},
		{
			name:    "annotated as coming from others, and rendered later",
			reason:  "then the rollout waits for itself",
			objects: join(job("load", preSync+`, wavetrain.dev/needs: "ConfigMap/other"`, "tty: true"), configMap("other", "")),
			want:    []string{"missing-dependency Job/load"},
		},
		{
			name:   "referenced by a row of the repository's table",
			reason: "the row says that a Widget does not work without its Secret",
			objects: "\napiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: w}\nspec: {login: shop}\n---\n" +
				"apiVersion: v1\nkind: Secret\nmetadata: {name: shop, annotations: {argocd.argoproj.io/sync-wave: '1'}}\n",
			in:   verify.Input{Table: manifest.Table{{Of: schema.GroupKind{Group: "acme.io", Kind: "Widget"}, Path: "spec.login", To: schema.GroupKind{Kind: "Secret"}}}},
			want: []string{"missing-dependency Widget/w"},
		},
		{
			name:    "made by a row of the repository's table",
			reason:  "the row says that a Widget of a later wave makes the Secret",
			objects: join(job("load", "", "envFrom: [{secretRef: {name: shop}}]"), "\napiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: w, annotations: {argocd.argoproj.io/sync-wave: '1'}}\nspec: {writes: shop}\n"),
			in:      verify.Input{Table: manifest.Table{{Of: schema.GroupKind{Group: "acme.io", Kind: "Widget"}, Path: "spec.writes", To: schema.GroupKind{Kind: "Secret"}, Makes: true}}},
			want:    []string{"missing-dependency Job/load"},
		},
		{
			name:   "custom resource against its definition",
			reason: "a wrong type is refused, an unknown field is dropped, and what the definition leaves open is nobody's business",
			objects: definition + "---\napiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: wrong}\nspec: {size: large}\n" +
				"---\napiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: misspelt}\nspec: {sise: 1}\n" +
				"---\napiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: sound}\nspec: {size: 1, free: {a: 1}}\n" +
				"---\napiVersion: acme.io/v2\nkind: Widget\nmetadata: {name: other}\nspec: {size: large}\n",
			want: []string{"invalid-schema Widget/wrong", "unknown-field Widget/misspelt"},
		},
		{
			name:    "upgrade-only hook",
			reason:  "it runs at the first sync too",
			objects: join(job("load", `helm.sh/hook: pre-upgrade`, useShop), configMap("shop", "")),
			want:    []string{"missing-dependency Job/load"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := tt.in
			in.Plan = plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: decode(t, tt.objects)})
			var got []string
			for _, f := range verify.Run(in) {
				if f.Severity != diag.Info {
					got = append(got, f.Code+" "+f.Subject.Short())
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q: %s", got, tt.want, tt.reason)
			}
		})
	}
}

func patterns(list ...string) []manifest.External {
	parsed := make([]manifest.External, len(list))
	for i, text := range list {
		parsed[i].Pattern, _ = manifest.ParsePattern(text)
	}
	return parsed
}

const (
	account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: loader, annotations: {" + preSync + ", argocd.argoproj.io/sync-wave: '-1'}}\n---\n"
	binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: late}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects: [{kind: ServiceAccount, name: loader, namespace: demo}]\n"
	server = "apiVersion: v1\nkind: Service\nmetadata: {name: guard}\nspec: {selector: {app: guard}, ports: [{port: 443}]}\n---\napiVersion: apps/v1\nkind: Deployment\n" +
		"metadata: {name: guard, annotations: {argocd.argoproj.io/sync-wave: '1'}}\nspec:\n  selector: {matchLabels: {app: guard}}\n  template:\n    metadata: {labels: {app: guard}}\n    spec: {containers: [{name: a, image: b}]}\n"
)

// guard is a webhook over Deployments, in wave 0.
func guard(namespaces, objects string) string {
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: guard}\nwebhooks:\n- name: guard.acme.io\n  sideEffects: None\n  admissionReviewVersions: [v1]\n" +
		"  clientConfig: {service: {name: guard, namespace: demo}}\n  namespaceSelector: " + namespaces + "\n  objectSelector: " + objects +
		"\n  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]\n"
}

// onGPU is what Pods say that want a certain node.
const onGPU = `      nodeSelector: {disk: fast}
      tolerations: [{key: gpu, operator: Exists}]
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a, b]}, {key: cores, operator: Gt, values: ["7"]}, {key: spot, operator: DoesNotExist}]}]}}}
`

var gpuNode = verify.Node{
	Name: "gpu", Labels: map[string]string{"disk": "fast", "zone": "b", "cores": "8"},
	Taints: []verify.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}, {Key: "slow", Effect: "PreferNoSchedule"}}, Memory: new(apiresource.MustParse("64Gi")),
}

func quota(hard string) string {
	return "\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: all}\nspec: {hard: {" + hard + "}}\n"
}

// resources is a Deployment whose container asks for something.
func resources(name, spec, asks string) string {
	return strings.Replace(deployment(name, "", spec, ""), "image: registry.example.com/app:1", "image: registry.example.com/app:1, resources: {"+asks+"}", 1)
}

// TestReloader tells for which configuration Reloader restarts the Pods.
func TestReloader(t *testing.T) {
	t.Parallel()
	before := func(value string) string {
		return "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, annotations: {reloader.stakater.com/match: 'true'}}\ndata: {A: " + value + "}\n"
	}
	for annotations, found := range map[string]bool{
		"": true, "reloader.stakater.com/auto: 'true'": false, "reloader.stakater.com/auto: 'false'": true, "configmap.reloader.stakater.com/auto: 'true'": false,
		"secret.reloader.stakater.com/auto: 'true'": true, "configmap.reloader.stakater.com/reload: 'other, shop'": false,
		"configmap.reloader.stakater.com/reload: other": true, "reloader.stakater.com/search: 'true'": false,
		"reloader.stakater.com/auto: 'true', configmaps.exclude.reloader.stakater.com/reload: shop": true,
	} {
		web := strings.Replace(deployment("web", annotations, "", ""), "app:1}", "app:1, envFrom: [{configMapRef: {name: shop}}]}", 1)
		p := plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: decode(t, join(web, before("new")))})
		list := verify.Run(verify.Input{Plan: p, Base: placed(decode(t, join(web, before("old"))))})
		if got := slices.ContainsFunc(list, func(f verify.Finding) bool { return f.Code == "config-without-restart" }); got != found {
			t.Errorf("%q: found is %v, want %v: %q", annotations, got, found, texts(list))
		}
	}
}

// definition is one with a schema for one of its versions.
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.acme.io}
spec:
  group: acme.io
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                size: {type: integer}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
    - name: v2
      served: true
      storage: false
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestDefinitionsOfOthers judges by the definition that another application brings.
func TestDefinitionsOfOthers(t *testing.T) {
	t.Parallel()
	objects := decode(t, "apiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: wrong}\nspec: {size: large}\n")
	in := verify.Input{Plan: plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects})}
	if found := verify.Run(in); len(found) != 0 {
		t.Fatalf("found %q without a definition, want nothing", texts(found))
	}
	in.Definitions = map[schema.GroupKind]*unstructured.Unstructured{{Group: "acme.io", Kind: "Widget"}: decode(t, definition)[0].Unstructured}
	found := verify.Run(in)
	if len(found) != 1 || found[0].Code != "invalid-schema" || found[0].Field != "spec.size" {
		t.Errorf("found %q, want that spec.size has the wrong type", texts(found))
	}
}

// TestLines finds in a template where an object is written.
func TestLines(t *testing.T) {
	t.Parallel()
	object := func(kind, name string) manifest.Object {
		o := decode(t, "apiVersion: v1\nkind: "+kind+"\nmetadata: {name: "+name+"}\n")[0]
		o.Provenance = manifest.Provenance{File: "t.yaml", Chart: "c"}
		return o
	}
	objects := []manifest.Object{object("Secret", "a"), object("Secret", "b"), object("Service", "c"), object("Service", "d"), object("Service", "e")}
	const text = `{{- if .Values.on }}
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
---
kind: "Secret"
apiVersion: v1
roleRef:
    kind: Secret
---
kind: Service
metadata: {name: c}
---
{{- range .Values.more }}
kind: Service
metadata:
  name: d
{{- end }}
`
	for _, tt := range []struct {
		kind, name string
		want       int
	}{{"Secret", "a", 3}, {"Secret", "b", 6}, {"Service", "c", 11}, {"Service", "d", 15}, {"Service", "e", 11}, {"Pod", "f", 0}} {
		found := []verify.Finding{{Diagnostic: diag.Diagnostic{Subject: manifest.Key{Kind: tt.kind, Name: tt.name}, At: manifest.Provenance{File: "t.yaml"}}}}
		verify.Lines(found, objects, func(string) []byte { return []byte(text) })
		if got := found[0].At.Line; got != tt.want {
			t.Errorf("%s/%s: line %d, want %d", tt.kind, tt.name, got, tt.want)
		}
	}
}

// TestEvidence looks at all that a finding says.
func TestEvidence(t *testing.T) {
	t.Parallel()
	objects := decode(t, join(job("load", preSync+`, argocd.argoproj.io/sync-wave: "-1"`, useShop), configMap("shop", `argocd.argoproj.io/sync-wave: "-5"`)))
	found := verify.Run(verify.Input{Plan: plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects})})
	if len(found) != 1 {
		t.Fatalf("found %q, want one finding", texts(found))
	}
	f := found[0]
	if f.Place != "PreSync/-1" || f.AvailableAt != "Sync/-5" || f.Needs.Short() != "ConfigMap/shop" {
		t.Errorf("at %s, needs %s, available at %s", f.Place, f.Needs, f.AvailableAt)
	}
	if f.Field != "spec.template.spec.containers[0].envFrom[0].configMapRef" || f.At.File != "example.yaml" || f.At.Line == 0 {
		t.Errorf("field %s at %v", f.Field, f.At)
	}
	if !strings.Contains(f.Hint, "waves never cross phases") {
		t.Errorf("hint %q does not say that the wave is of no help", f.Hint)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const value = "zK8fQ2mW7vT1xB4nR6yL"
	objects := decode(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  password: "+value+"\n  url: amqp://app:"+value+"@mq/\n")
	found := verify.Run(verify.Input{Plan: plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects})})
	found = append(found, verify.Plaintext("values.yaml", []byte("db:\n  password: "+value+"\n"))...)
	if len(found) != 3 {
		t.Fatalf("found %q, want three findings", texts(found))
	}
	for _, f := range found {
		if f.Severity != diag.Error {
			t.Errorf("%s: severity %s, want error", f.Message, f.Severity)
		}
		if text := fmt.Sprintf("%+v", f); strings.Contains(text, value) || strings.Contains(text, value[:8]) {
			t.Errorf("the finding shows the value: %s", text)
		}
	}
	if at := found[2].At; at.File != "values.yaml" || at.Line != 2 {
		t.Errorf("found at %v, want values.yaml:2", at)
	}
}

// TestNumbersInSecretsAreNotShown looks at a credential that reads as a number.
func TestNumbersInSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	objects := decode(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {pin: 8271}\n")
	found := verify.Run(verify.Input{Plan: plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects})})
	if len(found) != 1 || found[0].Code != "invalid-schema" || !strings.Contains(found[0].Message, "is the number, and must be a text") || strings.Contains(fmt.Sprintf("%+v", found), "8271") {
		t.Errorf("found %q, want that a number is no text, without the number", texts(found))
	}
}

func TestPlaintext(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"password: changeme", ""},
		{"password: \"\"", ""},
		{"existingSecret: zK8fQ2mW7vT1xB4nR6yL", ""},
		{"passwordFile: /run/secrets/password", ""},
		{"passwordKey: redis-password", ""},
		{"rolePasswordSecret: core-pg-role-passwords", ""},
		{"data:\n  DATABASE_PASSWORD: {key: apps/shop, property: db_password}", ""},
		{"secretKey: DATABASE_URL", ""},
		{"password: ${DB_PASSWORD}", ""},
		{"password: ref+vault://db#password", ""},
		{"url: https://user@host/path", ""},
		{"url: https://user:${PASSWORD}@host/path", ""},
		{"image: registry.example.com/a@sha256:0123456789abcdef0123456789abcdef", ""},
		{"password: hunter2", "warning"},
		{"a: ghp_" + strings.Repeat("a1B2", 9), "error"},
		{"key: |\n  -----BEGIN RSA PRIVATE KEY-----\n  abc\n", "error"},
		{"url: https://user:s3cr3t@host/path", "error"},
		{`config: '{"auths":{"r":{"auth":"dXNlcjpwYXNz"}}}'`, "error"},
		{"a: &x {password: hunter2}\nb: *x", "warning"},
		{"{{ not yaml\nAKIAIOSFODNN7ABCDEFG", "error"},
	}
	for _, tt := range tests {
		got := ""
		if found := verify.Plaintext("values.yaml", []byte(tt.text)); len(found) > 0 {
			got = string(found[0].Severity)
			if len(found) > 1 {
				t.Errorf("%q: %d findings, want one", tt.text, len(found))
			}
		}
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	build := func(app, server, text string) *plan.Plan {
		return plan.Build(plan.Input{App: app, Server: server, Namespace: "demo", Objects: decode(t, text)})
	}
	plans := []*plan.Plan{
		build("a", "one", join(configMap("same", ""), configMap("other", ""))),
		build("b", "one", join(configMap("same", ""), configMap("other", "x: z"))),
		build("c", "two", configMap("same", "")),
	}
	found := verify.Shared(plans)
	for _, app := range []string{"a", "b"} {
		if got := texts(found[app]); len(got) != 2 || !strings.HasPrefix(got[0], "error shared-resource: ConfigMap/other") || !strings.HasPrefix(got[1], "warning shared-resource: ConfigMap/same") {
			t.Errorf("%s: found %q", app, got)
		}
	}
	if len(found["c"]) != 0 {
		t.Errorf("c, on another cluster: found %q", texts(found["c"]))
	}
}

// An object that another application has in the cluster is shared, too, whether that
// one is looked at or not.
func TestTaken(t *testing.T) {
	t.Parallel()
	objects := join(configMap("same", "x: v"), configMap("other", "x: v"), configMap("own", "x: v"),
		"apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {a: b}\n")
	in := cluster{}
	for _, o := range decode(t, join(configMap("same", "x: v"), configMap("other", "x: z"), configMap("own", "x: z"),
		"apiVersion: v1\nkind: Secret\nmetadata: {name: token, uid: one}\ndata: {a: Yg==}\ntype: Opaque\n")) {
		o.SetNamespace("demo")
		in[o.Key()] = o
	}
	found := verify.Run(verify.Input{
		Plan: plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: decode(t, objects)}), Live: in,
		Owners: func(k manifest.Key) []string {
			if k.Name == "own" {
				return nil
			}
			return []string{"cart"}
		},
	})
	var got []string
	for _, f := range found {
		if f.Code == "shared-resource" {
			got = append(got, string(f.Severity)+" "+f.Subject.Short()+" "+f.Details["other"])
		}
	}
	if want := []string{"error ConfigMap/other cart", "warning ConfigMap/same cart", "warning Secret/token cart"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestUnstable(t *testing.T) {
	t.Parallel()
	objects := decode(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: zK8fQ2mW7vT1xB4nR6yL}\n")
	found := verify.Run(verify.Input{
		Plan:     plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects}),
		Unstable: []verify.UnstableField{{Object: manifest.Key{Kind: "Secret", Namespace: "demo", Name: "s"}, Field: "data.password", Cause: "randAlphaNum", GuardedBy: "lookup"}},
	})
	if len(found) != 1 || found[0].Code != "nondeterministic-render" || found[0].Field != "data.password" || found[0].Details["cause"] != "randAlphaNum" {
		t.Errorf("found %q, want the unstable field and no credential that the rendering made up", texts(found))
	}
}

func TestFinalizerOfAControllerThatGoes(t *testing.T) {
	t.Parallel()
	operator := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.acme.test}
spec: {group: acme.test, scope: Namespaced, names: {kind: Widget, plural: widgets}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: op}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: op}
rules: [{apiGroups: [acme.test], resources: [widgets], verbs: [get, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: op}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: op}
subjects: [{kind: ServiceAccount, name: op, namespace: demo}]
` + "---" + deployment("op", "", "", "      serviceAccountName: op")
	for wave, want := range map[string]int{"0": 1, "1": 0} {
		widget := "---\napiVersion: acme.test/v1\nkind: Widget\nmetadata: {name: w, finalizers: [acme.test/clean], annotations: {argocd.argoproj.io/sync-wave: '" + wave + "'}}\n"
		found := verify.Run(verify.Input{Plan: plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: decode(t, operator+widget)})})
		found = slices.DeleteFunc(found, func(f verify.Finding) bool { return f.Code != "teardown-deadlock" })
		if len(found) != want {
			t.Errorf("object in wave %s: found %q, want %d", wave, texts(found), want)
		}
	}
}

func TestMatchPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, file string
		want          bool
	}{
		{"apps/*.yaml", "apps/a.yaml", true},
		{"apps/*.yaml", "apps/x/a.yaml", false},
		{"apps/*/*.yaml", "apps/x/a.yaml", true},
		{"apps/**", "apps/x/y/a.yaml", true},
		{"apps/**/a.yaml", "apps/a.yaml", true},
		{"apps/**/a.yaml", "apps/x/y/a.yaml", true},
		{"apps/**/a.yaml", "apps/x/ba.yaml", false},
		{"**/a.yaml", "a.yaml", true},
		{"*", "", true},
		{"", "a", false},
	}
	for _, tt := range tests {
		if got := verify.MatchPath(tt.pattern, tt.file); got != tt.want {
			t.Errorf("MatchPath(%q, %q) = %v, want %v", tt.pattern, tt.file, got, tt.want)
		}
	}
}

// FuzzRun mutates manifests: no check may panic, and the same input gives the
// same findings.
func FuzzRun(f *testing.F) {
	f.Add(join(job("load", preSync, useShop), configMap("shop", "")))
	f.Add(deployment("web", "", "  replicas: 2", "      initContainers: [{name: m, image: x, command: [alembic, upgrade, head]}]"))
	f.Add("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: [1], ports: {}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		objects, err := manifest.Decode("f.yaml", []byte(text))
		if err != nil {
			return
		}
		run := func() []string {
			p := plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects})
			base := map[manifest.Key]manifest.Object{}
			for _, o := range objects {
				base[o.Key()] = o
			}
			return texts(verify.Run(verify.Input{Plan: p, Base: base, Live: cluster(base)}))
		}
		if a, b := run(), run(); !slices.Equal(a, b) {
			t.Errorf("two runs differ: %q and %q", a, b)
		}
		verify.Plaintext("f.yaml", []byte(text))
	})
}

func BenchmarkRun(b *testing.B) {
	var objects []manifest.Object
	for i := range 1000 {
		name := fmt.Sprintf("app-%d", i)
		decoded, err := manifest.Decode("bench.yaml", []byte(join(
			deployment(name, fmt.Sprintf("argocd.argoproj.io/sync-wave: '%d'", i%5), "", "      serviceAccountName: "+name+"\n      initContainers: [{name: w, image: busybox, command: [sh, -c, 'until nc -z "+name+" 80; do sleep 1; done']}]"),
			configMap(name, ""), "\napiVersion: v1\nkind: Service\nmetadata: {name: "+name+"}\nspec: {selector: {app: "+name+"}, ports: [{port: 80}]}\n",
			"\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+name+"}\n", job(name, preSync, useShop))))
		if err != nil {
			b.Fatal(err)
		}
		objects = append(objects, decoded...)
	}
	p := plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: objects})
	for b.Loop() {
		verify.Run(verify.Input{Plan: p})
	}
	b.ReportMetric(float64(len(objects)), "objects")
}
