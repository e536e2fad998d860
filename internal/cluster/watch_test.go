// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

func TestWriteIsReadAtOnce(t *testing.T) {
	b := newBench(t)
	b.watch(configMaps())
	key := b.key("ConfigMap", "c")
	for i := range 50 {
		out := b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {n: '" + strings.Repeat("x", i) + "'}}"))
		live, ok := b.Get(key)
		if !ok || live.GetResourceVersion() != out.GetResourceVersion() {
			t.Fatalf("wrote version %s, read %v", out.GetResourceVersion(), live)
		}
	}
	if _, err := b.Patch(b.ctx(), key, []byte(`{"metadata":{"annotations":{"a":"b"}}}`)); err != nil {
		t.Fatal(err)
	}
	if live, _ := b.Get(key); live.GetAnnotations()["a"] != "b" {
		t.Error("a patch must be read at once")
	}
	if err := b.Delete(b.ctx(), key, DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Get(key); ok {
		t.Error("a deletion must be read at once")
	}
	if err := b.Delete(b.ctx(), key, DeleteOptions{}); err != nil {
		t.Errorf("deleting what is gone is no error: %v", err)
	}
	if _, err := b.Fetch(b.ctx(), key, "v1"); !apierrors.IsNotFound(err) {
		t.Errorf("Fetch of a missing object: %v", err)
	}
}

func TestDeleteWithFinalizer(t *testing.T) {
	b := newBench(t)
	b.watch(configMaps())
	out := b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, finalizers: [a/b, c/d]}}"))
	key := manifest.KeyOf(out)
	if err := b.Delete(b.ctx(), key, DeleteOptions{UID: "another"}); err != nil {
		t.Errorf("an object of another UID is not the one to delete: %v", err)
	}
	if live, _ := b.Get(key); live.GetDeletionTimestamp() != nil {
		t.Fatal("the wrong object was deleted")
	}
	if err := b.Delete(b.ctx(), key, DeleteOptions{UID: out.GetUID()}); err != nil {
		t.Fatal(err)
	}
	live, ok := b.Get(key)
	if !ok || live.GetDeletionTimestamp() == nil {
		t.Fatalf("an object with finalizers is still there, marked: %v", live)
	}
	for i, f := range []string{"a/b", "no/such", "c/d", "c/d"} {
		if err := b.RemoveFinalizer(b.ctx(), key, f); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, ok := b.Get(key); ok {
		t.Error("gone with its last finalizer")
	}
}

func TestDeleteRefused(t *testing.T) {
	b := newBench(t)
	out := b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"))
	err := b.Delete(b.ctx(), manifest.KeyOf(out), DeleteOptions{Propagation: "Sideways"})
	if !IsRejected(err) || !strings.Contains(err.Error(), `"Sideways"`) {
		t.Errorf("a refusal is passed on in the API server's words, got %v", err)
	}
}

