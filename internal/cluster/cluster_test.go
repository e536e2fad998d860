// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// patient bounds every wait of these tests; none of them is expected to come near.
const patient = 3 * time.Minute

// bench is a cluster under test and a second client beside it.
type bench struct {
	t testing.TB
	*Cluster
	env       *sandboxtest.Env
	other     dynamic.Interface
	namespace string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	return benchOn(t, sandboxtest.Start(t, sandboxtest.Options{Nodes: 1}))
}

func benchOn(t testing.TB, env *sandboxtest.Env) *bench {
	t.Helper()
	other, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, Cluster: open(t, env.Config), env: env, other: other, namespace: env.Namespace(t)}
}

// open starts a cluster that ends with the test.
func open(t testing.TB, cfg *rest.Config) *Cluster {
	t.Helper()
	return openWith(t, cfg, Options{})
}

func openWith(t testing.TB, cfg *rest.Config, opts Options) *Cluster {
	t.Helper()
	c, err := New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patient):
			t.Error("Start does not end with its context")
		}
	})
	return c
}

func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.t.Context(), patient)
	b.t.Cleanup(cancel)
	return ctx
}

// object reads a manifest into the test's namespace.
func (b *bench) object(text string) *unstructured.Unstructured {
	b.t.Helper()
	u := read(b.t, text)
	u.SetNamespace(b.namespace)
	return u
}

func read(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

func (b *bench) key(kind, name string) manifest.Key {
	return manifest.Key{Kind: kind, Namespace: b.namespace, Name: name}
}

func (b *bench) apply(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.t.Helper()
	out, err := b.Apply(b.ctx(), u, ApplyOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) watch(gks ...schema.GroupKind) {
	b.t.Helper()
	if err := b.Watch(b.ctx(), gks...); err != nil {
		b.t.Fatal(err)
	}
}

// eventually waits until ok holds; it looks again at every change of the cache.
func (b *bench) eventually(what string, ok func() bool) {
	b.t.Helper()
	changed := make(chan struct{}, 1)
	cancel := b.Subscribe(func(Change) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer cancel()
	deadline := time.After(patient)
	for !ok() {
		select {
		case <-changed:
		case <-deadline:
			b.t.Fatalf("not within %s: %s", patient, what)
		}
	}
}

func configMaps() schema.GroupKind  { return schema.GroupKind{Kind: "ConfigMap"} }
func deployments() schema.GroupKind { return schema.GroupKind{Group: "apps", Kind: "Deployment"} }
func jobs() schema.GroupKind        { return schema.GroupKind{Group: "batch", Kind: "Job"} }

func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// eventuallyTrue waits for what changes without a change of the cache.
func (b *bench) eventuallyTrue(what string, ok func() bool) {
	b.t.Helper()
	eventuallyTrue(b.t, what, ok)
}

func eventuallyTrue(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patient); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patient, what)
		}
	}
}

// permitted waits until the API server lets somebody do something: what grants it
// takes effect a moment after it is written.
func (b *bench) permitted(user, namespace, verb, resource string) {
	b.t.Helper()
	review := read(b.t, fmt.Sprintf("{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview, spec: {user: %q, resourceAttributes: {namespace: %q, verb: %s, resource: %s}}}",
		user, namespace, verb, resource))
	reviews := b.other.Resource(schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"})
	b.eventuallyTrue(fmt.Sprintf("%s may %s %s in %s", user, verb, resource, namespace), func() bool {
		answer, err := reviews.Create(b.ctx(), review, metav1.CreateOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
		return err == nil && allowed
	})
}

// leavesNothing waits until no goroutine is left but those that were there.
func leavesNothing(t testing.TB, before goleak.Option) {
	t.Helper()
	var left error
	defer func() {
		if t.Failed() {
			t.Log(left)
		}
	}()
	eventuallyTrue(t, "no goroutine is left", func() bool {
		left = goleak.Find(before)
		return left == nil
	})
}
