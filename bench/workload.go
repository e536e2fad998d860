// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// workload is the content of one Application: objects by wave.
type workload struct {
	name      string
	namespace string
	waves     [][]*unstructured.Unstructured
}

func (w workload) objects() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, wave := range w.waves {
		all = append(all, wave...)
	}
	return all
}

// path is where the workload lies in a repository.
func (w workload) path() string { return "apps/" + w.name }

// files is the workload as Git holds it.
func (w workload) files() (map[string][]byte, error) {
	var all bytes.Buffer
	for _, obj := range w.objects() {
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return nil, err
		}
		all.WriteString("---\n")
		all.Write(text)
	}
	return map[string][]byte{w.path() + "/all.yaml": all.Bytes()}, nil
}

// inNamespace returns the workload as a floor applies it: with the namespace and
// tracking ids such as the engine gives. They must name another application, or
// the engine would take the objects for its own.
func (w workload) inNamespace(namespace string) workload {
	out := workload{name: w.name, namespace: namespace}
	for _, wave := range w.waves {
		var objects []*unstructured.Unstructured
		for _, obj := range wave {
			obj = obj.DeepCopy()
			obj.SetNamespace(namespace)
			annotations := obj.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[manifest.AnnotationTrackingID] = manifest.FormatTrackingID("floor-"+w.name, namespace, manifest.KeyOf(obj))
			obj.SetAnnotations(annotations)
			objects = append(objects, obj)
		}
		out.waves = append(out.waves, objects)
	}
	return out
}

// placed returns all workloads as a floor applies them.
func placed(workloads []workload, namespace string) []workload {
	list := make([]workload, len(workloads))
	for i, w := range workloads {
		list[i] = w.inNamespace(namespace)
	}
	return list
}

// repositoryFiles are the files of all workloads.
func repositoryFiles(workloads []workload) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, w := range workloads {
		files, err := w.files()
		if err != nil {
			return nil, err
		}
		maps.Copy(all, files)
	}
	return all, nil
}

// generate makes n workloads of a shape.
func generate(n int, prefix string, shape func(name string) [][]*unstructured.Unstructured) []workload {
	list := make([]workload, n)
	for i := range list {
		name := fmt.Sprintf("%s-%04d", prefix, i)
		list[i] = workload{name: name, waves: shape(name)}
	}
	return list
}

// mixed is the shape of the cold scenario: about size objects in three waves.
// First what the others need, then Deployments with the Services in front of them,
// then configuration that nobody waits for.
func mixed(size int) func(string) [][]*unstructured.Unstructured {
	return func(name string) [][]*unstructured.Unstructured {
		account := name
		first := []*unstructured.Unstructured{serviceAccount(account), role(name), roleBinding(name, account)}
		var second, third []*unstructured.Unstructured
		for i := 0; len(first)+len(second)+len(third) < size; i++ {
			part := fmt.Sprintf("%s-%d", name, i)
			for _, add := range []func(){
				func() { first = append(first, configMap(part)) },
				func() { second = append(second, deployment(part, account)) },
				func() { second = append(second, service(part)) },
				func() { third = append(third, configMap(part+"-after")) },
			} {
				if len(first)+len(second)+len(third) < size {
					add()
				}
			}
		}
		waves := [][]*unstructured.Unstructured{first, second, third}
		for i, wave := range waves {
			inWave(i, wave...)
		}
		return waves
	}
}

// peer is the shape by which the other engines were measured: four objects, no
// waves.
func peer(name string) [][]*unstructured.Unstructured {
	return [][]*unstructured.Unstructured{{serviceAccount(name), service(name), deployment(name, name), ingress(name)}}
}

// ladder is n ConfigMaps in n waves.
func ladder(n int) func(string) [][]*unstructured.Unstructured {
	return func(name string) [][]*unstructured.Unstructured {
		var waves [][]*unstructured.Unstructured
		for i := range n {
			step := configMap(fmt.Sprintf("%s-%d", name, i))
			inWave(i, step)
			waves = append(waves, []*unstructured.Unstructured{step})
		}
		return waves
	}
}

func inWave(wave int, objects ...*unstructured.Unstructured) {
	for _, obj := range objects {
		obj.SetAnnotations(map[string]string{manifest.AnnotationSyncWave: fmt.Sprint(wave)})
	}
}

// object makes one from its fields.
func object(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: fields}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName(name)
	obj.SetLabels(map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "bench"})
	return obj
}

func configMap(name string) *unstructured.Unstructured {
	data := map[string]any{}
	for i := range 5 {
		data[fmt.Sprintf("KEY_%d", i)] = fmt.Sprintf("value %d of %s", i, name)
	}
	return object("v1", "ConfigMap", name, map[string]any{"data": data})
}

func serviceAccount(name string) *unstructured.Unstructured {
	return object("v1", "ServiceAccount", name, map[string]any{"automountServiceAccountToken": false})
}

func role(name string) *unstructured.Unstructured {
	return object("rbac.authorization.k8s.io/v1", "Role", name, map[string]any{"rules": []any{
		map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps", "secrets"}, "verbs": []any{"get", "list", "watch"}},
		map[string]any{"apiGroups": []any{"batch"}, "resources": []any{"jobs"}, "verbs": []any{"create"}},
	}})
}

func roleBinding(name, account string) *unstructured.Unstructured {
	return object("rbac.authorization.k8s.io/v1", "RoleBinding", name, map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": account}},
	})
}

// deployment has no replicas: Pods are the simulator's work and not what is
// measured.
func deployment(name, account string) *unstructured.Unstructured {
	labels := map[string]any{"app.kubernetes.io/name": name}
	return object("apps/v1", "Deployment", name, map[string]any{"spec": map[string]any{
		"replicas": int64(0),
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec": map[string]any{
				"serviceAccountName": account,
				"containers": []any{map[string]any{
					"name": "main", "image": "registry.example.test/" + name + ":1.0.0",
					"ports":     []any{map[string]any{"name": "http", "containerPort": int64(8080)}},
					"env":       []any{map[string]any{"name": "LOG_LEVEL", "value": "info"}, map[string]any{"name": "REGION", "value": "eu"}},
					"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}, "limits": map[string]any{"memory": "256Mi"}},
					"readinessProbe": map[string]any{
						"httpGet": map[string]any{"path": "/ready", "port": "http"}, "periodSeconds": int64(5),
					},
				}},
			},
		},
	}})
}

func service(name string) *unstructured.Unstructured {
	return object("v1", "Service", name, map[string]any{"spec": map[string]any{
		"selector": map[string]any{"app.kubernetes.io/name": name},
		"ports":    []any{map[string]any{"name": "http", "port": int64(80), "targetPort": "http"}},
	}})
}

func ingress(name string) *unstructured.Unstructured {
	return object("networking.k8s.io/v1", "Ingress", name, map[string]any{"spec": map[string]any{
		"rules": []any{map[string]any{
			"host": name + ".example.test",
			"http": map[string]any{"paths": []any{map[string]any{
				"path": "/", "pathType": "Prefix",
				"backend": map[string]any{"service": map[string]any{"name": name, "port": map[string]any{"name": "http"}}},
			}}},
		}},
	}})
}