func TestRemoveFinalizerKeepsOthers(t *testing.T) {
	b := newBench(t)
	out := b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, finalizers: [a/b]}}"))
	key := manifest.KeyOf(out)
	maps := b.other.Resource(resource("", "v1", "configmaps")).Namespace(b.namespace)
	// Other writers come in between all the time.
	ctx, stop := context.WithCancel(b.ctx())
	var busy sync.WaitGroup
	busy.Go(func() {
		for i := 0; ctx.Err() == nil && i < 200; i++ {
			body := []byte(`{"data":{"n":"` + strings.Repeat("x", i%7) + `"}}`)
			if _, err := maps.Patch(ctx, "c", types.MergePatchType, body, metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	_, err := maps.Patch(b.ctx(), "c", types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"keep/me"}]`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveFinalizer(b.ctx(), key, "a/b"); err != nil {
		t.Fatal(err)
	}
	stop()
	busy.Wait()
	live, err := b.Fetch(b.ctx(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"keep/me"}, live.GetFinalizers()); d != "" {
		t.Errorf("finalizers (-want +got):\n%s", d)
	}
	if err := b.RemoveFinalizer(b.ctx(), key, "keep/me"); err != nil {
		t.Error(err)
	}
}

func TestTrackedAndChildren(t *testing.T) {
	b := newBench(t)
	b.watch(configMaps(), schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"})
	app := "app-" + b.namespace
	id := func(k manifest.Key) string { return manifest.FormatTrackingID(app, b.namespace, k) }
	owner := b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: own, annotations: {argocd.argoproj.io/tracking-id: '" + id(b.key("ConfigMap", "own")) + "'}}}"))
	child := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: child, annotations: {argocd.argoproj.io/tracking-id: '" + id(b.key("ConfigMap", "child")) + "'}}}")
	child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "own", UID: owner.GetUID()}})
	b.apply(child)
	b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: copy, annotations: {argocd.argoproj.io/tracking-id: '" + id(b.key("ConfigMap", "own")) + "'}}}"))
	role := manifest.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: app}
	b.apply(read(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+app+", annotations: {argocd.argoproj.io/tracking-id: '"+id(role)+"'}}}"))
	var got []string
	for _, u := range b.Tracked(app) {
		got = append(got, manifest.KeyOf(u).Short())
	}
	if d := cmp.Diff([]string{"ConfigMap/own", "ClusterRole/" + app}, got); d != "" {
		t.Errorf("tracked: neither the copy nor the child (-want +got):\n%s", d)
	}
	if kids := b.Children(owner.GetUID()); len(kids) != 1 || kids[0].GetName() != "child" {
		t.Errorf("children: %v", kids)
	}
	if err := b.Delete(b.ctx(), role, DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`

func TestKindAppearsAndGoes(t *testing.T) {
	b := newBench(t)
	group := b.namespace + ".example.com"
	gk := schema.GroupKind{Group: group, Kind: "Widget"}
	b.watch(configMaps())
	before := b.watches[configMaps()]

	err := b.Watch(b.ctx(), configMaps(), gk)
	var failed *WatchError
	if !errors.As(err, &failed) || len(failed.Kinds) != 1 || failed.Kinds[0].Kind != gk || !IsUnknownKind(err) {
		t.Fatalf("the unknown kind alone must fail, got %v", err)
	}
	crd := read(t, strings.ReplaceAll(widgets, "GROUP", group))
	b.apply(crd)
	widget := b.object("{apiVersion: " + group + "/v1, kind: Widget, metadata: {name: w}, spec: {a: 1}}")
	began := time.Now()
	out := b.apply(widget)
	t.Logf("an object of a new kind was applied %s after its CRD", time.Since(began).Round(time.Millisecond))
	if namespaced, known := b.Scope(gk); !namespaced || !known {
		t.Error("the new kind must be known")
	}
	b.watch(gk)
	if live, ok := b.Get(manifest.KeyOf(out)); !ok || live.GetUID() != out.GetUID() {
		t.Errorf("the object must be cached: %v", live)
	}
	if b.watches[configMaps()] != before {
		t.Error("another kind's watch was restarted")
	}

	if err := b.Delete(b.ctx(), manifest.KeyOf(crd), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the kind and its objects are forgotten", func() bool {
		_, cached := b.Get(manifest.KeyOf(out))
		return !cached
	})
	until := time.Now().Add(patient)
	for _, known := b.Scope(gk); known; _, known = b.Scope(gk) {
		if time.Now().After(until) {
			t.Fatal("the kind is still known")
		}
		_, _, changed := b.catalog.stirredSince(group)
		select {
		case <-changed:
		case <-time.After(time.Second):
		}
	}

	// A kind that somebody asked for is watched again when it comes back.
	b.apply(crd)
	again := b.apply(widget)
	b.eventually("the kind is watched again", func() bool {
		live, ok := b.Get(manifest.KeyOf(again))
		return ok && live.GetUID() == again.GetUID()
	})
	if err := b.Delete(b.ctx(), manifest.KeyOf(crd), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// gate is a TCP proxy whose connections can be cut and refused.
type gate struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]bool
}

func newGate(t testing.TB, to string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: l, to: to, conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = l.Close()
		g.set(true)
	})
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go g.pipe(in)
		}
	}()
	return g
}

func (g *gate) pipe(in net.Conn) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", g.to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	g.mu.Lock()
	if g.shut {
		g.mu.Unlock()
		return
	}
	g.conns[in], g.conns[out] = true, true
	g.mu.Unlock()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			// The copy ends when either side does.
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// set cuts every connection and refuses new ones, or lets them through again.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for c := range g.conns {
		_ = c.Close()
		delete(g.conns, c)
	}
}

func (g *gate) config(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Host = "https://" + g.listener.Addr().String()
	return cfg
}

