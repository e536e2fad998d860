// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// situation shows a finding that manifests alone do not give: once as it is found
// and once as it is not.
type situation struct {
	bad, good func(*testing.T) []verify.Finding
}

// ofOtherRooms tells whether findings of a code are made elsewhere: then a test of the
// command line, which reaches all rooms, shows them.
func ofOtherRooms(t *testing.T, code string) bool {
	t.Helper()
	data, err := os.ReadFile("testdata/elsewhere.txt")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(strings.Split(string(data), "\n"), code)
}

// run verifies objects after the input of plan and checks has been changed.
func run(t *testing.T, objects string, change func(*plan.Input), changeVerify func(*verify.Input)) []verify.Finding {
	t.Helper()
	in := plan.Input{App: "shop", Namespace: "demo"}
	if objects != "" {
		in.Objects = decode(t, objects)
	}
	if change != nil {
		change(&in)
	}
	check := verify.Input{Plan: plan.Build(in)}
	if changeVerify != nil {
		changeVerify(&check)
	}
	return verify.Run(check)
}

const (
	widget   = "apiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: w}\n"
	tolerant = "apiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: w, annotations: {argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true}}\n"
	settled  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\n"
)

// serves are the kinds of a cluster that knows nothing but Kubernetes' own.
func serves(in *plan.Input) {
	in.Scope = func(gk schema.GroupKind) (bool, bool) { return gk.Kind != "Namespace", gk.Group != "acme.io" }
}

func situations() map[string]situation {
	all := map[string]situation{}
	ofPlans(all)
	ofRepositories(all)
	return all
}

