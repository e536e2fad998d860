// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

func TestWhoIsToldOfOrphans(t *testing.T) {
	app := types.NamespacedName{Namespace: "argocd", Name: "app"}
	here := space{"https://one.example.test", "team"}
	left := manifest.Key{Kind: "ConfigMap", Namespace: "team", Name: "left"}
	change := func(what cluster.ChangeType, change ...func(*cluster.Change)) cluster.Change {
		c := cluster.Change{Type: what, Key: left}
		for _, f := range change {
			f(&c)
		}
		return c
	}
	owned := func(c *cluster.Change) { c.Owners = []types.UID{"1"} }
	tracked := func(c *cluster.Change) { c.TrackingID = "app:/ConfigMap:team/left" }
	elsewhere := func(c *cluster.Change) { c.Key.Namespace = "other" }
	other := func(c *cluster.Change) { c.Key.Name = "other" }
	for name, c := range map[string]struct {
		reason string
		server string
		change cluster.Change
		want   bool
	}{
		"came":          {"something new that nobody owns", here.server, change(cluster.Added, other), true},
		"owned":         {"a Pod of a ReplicaSet is none", here.server, change(cluster.Added, owned, other), false},
		"tracked":       {"nor is what an Application applies", here.server, change(cluster.Added, tracked, other), false},
		"elsewhere":     {"another namespace", here.server, change(cluster.Added, elsewhere), false},
		"other cluster": {"another cluster", "https://two.example.test", change(cluster.Added), false},
		"gone":          {"an orphan that is gone", here.server, change(cluster.Deleted), true},
		"other gone":    {"what was no orphan may go", here.server, change(cluster.Deleted, other), false},
		"found":         {"an orphan that somebody applies now", here.server, change(cluster.Modified, tracked), true},
		"adopted":       {"or has come to own", here.server, change(cluster.Modified, owned), true},
		"modified":      {"an orphan that changes is still one", here.server, change(cluster.Modified), false},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrphanage()
			in := o.follow(app, here)
			o.told(in, []manifest.Key{left})
			if got := o.concerned(c.server, c.change); (len(got) > 0) != c.want {
				t.Errorf("%s: told are %v", c.reason, got)
			}
		})
	}
}

func TestNamespacesAreForgottenWithTheirLastApplication(t *testing.T) {
	one, two := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	a, b := space{"s", "a"}, space{"s", "b"}
	o := newOrphanage()
	shared := o.follow(one, a)
	if o.follow(two, a) != shared || o.follow(one, a) != shared {
		t.Error("Applications of one namespace do not share it")
	}
	o.follow(two, b)
	o.unfollow(one)
	o.unfollow(one)
	if len(o.spaces) != 1 || o.spaces[b] == nil || len(o.follows) != 1 {
		t.Errorf("kept are %v, followed %v", o.spaces, o.follows)
	}
	o.unfollow(two)
	if len(o.spaces)+len(o.follows) > 0 {
		t.Errorf("kept are %v, followed %v", o.spaces, o.follows)
	}
}
