// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: name}
}

func TestTheFirstWakeupDoesNotWait(t *testing.T) {
	w := newWakeups(nil)
	begin := time.Now()
	w.add(named("shop"))
	if ready, next := w.take(begin); ready[named("shop")] == nil || next != 0 {
		t.Errorf("ready %v, next in %s: the first change must be handed over at once", ready, next)
	}
	w.handed[named("shop")] = begin
	w.add(named("shop"), named("cart"))
	ready, next := w.take(begin.Add(coalesce / 2))
	if ready[named("shop")] != nil || next != coalesce/2 {
		t.Errorf("ready %v, next in %s: a second change waits for the rest of the burst", ready, next)
	}
	if ready[named("cart")] == nil {
		t.Error("the burst of one Application must not hold another")
	}
	if ready, _ := w.take(begin.Add(coalesce)); ready[named("shop")] == nil {
		t.Error("what waited is handed over when its time has come")
	}
}

func TestManyTouchesAreALook(t *testing.T) {
	w := newWakeups(nil)
	for i := range maxKeys + 1 {
		key := manifest.Key{Kind: "ConfigMap", Name: fmt.Sprint(i)}
		w.touch(key, named("shop"))
		w.touch(key, named("shop"))
		if n := w.pending[named("shop")]; n.look != (i == maxKeys) {
			t.Fatalf("after %d objects: look %v", i+1, n.look)
		}
	}
	w.touch(manifest.Key{Kind: "Secret", Name: "late"}, named("shop"))
	if n := w.pending[named("shop")]; !n.look || n.keys != nil {
		t.Errorf("%+v: a look that is due must stay due", n)
	}
}

func TestWatchlistKnowsWhomAChangeConcerns(t *testing.T) {
	rendered := newRenderings()
	l := newWatchlist(rendered)
	key := func(name string) manifest.Key { return manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: name} }
	const server = "https://kubernetes.default.svc"
	rendered.set(named("shop"), server, []manifest.Key{key("a"), key("both")})
	rendered.set(named("cart"), server, []manifest.Key{key("both")})
	l.set(named("shop"), "shop", server, []manifest.Key{key("a"), key("cause")})
	l.set(named("cart"), "cart", server, nil)
	concerned := func(server, name, mark string) string {
		names := l.concerned(server, cluster.Change{Key: key(name), TrackingID: mark})
		slices.SortFunc(names, compareNames)
		return fmt.Sprint(names)
	}
	for name, tc := range map[string]struct{ server, object, mark, want string }{
		"rendered":        {server, "a", "", "[argocd/shop]"},
		"rendered twice":  {server, "both", "", "[argocd/cart argocd/shop]"},
		"not rendered":    {server, "cause", "", "[argocd/shop]"},
		"marked":          {server, "left", "cart:/ConfigMap:ns/left", "[argocd/cart]"},
		"both":            {server, "a", "shop:/ConfigMap:ns/a", "[argocd/shop]"},
		"another cluster": {"https://other", "a", "", "[]"},
		"nobody's":        {server, "x", "", "[]"},
	} {
		if got := concerned(tc.server, tc.object, tc.mark); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	if others := rendered.remove(named("cart")); fmt.Sprint(others) != "[argocd/shop]" {
		t.Errorf("who shares an object with a removed Application: %v", others)
	}
	l.remove(named("cart"), "cart")
	if got := concerned(server, "both", "cart:/ConfigMap:ns/both"); got != "[argocd/shop]" {
		t.Errorf("after the removal: %s", got)
	}
	rendered.set(named("late"), server, []manifest.Key{key("a")})
	if got := rendered.others(named("shop"), server, key("a")); fmt.Sprint(got) != "[argocd/late]" {
		t.Errorf("a number that was free is used again: %v", got)
	}
}
