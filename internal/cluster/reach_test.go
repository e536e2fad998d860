// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// TestReach: with rights in two namespaces and none beside, the kinds are watched in each of them; what lies elsewhere
// does not exist, and where a kind may not be read is said for that place alone.
func TestReach(t *testing.T) {
	b := newBench(t)
	first, second, elsewhere := b.namespace, b.env.Namespace(t), b.env.Namespace(t)
	for _, text := range []string{
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: limited, namespace: FIRST}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: limited, namespace: FIRST}, rules: [{apiGroups: [''], resources: [configmaps, secrets], verbs: ['*']}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: limited, namespace: SECOND}, rules: [{apiGroups: [''], resources: [configmaps], verbs: ['*']}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: limited, namespace: FIRST}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: limited}, subjects: [{kind: ServiceAccount, name: limited, namespace: FIRST}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: limited, namespace: SECOND}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: limited}, subjects: [{kind: ServiceAccount, name: limited, namespace: FIRST}]}",
	} {
		b.apply(read(t, strings.NewReplacer("FIRST", first, "SECOND", second).Replace(text)))
	}
	for _, namespace := range []string{first, second, elsewhere} {
		b.apply(read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: before, namespace: "+namespace+"}}"))
	}
	cfg := rest.CopyConfig(b.env.Config)
	cfg.Impersonate.UserName = "system:serviceaccount:" + first + ":limited"
	for _, namespace := range []string{first, second} {
		b.permitted(cfg.Impersonate.UserName, namespace, "list", "configmaps")
	}
	b.permitted(cfg.Impersonate.UserName, first, "list", "secrets")
	var mu sync.Mutex
	var refusals []string
	c := openWith(t, cfg, Options{Reach: Reach{Namespaces: []string{first, second}}, Refused: func(r Refusal) {
		mu.Lock()
		defer mu.Unlock()
		refusals = append(refusals, r.String())
	}})
	b.Cluster = c
	clusterRole := manifest.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"}
	b.watch(configMaps(), schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Kind: "Namespace"}, clusterRole.GroupKind())
	at := func(kind, namespace, name string) manifest.Key {
		return manifest.Key{Kind: kind, Namespace: namespace, Name: name}
	}

	for namespace, want := range map[string]bool{first: true, second: true, elsewhere: false} {
		if _, ok := c.Get(at("ConfigMap", namespace, "before")); ok != want {
			t.Errorf("the ConfigMap of namespace %s is cached: %v, want %v", namespace, ok, want)
		}
	}
	for _, row := range []struct {
		key  manifest.Key
		want string
	}{
		{at("ConfigMap", first, "x"), ""},
		{at("ConfigMap", second, "x"), ""},
		{at("Secret", first, "x"), ""},
		{at("Secret", second, "x"), "watch Secret in namespace " + second},
		{at("ConfigMap", elsewhere, "x"), "add the namespace to namespaces in the cluster's Secret"},
		{clusterRole, `set clusterResources: "true" in the cluster's Secret`},
	} {
		err := c.Beyond(row.key)
		if (row.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("Beyond %s: %v, want %q", row.key, err, row.want)
		}
	}
	if err := c.Beyond(at("Secret", second, "x")); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "grant this right") {
		t.Errorf("a refusal is passed on with what to do: %v", err)
	}

	if kept := keptOf(c, schema.GroupKind{Kind: "Secret"}); !slices.Equal(kept.Forbidden, []string{second}) {
		t.Errorf("what is told of Secrets: %+v", kept)
	}

	// Each namespace goes on by itself.
	b.apply(read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: written, namespace: "+second+"}}"))
	maps := b.other.Resource(resource("", "v1", "configmaps"))
	if err := maps.Namespace(first).Delete(b.ctx(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the deletion in one namespace is seen", func() bool { _, ok := c.Get(at("ConfigMap", first, "before")); return !ok })
	for _, name := range []string{"before", "written"} {
		if _, ok := c.Get(at("ConfigMap", second, name)); !ok {
			t.Errorf("%s of the other namespace is forgotten", name)
		}
	}
	if list, err := c.FetchAll(b.ctx(), configMaps().WithVersion("v1"), ""); err != nil || len(namesIn(list.Items, second)) != 2 || len(namesIn(list.Items, elsewhere)) != 0 {
		t.Errorf("all within reach: %v, %v", err, list)
	}
	mu.Lock()
	defer mu.Unlock()
	if d := cmp.Diff([]string{"Secret may not be read in namespace " + second}, refusals); d != "" {
		t.Errorf("refusals that were told (-want +got):\n%s", d)
	}
}

// TestReachWithClusterScopedKinds: what lies in no namespace is watched as ever, if that is wanted.
func TestReachWithClusterScopedKinds(t *testing.T) {
	b := newBench(t)
	b.Cluster = openWith(t, b.env.Config, Options{Reach: Reach{Namespaces: []string{b.namespace}, ClusterScoped: true}})
	other := b.env.Namespace(t)
	b.watch(configMaps(), schema.GroupKind{Kind: "Namespace"})
	for _, name := range []string{b.namespace, other} {
		if _, ok := b.Get(manifest.Key{Kind: "Namespace", Name: name}); !ok {
			t.Errorf("namespace %s is not cached", name)
		}
	}
	if err := b.Beyond(manifest.Key{Kind: "Namespace", Name: other}); err != nil {
		t.Error(err)
	}
	if err := b.Beyond(manifest.Key{Kind: "ConfigMap", Namespace: other, Name: "x"}); err == nil {
		t.Error("other namespaces stay beyond reach")
	}
}

// TestStoreOfNamespaces: a list of one namespace says nothing of another, and neither does how far its watch has come.
func TestStoreOfNamespaces(t *testing.T) {
	s := newStore()
	s.hold(configMaps(), "ns", "other")
	s.saw(state("a", 7))
	s.sawAll(configMaps(), "other", nil, parseVersion("9"))
	key := manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "c"}
	if got := shown(s, key); got != "a/7" {
		t.Errorf("after the list of another namespace: %q", got)
	}
	s.wrote(state("a", 8))
	if got := shown(s, key); got != "a/8" {
		t.Errorf("an answer that only another namespace's watch has passed: %q", got)
	}
	s.sawAll(configMaps(), "ns", nil, parseVersion("10"))
	if got := shown(s, key); got != "" {
		t.Errorf("after its own list: %q", got)
	}
	u := state("b", 11).object()
	u.SetNamespace("unwatched")
	s.wrote(entryOf(u))
	if got := shown(s, manifest.KeyOf(u)); got != "" {
		t.Errorf("nobody would tell how %q goes on", got)
	}
}

func namesIn(items []unstructured.Unstructured, namespace string) (names []string) {
	for _, item := range items {
		if item.GetNamespace() == namespace && item.GetName() != "kube-root-ca.crt" {
			names = append(names, item.GetName())
		}
	}
	return names
}
