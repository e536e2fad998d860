// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

// listed returns the resources whose objects were read from the beginning since a
// request: by a list, or by a watch that begins with one.
func (b *bench) listed(log string, since int) []string {
	b.t.Helper()
	var found []string
	for _, r := range sandboxtest.Requests(b.t, log)[since:] {
		if r.UserAgent != "under-test" || r.ResponseStatus.Code >= 400 {
			continue
		}
		if r.Verb == "list" || r.Verb == "watch" && strings.Contains(r.RequestURI, "sendInitialEvents=true") {
			found = append(found, r.ObjectRef.Resource)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestNewKindListsNothingElse: a kind that comes, that is served in other versions, or that goes is read from the
// beginning, and no other is.
func TestNewKindListsNothingElse(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1, AuditLog: log, Own: true})
	b := benchOn(t, env)
	b.Cluster = openWith(t, env.Config, Options{UserAgent: "under-test"})
	b.watch(configMaps(), deployments(), jobs())
	group := "test.example.com"
	gk := schema.GroupKind{Group: group, Kind: "Widget"}
	crds := b.other.Resource(resource("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
	// The audit log has a watch when it has ended or its headers were sent, so these are there before it begins.
	b.eventuallyTrue("three kinds are read, and what defines kinds", func() bool { return len(b.listed(log, 0)) == 5 })
	since := len(sandboxtest.Requests(t, log))

	definition := read(t, strings.ReplaceAll(widgets, "GROUP", group))
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	second, _ := runtime.DeepCopyJSONValue(versions[0]).(map[string]any)
	second["name"], second["storage"] = "v2", false
	if err := unstructured.SetNestedSlice(definition.Object, []any{versions[0], second}, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if _, err := crds.Create(b.ctx(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventuallyTrue("the kind is known", func() bool { _, known := b.Scope(gk); return known })
	b.watch(gk)
	widget := b.apply(b.object("{apiVersion: " + group + "/v1, kind: Widget, metadata: {name: w}, spec: {a: 1}}"))
	key := manifest.KeyOf(widget)
	b.eventuallyTrue("the widget is cached in the preferred version", func() bool {
		live, ok := b.Get(key)
		return ok && live.GetAPIVersion() == group+"/v2"
	})

	// The version that is watched is removed.
	live, err := crds.Get(b.ctx(), definition.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(live.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if _, err := crds.Update(b.ctx(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventuallyTrue("the widget is cached in the version that is left", func() bool {
		live, ok := b.Get(key)
		return ok && live.GetAPIVersion() == group+"/v1" && live.GetUID() == widget.GetUID()
	})
	if err := crds.Delete(b.ctx(), definition.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventuallyTrue("the kind is forgotten", func() bool { _, cached := b.Get(key); return !cached && b.watchOf(gk) == nil })
	if d := cmp.Diff([]string{"widgets"}, b.listed(log, since)); d != "" {
		t.Errorf("read from the beginning (-want +got):\n%s", d)
	}
}

// outdated has the next watches ask for a version that is too old for the server.
type outdated struct {
	http.RoundTripper
	on    atomic.Bool
	asked chan string
}

func (o *outdated) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if o.on.Load() && query.Get("watch") == "true" && strings.HasSuffix(r.URL.Path, "/configmaps") {
		if query.Get("sendInitialEvents") != "true" && query.Get("resourceVersion") != "" {
			query.Set("resourceVersion", "1")
			r = r.Clone(r.Context())
			r.URL = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: r.URL.Path, RawQuery: query.Encode()}
		} else {
			select {
			case o.asked <- r.URL.RawQuery:
			default:
			}
		}
	}
	return o.RoundTripper.RoundTrip(r)
}

// TestExpiredWatchStartsAnew: when the server says that it does not know any more what happened since, the kind is
// streamed anew — not held as one list — with everything that changed meanwhile, and what did not change is told nobody.
func TestExpiredWatchStartsAnew(t *testing.T) {
	env := sandboxtest.Start(t, sandboxtest.Options{Nodes: 1})
	g := newGate(t, strings.TrimPrefix(env.Config.Host, "https://"))
	b := benchOn(t, env)
	late := &outdated{asked: make(chan string, 1)}
	cfg := rest.CopyConfig(g.config(env.Config))
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		late.RoundTripper = rt
		return late
	})
	b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}"))
	b.apply(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: goes}}"))
	c := open(t, cfg)
	if err := c.Watch(b.ctx(), configMaps()); err != nil {
		t.Fatal(err)
	}
	direct := b.Cluster
	b.Cluster = c
	var changes []string
	told := make(chan Change, 100)
	defer c.Subscribe(func(change Change) {
		if change.Key.Namespace == b.namespace {
			told <- change
		}
	})()
	// Before the gate shuts: what knocks at it then may be let in later.
	late.on.Store(true)
	g.set(true)
	if _, err := direct.Apply(b.ctx(), b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: comes}}"), ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := direct.Delete(b.ctx(), b.key("ConfigMap", "goes"), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	g.set(false)
	b.eventually("what happened meanwhile is seen", func() bool {
		_, comes := c.Get(b.key("ConfigMap", "comes"))
		_, goes := c.Get(b.key("ConfigMap", "goes"))
		return comes && !goes
	})
	select {
	case query := <-late.asked:
		if !strings.Contains(query, "sendInitialEvents=true") || !strings.Contains(query, "allowWatchBookmarks=true") {
			t.Errorf("begun anew with %s", query)
		}
	default:
		t.Error("the kind was not begun anew: the test shows nothing")
	}
	if kept := keptOf(c, configMaps()); kept.Lists < 2 || kept.Objects < 2 || kept.Stale {
		t.Errorf("what is told of the live cache: %+v", kept)
	}
	for len(told) > 0 {
		change := <-told
		changes = append(changes, string(change.Type)+" "+change.Key.Name)
	}
	slices.Sort(changes)
	if d := cmp.Diff([]string{"added comes", "deleted goes"}, changes); d != "" {
		t.Errorf("changes that were told (-want +got):\n%s", d)
	}
}

// keptOf is what a cluster tells of one kind.
func keptOf(c *Cluster, gk schema.GroupKind) Kept {
	for _, k := range c.Kept() {
		if k.Kind == gk {
			return k
		}
	}
	return Kept{}
}
