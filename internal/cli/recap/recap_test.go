// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package recap

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/timeline"
)

func start() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }

// moment is one of app shop; a second passes per ten resourceVersions.
func moment(what timeline.What, rv uint64, phase manifest.Phase, wave int, kind, name string) timeline.Moment {
	return timeline.Moment{
		Key: manifest.Key{Kind: kind, Namespace: "ns", Name: name}, What: what, ResourceVersion: rv,
		Time: start().Add(time.Duration(rv) * time.Second / 10), App: "shop", Phase: phase, Wave: wave,
	}
}

func run() []timeline.Moment {
	secret := moment(timeline.Created, 45, "", 0, "Secret", "env")
	secret.App = ""
	needing := moment(timeline.Created, 50, manifest.Sync, 1, "Deployment", "api")
	needing.Needs = []manifest.Key{secret.Key}
	return []timeline.Moment{
		moment(timeline.Created, 10, manifest.PreSync, -1, "Job", "role-init"),
		moment(timeline.Done, 20, manifest.PreSync, -1, "Job", "role-init"),
		moment(timeline.Created, 21, manifest.Sync, 0, "ConfigMap", "settings"),
		moment(timeline.Done, 21, manifest.Sync, 0, "ConfigMap", "settings"),
		moment(timeline.Created, 30, manifest.Sync, 0, "Job", "migrate"),
		moment(timeline.Done, 40, manifest.Sync, 0, "Job", "migrate"),
		secret, needing,
		moment(timeline.Done, 70, manifest.Sync, 1, "Deployment", "api"),
		moment(timeline.Deleted, 80, manifest.PreSync, -1, "Job", "role-init"),
	}
}

func TestTimeline(t *testing.T) {
	var out strings.Builder
	moments := run()
	if err := Of(moments, timeline.Prove(moments), start()).Timeline(&out); err != nil {
		t.Fatal(err)
	}
	want := `shop: 3 groups, 4 objects in 6.0 s
  PHASE    WAVE  OBJECTS  STARTED  DONE   TOOK
  PreSync  -1    1        1.0 s    2.0 s  1.0 s  |    =====                       |
  Sync     0     2        2.1 s    4.0 s  1.9 s  |         =========              |
  Sync     1     1        5.0 s    7.0 s  2.0 s  |                      ==========|
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProof(t *testing.T) {
	late := run()
	for i := range late {
		if late[i].Key.Name == "migrate" && late[i].What == timeline.Done {
			late[i].ResourceVersion = 60
		}
	}
	for name, c := range map[string]struct {
		reason  string
		moments []timeline.Moment
		want    string
	}{
		"holds": {
			"each line is created after the line before is done",
			run(), `shop: 2 gates hold, 1 Secret precedes its user
    GROUP       OBJECTS         CREATED  DONE
    PreSync/-1  Job/role-init   10       20
  < Sync/0      Job/migrate     30       40
  < Sync/1      Deployment/api  50       70
    Secret/env created 45 < Deployment/api created 50
`,
		},
		"broken": {
			"what does not hold is marked where it happened",
			late, `shop: 1 of 2 gates BROKEN, 1 Secret precedes its user
    GROUP       OBJECTS         CREATED  DONE
    PreSync/-1  Job/role-init   10       20
  < Sync/0      Job/migrate     30       60
  ! Sync/1      Deployment/api  50       70
    Secret/env created 45 < Deployment/api created 50
`,
		},
		"one group": {
			"an application of one group says so",
			run()[:2], `shop: one group, nothing to order
    GROUP       OBJECTS        CREATED  DONE
    PreSync/-1  Job/role-init  10       20
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := Of(c.moments, timeline.Prove(c.moments), start()).Proof(&out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestNamesFitIntoAColumn(t *testing.T) {
	objects := map[manifest.Key]bool{}
	add := func(name string) { objects[manifest.Key{Kind: "Job", Name: name}] = true }
	add("a")
	add("b")
	if got, want := names(objects), "Job/a, Job/b"; got != want {
		t.Errorf("short ones fit: got %q, want %q", got, want)
	}
	add("c-" + strings.Repeat("x", 90))
	add("d")
	if got, want := names(objects), "Job/a, Job/b and 2 more"; got != want {
		t.Errorf("long ones are counted: got %q, want %q", got, want)
	}
	delete(objects, manifest.Key{Kind: "Job", Name: "a"})
	delete(objects, manifest.Key{Kind: "Job", Name: "b"})
	if got := names(objects); !strings.HasPrefix(got, "Job/c-") || !strings.HasSuffix(got, " and 1 more") {
		t.Errorf("the first is always named: got %q", got)
	}
}

func TestASecretWithManyUsersIsOneLine(t *testing.T) {
	moments := run()
	late := moment(timeline.Created, 90, manifest.Sync, 1, "Deployment", "late")
	for _, m := range moments {
		if m.Key.Name == "api" && m.What == timeline.Created {
			late.Needs = m.Needs
		}
	}
	moments = append([]timeline.Moment{late}, moments...)
	var out strings.Builder
	if err := Of(moments, timeline.Prove(moments), start()).Proof(&out); err != nil {
		t.Fatal(err)
	}
	if want := "Secret/env created 45 < Deployment/api created 50 and 1 more later\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant %q in it", out.String(), want)
	}
}

func TestWhatWasThereBeforeIsNoPartOfTheRun(t *testing.T) {
	moments := []timeline.Moment{moment(timeline.Done, 20, manifest.Sync, 0, "Job", "old")}
	if r := Of(moments, nil, start()); !r.Empty() {
		t.Errorf("got %+v, want an empty recap", r)
	}
}