func TestWatchResumes(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	g := newGate(t, strings.TrimPrefix(env.Config.Host, "https://"))
	b := benchOn(t, env)
	c := open(t, g.config(env.Config))
	if err := c.Watch(b.ctx(), configMaps()); err != nil {
		t.Fatal(err)
	}
	b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: before}}"))
	b.Cluster = c
	b.eventually("the watch works", func() bool { _, ok := c.Get(b.key("ConfigMap", "before")); return ok })

	g.set(true)
	maps := b.other.Resource(resource("", "v1", "configmaps")).Namespace(b.namespace)
	if err := maps.Delete(b.ctx(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(b.ctx(), b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: during}}"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventuallyTrue("it is noticed that the server cannot be reached", func() bool { return IsUnreachable(c.Stale()) })
	if _, ok := c.Get(b.key("ConfigMap", "before")); !ok {
		t.Error("the last known state is served while the server is away")
	}
	if err := c.Watch(b.ctx(), configMaps()); err != nil {
		t.Errorf("a synced kind stays usable: %v", err)
	}
	g.set(false)
	b.eventually("what happened meanwhile is seen", func() bool {
		_, before := c.Get(b.key("ConfigMap", "before"))
		_, during := c.Get(b.key("ConfigMap", "during"))
		return !before && during
	})
	b.eventuallyTrue("it is up to date again", func() bool { return c.Stale() == nil })
}

func TestUnreachable(t *testing.T) {
	// Nobody is given this port when any will do.
	const address = "127.0.0.1:1"
	before := goleak.IgnoreCurrent()
	c, err := New(&rest.Config{Host: "http://" + address}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	for name, err := range map[string]error{
		"Watch":   c.Watch(ctx, configMaps()),
		"Apply":   applyErr(ctx, c, read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}}")),
		"Version": versionErr(ctx, c),
	} {
		if !IsUnreachable(err) || IsRejected(err) || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "check that the API server runs") {
			t.Errorf("%s: %v", name, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	leavesNothing(t, before)
}

func applyErr(ctx context.Context, c *Cluster, u interface{ GetName() string }) error {
	_, err := c.Fetch(ctx, manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: u.GetName()}, "v1")
	return err
}

func versionErr(ctx context.Context, c *Cluster) error {
	_, _, err := c.Version(ctx)
	return err
}

func TestStartLeavesNothing(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	before := goleak.IgnoreCurrent()
	for range 3 {
		c, err := New(env.Config, Options{})
		if err != nil {
			t.Fatal(err)
		}
		life, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- c.Start(life) }()
		if err := c.Watch(ctx, configMaps(), deployments(), jobs()); err != nil {
			t.Fatal(err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	leavesNothing(t, before)
}

func TestForbiddenKind(t *testing.T) {
	b := newBench(t)
	for _, text := range []string{
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: limited}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: NS}, rules: [{apiGroups: [''], resources: [configmaps], verbs: ['*']}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: NS}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NS}, subjects: [{kind: ServiceAccount, name: limited, namespace: NS}]}",
	} {
		u := read(t, strings.ReplaceAll(text, "NS", b.namespace))
		if u.GetKind() == "ServiceAccount" {
			u.SetNamespace(b.namespace)
		}
		b.apply(u)
		if u.GetNamespace() == "" {
			key := manifest.KeyOf(u)
			t.Cleanup(func() {
				if err := b.Delete(context.WithoutCancel(t.Context()), key, DeleteOptions{}); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
	}
	cfg := rest.CopyConfig(b.env.Config)
	cfg.Impersonate.UserName = "system:serviceaccount:" + b.namespace + ":limited"
	b.permitted(cfg.Impersonate.UserName, "", "list", "configmaps")
	c := open(t, cfg)
	err := c.Watch(b.ctx(), configMaps(), schema.GroupKind{Kind: "Secret"})
	var failed *WatchError
	if !errors.As(err, &failed) || len(failed.Kinds) != 1 || failed.Kinds[0].Kind.Kind != "Secret" || !apierrors.IsForbidden(failed.Kinds[0].Err) {
		t.Fatalf("Secrets alone must be refused, got %v", err)
	}
	if !strings.Contains(err.Error(), "grant this right") {
		t.Errorf("the error must say what to do: %v", err)
	}
	if kept := keptOf(c, schema.GroupKind{Kind: "Secret"}); !kept.Stale || !slices.Equal(kept.Forbidden, []string{""}) {
		t.Errorf("what is told of Secrets: %+v", kept)
	}
	if kept := keptOf(c, configMaps()); kept.Stale || kept.Forbidden != nil || kept.Lists < 1 {
		t.Errorf("what is told of ConfigMaps: %+v", kept)
	}
	if _, err := c.Apply(b.ctx(), b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"), ApplyOptions{}); err != nil {
		t.Errorf("what is allowed works: %v", err)
	}
	if _, ok := c.Get(b.key("ConfigMap", "c")); !ok {
		t.Error("and is cached")
	}
}
