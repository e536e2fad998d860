// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package saved_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/internal/diff"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/plan/saved"
)

func object(t *testing.T, text string) manifest.Object {
	t.Helper()
	list, err := manifest.Decode("test.yaml", []byte(text))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}

func of(t *testing.T) saved.Plan {
	t.Helper()
	in := plan.Input{App: "shop", Namespace: "shop", Live: map[manifest.Key]plan.Live{}, Options: plan.Options{Prune: true}}
	for _, text := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: same}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: changed}\ndata: {v: two}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: changed-password}\n",
		"apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: m-, annotations: {argocd.argoproj.io/hook: PreSync}}\n",
	} {
		o := object(t, text)
		in.Objects = append(in.Objects, o)
		if o.GetName() == "new" || o.GetName() == "" {
			continue
		}
		live := manifest.Object{Unstructured: o.DeepCopy()}
		live.SetNamespace("shop")
		live.SetUID(types.UID("uid-of-" + o.GetName()))
		live.SetResourceVersion("7")
		in.Live[live.Key()] = plan.Live{Object: live, InSync: o.GetName() == "same"}
	}
	old := object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old, namespace: shop, uid: uid-of-old}\n")
	in.Prune = append(in.Prune, plan.Live{Object: old})
	changes := func(k manifest.Key) []diff.Change {
		if k.Kind == "Secret" {
			return []diff.Change{{Path: "data.password", Live: diff.Hidden, Desired: diff.HiddenChanged}}
		}
		return []diff.Change{{Path: "data.v", Live: "one", Desired: "two"}}
	}
	return saved.Plan{
		Version: saved.Version, App: "argocd/shop", UID: "u", Server: "https://one", Namespace: "shop", Revisions: []string{"abc"}, Render: "r",
		Spec:  saved.SpecOf(map[string]any{"source": map[string]any{"path": "app"}}, nil),
		Steps: saved.Steps(plan.Build(in), changes),
	}
}

func TestStepsThatAct(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range of(t).Steps {
		got = append(got, s.Action+" "+s.Object)
	}
	want := []string{"hook Job/m-*", "delete ConfigMap/old", "update Secret/s", "update ConfigMap/changed", "create ConfigMap/new"}
	if !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	step := func(p *saved.Plan, name string) *saved.Step {
		i := slices.IndexFunc(p.Steps, func(s saved.Step) bool { return strings.HasSuffix(s.Object, name) })
		return &p.Steps[i]
	}
	drop := func(p *saved.Plan, name string) {
		p.Steps = slices.DeleteFunc(p.Steps, func(s saved.Step) bool { return strings.HasSuffix(s.Object, name) })
	}
	for name, c := range map[string]struct {
		reason string
		move   func(*saved.Plan)
		want   string
	}{
		"same":        {"nothing has moved", func(*saved.Plan) {}, ""},
		"application": {"another Application of that name", func(p *saved.Plan) { p.UID = "v" }, "the Application was deleted and made again"},
		"spec": {
			"the field that was changed is named", func(p *saved.Plan) {
				p.Spec = saved.SpecOf(map[string]any{"source": map[string]any{"path": "other"}}, nil)
			},
			"the Application was changed: spec.source.path",
		},
		"destination": {"it would go elsewhere", func(p *saved.Plan) { p.Server = "https://two" }, "the destination was https://one shop, it is https://two shop"},
		"revision":    {"the revision is named once, without what it renders", func(p *saved.Plan) { p.Revisions, p.Render = []string{"def"}, "q" }, "the revision was abc, it is def"},
		"render": {
			"one revision renders something else", func(p *saved.Plan) { p.Render = "q" },
			"revision abc renders something else now: what charts ask the cluster has another answer, or another version of Wavetrain renders",
		},
		"field":   {"a field that is changed was changed", func(p *saved.Plan) { step(p, "/changed").Fields["data.v"] = "x" }, "ConfigMap/changed (Sync/0) was changed on the cluster: data.v"},
		"secret":  {"of a Secret only the version is known", func(p *saved.Plan) { step(p, "/s").At = "8" }, "Secret/s (Sync/0) was changed on the cluster (resourceVersion 8, it was 7)"},
		"remade":  {"another object of that name", func(p *saved.Plan) { step(p, "/old").Found = "uid:other" }, "ConfigMap/old (Sync/0) was deleted and made again by somebody"},
		"exists":  {"what was to be created is there", func(p *saved.Plan) { step(p, "/new").Action = saved.Update }, "ConfigMap/new (Sync/0) was to be created and exists by now"},
		"created": {"and as it should be", func(p *saved.Plan) { drop(p, "/new") }, "ConfigMap/new (Sync/0) was to be created and exists by now"},
		"gone":    {"what was to be deleted is gone", func(p *saved.Plan) { drop(p, "/old") }, "ConfigMap/old (Sync/0) would no longer be deleted: somebody has done it, or it is not needed any more"},
		"more": {
			"something else is to be done, too", func(p *saved.Plan) {
				p.Steps = append(p.Steps, saved.Step{ID: "Sync/3/ConfigMap/shop/same", Object: "ConfigMap/same", Action: saved.Update, Fields: map[string]string{"data.v": "x"}})
			},
			"ConfigMap/same (Sync/3) would now be updated as well: data.v is not as it was when it was planned",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planned, now := of(t), of(t)
			c.move(&now)
			if got := strings.Join(planned.Differences(now), "; "); got != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
			if (planned.ID() == now.ID()) != (c.want == "") {
				t.Errorf("%s: ids %s and %s", c.reason, planned.ID(), now.ID())
			}
		})
	}
}

