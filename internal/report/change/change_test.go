// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/report/change"
)

func side(t *testing.T, text string) *change.Side {
	t.Helper()
	objects, err := manifest.Decode("shop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &change.Side{Namespace: "shop", Objects: objects}
}

const (
	config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {MODE: %q}\n---\n"
	web    = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "registry.example.com/web:%s"}]}
---
`
	secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: %q}\n---\n"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	base := side(t, fmt.Sprintf(config, "a", "one")+fmt.Sprintf(config, "old", "x")+fmt.Sprintf(web, "1")+fmt.Sprintf(secret, "first-secret-value"))
	head := side(t, fmt.Sprintf(config, "a", "two")+fmt.Sprintf(config, "new", "x")+fmt.Sprintf(web, "2")+fmt.Sprintf(secret, "second-secret-value"))
	a := change.Compare("shop", base, head)
	if a == nil || a.What != change.Changed {
		t.Fatalf("Compare = %+v, want a change", a)
	}
	var got []string
	for _, g := range a.Groups {
		for _, s := range g.Steps {
			got = append(got, fmt.Sprintf("%s/%d %s %s", g.Phase, g.Wave, s.Action, s.Object))
		}
	}
	want := []string{
		"Sync/0 delete ConfigMap/old", "Sync/0 update Secret/s", "Sync/0 update ConfigMap/a", "Sync/0 create ConfigMap/new", "Sync/1 update Deployment/web",
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(a.Restarts, []string{"Deployment/web"}) || !slices.Equal(a.Deletes, []string{"ConfigMap/old"}) {
		t.Errorf("restarts %q, deletes %q", a.Restarts, a.Deletes)
	}
	apps := []*change.App{a}
	page, err := change.HTML(apps, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"text": change.Text(apps, 3), "markdown": change.Markdown(apps, 3), "html": page} {
		if strings.Contains(text, "secret-value") {
			t.Errorf("%s shows the value of a Secret", name)
		}
		if !strings.Contains(text, "1 of 4 applications: 1 to create, 3 to update, 1 to delete, 0 hooks to run, 1 workload to restart") {
			t.Errorf("%s has no summary", name)
		}
		if !strings.Contains(text, "registry.example.com/web:2") {
			t.Errorf("%s does not show the new image", name)
		}
	}
}

func TestNewGoneSame(t *testing.T) {
	t.Parallel()
	one := side(t, fmt.Sprintf(config, "a", "one"))
	if a := change.Compare("shop", nil, one); a == nil || a.What != change.New || a.Groups[0].Steps[0].Action != "create" {
		t.Errorf("a new application: %+v", a)
	}
	if a := change.Compare("shop", one, nil); a == nil || a.What != change.Gone || !slices.Equal(a.Deletes, []string{"ConfigMap/a"}) {
		t.Errorf("an application that goes: %+v", a)
	}
	if a := change.Compare("shop", one, side(t, fmt.Sprintf(config, "a", "one"))); a != nil {
		t.Errorf("nothing changed: %+v", a)
	}
}

func TestCommentFits(t *testing.T) {
	t.Parallel()
	var base, head strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&base, config, fmt.Sprintf("c%d", i), "one")
		fmt.Fprintf(&head, config, fmt.Sprintf("c%d", i), fmt.Sprintf("two %d", i))
	}
	big := change.Compare("big", side(t, base.String()), side(t, head.String()))
	text := change.Markdown([]*change.App{big}, 0)
	if len(text) > 65536 || !strings.Contains(text, "do not fit into a comment") || !strings.Contains(text, "2000 to update") {
		t.Errorf("%d characters, beginning with %q", len(text), text[:200])
	}
}

// A change that many objects have is written once.
func TestCommonChangesAreWrittenOnce(t *testing.T) {
	t.Parallel()
	var base, head strings.Builder
	for i := range 5 {
		fmt.Fprintf(&base, config, fmt.Sprintf("c%d", i), "one")
		fmt.Fprintf(&head, config, fmt.Sprintf("c%d", i), "two")
	}
	digest := strings.Repeat("0123abcd", 8)
	fmt.Fprintf(&base, config, "other", digest)
	fmt.Fprintf(&head, config, "other", "x")
	apps := []*change.App{change.Compare("app", side(t, base.String()), side(t, head.String()))}
	page, err := change.HTML(apps, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"text": change.Text(apps, 0), "markdown": change.Markdown(apps, 0), "html": page} {
		if strings.Count(text, "data.MODE") != 2 || !strings.Contains(text, "5 objects") || strings.Count(text, "ConfigMap/c") != 5 {
			t.Errorf("%s:\n%s", name, text)
		}
		if strings.Contains(text, digest) || !strings.Contains(text, digest[:8]+"…") {
			t.Errorf("%s shows a digest to its end:\n%s", name, text)
		}
	}
}

// Hooks for a failure are shown as such, neither counted nor waited for.
func TestHooksForAFailure(t *testing.T) {
	t.Parallel()
	hook := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: undo, annotations: {argocd.argoproj.io/hook: SyncFail}}\nspec: {template: {spec: {containers: []}}}\n---\n"
	apps := []*change.App{change.Compare("app", nil, side(t, hook+fmt.Sprintf(config, "c", "x")))}
	page, err := change.HTML(apps, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"text": change.Text(apps, 0), "markdown": change.Markdown(apps, 0), "html": page} {
		if !strings.Contains(text, "SyncFail/0 (only if the sync fails)") || !strings.Contains(text, "1 to create, 0 to update, 0 to delete, 0 hooks to run") || strings.Contains(text, "until it has completed") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// What an Application says about prunes and hooks is heeded between commits, too.
func TestCompareHeedsOptions(t *testing.T) {
	t.Parallel()
	const (
		namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n"
		upgrade   = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}\n---\n"
	)
	cases := map[string]struct {
		reason     string
		base, head string
		options    plan.Options
		want       []string
	}{
		"None": {
			reason: "A prune stands in its own wave.", base: fmt.Sprintf(config, "old", "x") + fmt.Sprintf(web, "1"), head: fmt.Sprintf(web, "2"),
			want: []string{"Sync/0 delete ConfigMap/old", "Sync/1 update Deployment/web"},
		},
		"PruneLast": {
			reason: "It comes after everything else.", options: plan.Options{PruneLast: true},
			base: fmt.Sprintf(config, "old", "x") + fmt.Sprintf(web, "1"), head: fmt.Sprintf(web, "2"),
			want: []string{"Sync/1 update Deployment/web", "Sync/2 delete ConfigMap/old"},
		},
		"PruneDisabled": {
			reason: "Nothing is pruned.", options: plan.Options{PruneDisabled: true},
			base: fmt.Sprintf(config, "old", "x") + fmt.Sprintf(web, "1"), head: fmt.Sprintf(web, "2"),
			want: []string{"Sync/0 keep ConfigMap/old", "Sync/1 update Deployment/web"},
		},
		"DroppedNamespace": {
			reason: "The namespace goes with its manifest.", base: namespace + fmt.Sprintf(web, "1"), head: fmt.Sprintf(web, "1"),
			want: []string{"Sync/0 delete Namespace/shop", "Sync/1 none Deployment/web"},
		},
		"HandedOver": {
			reason: "The namespace that a sync makes from now on is handed over.", options: plan.Options{CreateNamespace: true},
			base: namespace + fmt.Sprintf(web, "1"), head: fmt.Sprintf(web, "1"),
			want: []string{"Sync/0 keep Namespace/shop", "Sync/1 none Deployment/web"},
		},
		"Lifecycle": {
			reason: "The first sync of an application runs no upgrade hook.", options: plan.Options{HelmLifecycle: true},
			head: upgrade + fmt.Sprintf(web, "1"), want: []string{"Sync/1 create Deployment/web"},
		},
		"LaterLifecycle": {
			reason: "A later one does.", options: plan.Options{HelmLifecycle: true},
			base: upgrade + fmt.Sprintf(web, "1"), head: upgrade + fmt.Sprintf(web, "2"), want: []string{"PreSync/0 hook Job/migrate", "Sync/1 update Deployment/web"},
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var base *change.Side
			if tt.base != "" {
				base = side(t, tt.base)
			}
			head := side(t, tt.head)
			head.Options = tt.options
			var got []string
			for _, g := range change.Compare("shop", base, head).Groups {
				for _, s := range g.Steps {
					got = append(got, fmt.Sprintf("%s/%d %s %s", g.Phase, g.Wave, s.Action, s.Object))
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s steps are %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}
