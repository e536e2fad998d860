// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package change_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	repository "github.com/wavetrain/wavetrain/internal/config"
	"github.com/wavetrain/wavetrain/internal/report/change"
)

const hook = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync%s}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: m}]}}}\n---\n"

// knowing is a side whose repository says what others bring.
func knowing(t *testing.T, objects, external string) *change.Side {
	t.Helper()
	s := side(t, objects)
	var err error
	if s.External, err = repository.ParseExternal(repository.FileName, []byte("external: ["+external+"]")); err != nil {
		t.Fatal(err)
	}
	return s
}

// What a release waits for that others bring is part of what a commit changes, whether
// an object says it or the repository does.
func TestCompareNeeds(t *testing.T) {
	t.Parallel()
	const cluster = "{object: postgresql.cnpg.io/Cluster/databases/core-pg, neededBy: [Job/migrate]}"
	plainHook, asking := fmt.Sprintf(hook, ""), fmt.Sprintf(hook, ", wavetrain.dev/needs: ConfigMap/told")
	mounts := strings.Replace(fmt.Sprintf(web, "1"), `:1"}`, `:1", envFrom: [{secretRef: {name: access}}]}`, 1)
	for name, c := range map[string]struct {
		base, head *change.Side
		want       []string
	}{
		"declared": {knowing(t, plainHook, ""), knowing(t, plainHook, cluster), []string{"PreSync/0 Job/migrate: waits for Cluster/databases/core-pg, which others bring"}},
		"dropped":  {knowing(t, plainHook, cluster), knowing(t, plainHook, ""), []string{"PreSync/0 Job/migrate: no longer waits for Cluster/databases/core-pg, which others bring"}},
		"asked for": {
			knowing(t, plainHook, cluster), knowing(t, asking, cluster), []string{"PreSync/0 Job/migrate: waits for ConfigMap/told, which others bring"},
		},
		"mentioned":              {knowing(t, mounts, ""), knowing(t, mounts, "Secret/access"), []string{"Sync/1 Deployment/web: waits for Secret/access, which others bring"}},
		"with a new application": {nil, knowing(t, plainHook, cluster), []string{"PreSync/0 Job/migrate: waits for Cluster/databases/core-pg, which others bring"}},
		"nobody needs it":        {knowing(t, plainHook, ""), knowing(t, plainHook, "Secret/access"), nil},
		"the same":               {knowing(t, plainHook, cluster), knowing(t, plainHook, cluster), nil},
		"gone with its object":   {knowing(t, plainHook+mounts, "Secret/access"), knowing(t, plainHook, ""), nil},
	} {
		a := change.Compare("shop", c.base, c.head)
		if a == nil {
			if c.want != nil {
				t.Errorf("%s: nothing changes, want %q", name, c.want)
			}
			continue
		}
		apps := []*change.App{a}
		text := change.Text(apps, 0)
		page, err := change.HTML(apps, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(text) {
			if need, ok := strings.CutPrefix(line, "  Needs "); ok {
				got = append(got, strings.TrimSpace(need))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q in\n%s", name, got, c.want, text)
		}
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			_, what, _ := strings.Cut(want, ": ")
			if markdown := change.Markdown(apps, 0); !strings.Contains(markdown, what) || !strings.Contains(page, what) {
				t.Errorf("%s: the comment or the page does not say %q:\n%s\n%s", name, what, markdown, page)
			}
		}
		if strings.Contains(string(data), `"needs":[{"phase"`) != (c.want != nil) {
			t.Errorf("%s: as JSON %s", name, data)
		}
	}
}