func ofPlans(all map[string]situation) {
	show := func(bad, good string, change func(*plan.Input)) situation {
		return situation{
			func(t *testing.T) []verify.Finding {
				t.Helper()
				return run(t, bad, change, nil)
			},
			func(t *testing.T) []verify.Finding {
				t.Helper()
				return run(t, good, change, nil)
			},
		}
	}
	all["kind-unknown"] = show(widget, settled, serves)
	all["kind-not-known-yet"] = show(tolerant, settled, serves)
	// Files with such objects cannot be read; somebody may hand them over.
	all["name-missing"] = handed(map[string]any{}, map[string]any{"name": "shop"})
	all["invalid-metadata"] = handed(map[string]any{"name": "shop", "labels": map[string]any{"a": int64(1)}}, map[string]any{"name": "shop", "labels": map[string]any{"a": "1"}})
	all["producer-cycle"] = show(cycle, settled, nil)
	all["excluded-kind"] = show(settled, "apiVersion: v1\nkind: Service\nmetadata: {name: shop}\n", func(in *plan.Input) {
		in.Excluded = func(gk schema.GroupKind) bool { return gk.Kind == "ConfigMap" }
	})
	live := func(t *testing.T, text string) plan.Live {
		t.Helper()
		return plan.Live{Object: decode(t, text)[0]}
	}
	all["extraneous-not-ours"] = situation{
		func(t *testing.T) []verify.Finding {
			t.Helper()
			return run(t, "", func(in *plan.Input) {
				in.Unproven = []plan.Live{live(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copied, namespace: demo}\n")}
			}, nil)
		},
		func(t *testing.T) []verify.Finding {
			t.Helper()
			return run(t, settled, nil, nil)
		},
	}
	handover := func(create bool) func(t *testing.T) []verify.Finding {
		return func(t *testing.T) []verify.Finding {
			t.Helper()
			return run(t, settled, func(in *plan.Input) {
				in.Options = plan.Options{Prune: true, CreateNamespace: create}
				in.Prune = []plan.Live{live(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n")}
			}, nil)
		}
	}
	all["namespace-handover"] = situation{handover(true), handover(false)}
}

// handed verifies a ConfigMap with one metadata or another.
func handed(bad, good map[string]any) situation {
	with := func(metadata map[string]any) func(t *testing.T) []verify.Finding {
		return func(t *testing.T) []verify.Finding {
			t.Helper()
			return run(t, "", func(in *plan.Input) {
				u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}}
				in.Objects = []manifest.Object{{Unstructured: u}}
			}, nil)
		}
	}
	return situation{with(bad), with(good)}
}

// cycle are two producers that read each other's Secrets.
const cycle = `
apiVersion: external-secrets.io/v1
kind: SecretStore
metadata: {name: a}
spec: {provider: {vault: {auth: {tokenSecretRef: {name: two, key: t}}}}}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: one}
spec: {secretStoreRef: {name: a}, target: {name: one}, data: [{secretKey: t, remoteRef: {key: t}}]}
---
apiVersion: external-secrets.io/v1
kind: SecretStore
metadata: {name: b}
spec: {provider: {vault: {auth: {tokenSecretRef: {name: one, key: t}}}}}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: two}
spec: {secretStoreRef: {name: b}, target: {name: two}, data: [{secretKey: t, remoteRef: {key: t}}]}
`

func ofRepositories(all map[string]situation) {
	shared := func(other string) func(t *testing.T) []verify.Finding {
		return func(t *testing.T) []verify.Finding {
			t.Helper()
			one := plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: decode(t, settled)})
			two := plan.Build(plan.Input{App: "cart", Namespace: other, Objects: decode(t, settled)})
			return verify.Shared([]*plan.Plan{one, two})["shop"]
		}
	}
	all["shared-resource"] = situation{shared("demo"), shared("cart")}
	layout := func(kind string) func(t *testing.T) []verify.Finding {
		return func(t *testing.T) []verify.Finding {
			t.Helper()
			return verify.Layout{Path: "apps/*.yaml", Only: []string{kind}}.Check("apps/a.yaml", decode(t, settled))
		}
	}
	all["layout"] = situation{layout("Application"), layout("ConfigMap")}
	restless := func(name string) func(t *testing.T) []verify.Finding {
		return func(t *testing.T) []verify.Finding {
			t.Helper()
			return run(t, settled, nil, func(in *verify.Input) {
				in.Unstable = []verify.UnstableField{{Object: manifest.Key{Kind: "ConfigMap", Namespace: "demo", Name: name}, Field: "data.a", Cause: "now"}}
			})
		}
	}
	all["nondeterministic-render"] = situation{restless("shop"), restless("other")}
	suppressed := func(text string, used bool) func(t *testing.T) []verify.Finding {
		return func(t *testing.T) []verify.Finding {
			t.Helper()
			objects := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, annotations: {wavetrain.dev/verify-ignore: '" + text + "'}}\n"
			p := plan.Build(plan.Input{App: "shop", Namespace: "demo", Objects: decode(t, objects)})
			list, problems := verify.Suppressions(p, []verify.Rule{{Name: "own-rule"}})
			found := problems
			if used {
				found = append(found, verify.Finding{Diagnostic: diag.Diagnostic{Code: list[0].Code, Subject: list[0].Subject}})
			}
			kept, unused := verify.Suppress(found, list)
			for _, i := range unused {
				kept = append(kept, verify.Unused(list[i]))
			}
			return kept
		}
	}
	all["invalid-suppression"] = situation{suppressed("replica-fight", false), suppressed("replica-fight: scaled by hand", false)}
	all["unused-suppression"] = situation{suppressed("own-rule: as agreed", false), suppressed("own-rule: as agreed", true)}
	rule := func(holds bool) func(t *testing.T) []verify.Finding {
		return func(t *testing.T) []verify.Finding {
			t.Helper()
			return run(t, settled, nil, func(in *verify.Input) {
				in.Rules = []verify.Rule{{Name: "own-rule", Severity: diag.Warning, Message: "not so", Holds: func(map[string]any) (bool, error) { return holds, nil }}}
			})
		}
	}
	all["own-rule"] = situation{rule(false), rule(true)}
}

// TestSituations has every finding that needs more than manifests found and not
// found.
func TestSituations(t *testing.T) {
	t.Parallel()
	for code, s := range situations() {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			has := func(f verify.Finding) bool { return f.Code == code }
			if found := s.bad(t); !slices.ContainsFunc(found, has) {
				t.Errorf("not found, but %v", texts(found))
			}
			if found := s.good(t); slices.ContainsFunc(found, has) {
				t.Errorf("found where nothing is wrong: %v", texts(found))
			}
		})
	}
}
