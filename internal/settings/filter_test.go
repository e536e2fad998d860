// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/settings"
)

func TestFilter(t *testing.T) {
	const home = "https://kubernetes.default.svc"
	endpoints := schema.GroupKind{Kind: "Endpoints"}
	tenant := schema.GroupKind{Group: "tenants.example.test", Kind: "Tenant"}
	cases := map[string]struct {
		reason                 string
		exclusions, inclusions string
		server                 string
		kind                   schema.GroupKind
		want                   bool
	}{
		"Nothing":        {"without settings a kind is in", "", "", home, endpoints, false},
		"Event":          {"events are nobody's desired state", "", "", home, schema.GroupKind{Kind: "Event"}, true},
		"NewEvent":       {"in either group", "", "", home, schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}, true},
		"Metrics":        {"metrics neither", "", "", home, schema.GroupKind{Group: "metrics.k8s.io", Kind: "PodMetrics"}, true},
		"Lease":          {"nor Leases", "", "", home, schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}, true},
		"Kind":           {"the kind is named", "[{apiGroups: [''], kinds: [Endpoints]}]", "", home, endpoints, true},
		"OtherKind":      {"another kind is not", "[{apiGroups: [''], kinds: [EndpointSlice]}]", "", home, endpoints, false},
		"OtherGroup":     {"the kind of another group is not", "[{apiGroups: [discovery.k8s.io], kinds: [Endpoints]}]", "", home, endpoints, false},
		"AllKinds":       {"a group without kinds", "[{apiGroups: [tenants.example.test]}]", "", home, tenant, true},
		"GroupPattern":   {"patterns cross dots", "[{apiGroups: ['*.test'], kinds: ['*']}]", "", home, tenant, true},
		"KindPattern":    {"kinds may be patterns", "[{apiGroups: ['*'], kinds: ['End*']}]", "", home, endpoints, true},
		"AllGroups":      {"without groups it is the kind in any", "[{kinds: [Tenant]}]", "", home, tenant, true},
		"Cluster":        {"on this cluster", "[{kinds: [Tenant], clusters: ['https://kubernetes.*']}]", "", home, tenant, true},
		"OtherCluster":   {"not on another", "[{kinds: [Tenant], clusters: ['https://kubernetes.*']}]", "", "https://192.0.2.1", tenant, false},
		"Second":         {"any of them counts", "[{kinds: [X]}, {kinds: [Tenant]}]", "", home, tenant, true},
		"NotIncluded":    {"what is not included is out", "", "[{apiGroups: ['apps']}]", home, endpoints, true},
		"Included":       {"what is included is in", "", "[{apiGroups: ['']}]", home, endpoints, false},
		"IncludedButOut": {"an exclusion counts more", "[{kinds: [Endpoints]}]", "[{apiGroups: ['']}]", home, endpoints, true},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			s := settings.Parse(map[string]string{"resource.exclusions": tt.exclusions, "resource.inclusions": tt.inclusions})
			if len(s.Problems) > 0 {
				t.Fatal(s.Problems)
			}
			if got := s.Filter.Excludes(tt.server, tt.kind); got != tt.want {
				t.Errorf("%s: excluded = %t, want %t", tt.reason, got, tt.want)
			}
		})
	}
}

func TestASelectionThatCannotBeReadSelectsNothing(t *testing.T) {
	for _, text := range []string{"[{kinds: ['[']}]", "{kinds: [Tenant]}", "x"} {
		s := settings.Parse(map[string]string{"resource.exclusions": text})
		if len(s.Problems) != 1 || !strings.HasPrefix(s.Problems[0].String(), "resource.exclusions: ") {
			t.Errorf("%q: problems %v", text, s.Problems)
		}
		if s.Filter.Excludes("", schema.GroupKind{Kind: "Tenant"}) {
			t.Errorf("%q excludes what it does not name", text)
		}
	}
}
