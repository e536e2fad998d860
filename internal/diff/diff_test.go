// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// object reads one manifest.
func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// server is the field management of a real API server for one object, without
// defaulting and admission.
type server struct {
	t testing.TB
	managedfieldstest.TestFieldManager
}

func newServer(t testing.TB, u *unstructured.Unstructured) server {
	t.Helper()
	return server{t, managedfieldstest.NewTestFieldManager(applyconfigurations.NewTypeConverter(scheme.Scheme), u.GroupVersionKind())}
}

func (s server) apply(u *unstructured.Unstructured) server {
	s.t.Helper()
	if err := s.Apply(u.DeepCopy(), manifest.FieldManager, true); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// edit changes the live object as another client does.
func (s server) edit(manager string, change func(*unstructured.Unstructured)) server {
	s.t.Helper()
	u := s.live()
	change(u)
	if err := s.Update(u, manager); err != nil {
		s.t.Fatal(err)
	}
	return s
}

func (s server) live() *unstructured.Unstructured {
	s.t.Helper()
	u, ok := s.Live().(*unstructured.Unstructured)
	if !ok {
		s.t.Fatalf("live object is a %T", s.Live())
	}
	u.SetManagedFields(s.ManagedFields())
	return u
}

func set(t testing.TB, value any, fields ...string) func(*unstructured.Unstructured) {
	t.Helper()
	return func(u *unstructured.Unstructured) {
		t.Helper()
		if err := unstructured.SetNestedField(u.Object, value, fields...); err != nil {
			t.Fatal(err)
		}
	}
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app: web}
  annotations: {team: blue}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes:
      - {name: tmp, emptyDir: {}}
      containers:
      - name: app
        image: web:1
        args: [serve, --fast]
        env:
        - {name: A, value: "1"}
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        ports:
        - {containerPort: 8080, protocol: TCP}
        resources: {limits: {cpu: 1000m, memory: 1Gi}}
        volumeMounts:
        - {name: tmp, mountPath: /tmp}
      - name: proxy
        image: proxy:7
`

func managers(entries []metav1.ManagedFieldsEntry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Manager)
	}
	return names
}