// When something is done is not what is done.
func TestAutomationIsNoPartOfThePlan(t *testing.T) {
	t.Parallel()
	spec := func(policy map[string]any) map[string]string {
		return saved.SpecOf(map[string]any{"syncPolicy": policy, "info": []any{"x"}}, nil)
	}
	a := spec(map[string]any{"automated": map[string]any{"prune": true}, "syncOptions": []any{"a"}})
	b := spec(map[string]any{"syncOptions": []any{"a"}})
	if len(a) != 1 || a["spec.syncPolicy.syncOptions[0]"] != b["spec.syncPolicy.syncOptions[0]"] || len(b) != 1 {
		t.Errorf("%v and %v", a, b)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	p := of(t)
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := saved.Decode(text)
	if err != nil || back.ID() != p.ID() || len(p.Differences(back)) > 0 {
		t.Errorf("read back as %+v, error %v", back, err)
	}
	if saved.Brief(text) != p.ID() || saved.Brief(p.ID()) != p.ID() {
		t.Errorf("brief form is %q", saved.Brief(text))
	}
	data, err := json.Marshal(p)
	if err != nil || strings.Contains(string(data), "changed-password") {
		t.Errorf("%s holds the value of a Secret (%v)", data, err)
	}
	p.Version = 9
	other, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{"other version": other, "brief": saved.Brief(text), "another id": "abc" + text[3:], "cut": text[:len(text)-8], "no plan": "x"} {
		if _, err := saved.Decode(bad); err == nil || !strings.Contains(err.Error(), "make the plan again") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A plan of many objects fits into an operation.
func TestLargePlansAreSmall(t *testing.T) {
	t.Parallel()
	p := saved.Plan{Version: saved.Version, App: "argocd/shop", Revisions: []string{strings.Repeat("a", 40)}}
	for i := range 5000 {
		name := fmt.Sprintf("object-with-a-long-name-%d", i)
		fields := map[string]any{}
		for j := range 3 {
			fields[fmt.Sprintf("spec.template.spec.containers[name=main].field%d", j)] = i*3 + j
		}
		digests := map[string]string{}
		saved.Fields(fields, "", digests)
		p.Steps = append(p.Steps, saved.Step{ID: "Sync/0/apps/Deployment/some-namespace/" + name, Object: "Deployment/" + name, Action: saved.Update, Found: fmt.Sprintf("uid:5f6c2d6e-0000-4000-8000-%012d", i), Fields: digests})
	}
	text, err := p.Encode()
	if err != nil || len(text) > 300<<10 {
		t.Errorf("5000 updates take %d KiB (%v)", len(text)>>10, err)
	}
}
