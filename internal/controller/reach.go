// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// maxBeyond bounds how many objects are named that cannot be seen.
const maxBeyond = 5

// readReach reads the keys of a cluster's Secret that say which part of the
// cluster it is for: namespaces, in order and with commas between, and whether
// kinds that lie in none are part of it.
func readReach(data map[string][]byte) (namespaces string, clusterScoped bool) {
	var list []string
	for name := range strings.SplitSeq(string(data["namespaces"]), ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ","), strings.TrimSpace(string(data["clusterResources"])) == "true"
}

// reach is what the cluster was registered for.
func (r registration) reach() cluster.Reach {
	if r.namespaces == "" {
		return cluster.Reach{}
	}
	return cluster.Reach{Namespaces: strings.Split(r.namespaces, ","), ClusterScoped: r.clusterScoped}
}

// beyondReach names the objects of a plan that cannot be seen on the destination:
// those that its registration leaves out, and those of kinds that may not be read
// there. Whatever is compared with them would be wrong.
func (s *session) beyondReach(p *plan.Plan) error {
	var faults []error
	said := map[string]bool{}
	for _, g := range p.Groups {
		for _, step := range g.Steps {
			err := s.dest.Beyond(step.Key)
			if err == nil || said[err.Error()] {
				continue
			}
			said[err.Error()] = true
			faults = append(faults, err)
		}
	}
	if more := len(faults) - maxBeyond; more > 0 {
		faults = append(faults[:maxBeyond], fmt.Errorf("and %d more", more))
	}
	return errors.Join(faults...)
}

// seesNamespaces tells whether the namespaces of the destination themselves can be
// seen and made. If not, those that it is registered for are taken to exist.
func (s *session) seesNamespaces() bool {
	reach := s.dest.Reach()
	return !reach.Bounded() || reach.ClusterScoped
}

// namespaceWarning says that what the Application wants of its namespace is left
// out.
func (s *session) namespaceWarning() (v1alpha1.ApplicationCondition, bool) {
	policy := s.app.Spec.SyncPolicy
	if s.dest == nil || s.seesNamespaces() || policy == nil || policy.ManagedNamespaceMetadata == nil || !manifest.ParseOptions(s.app.Spec.SyncOptionList()...).Has("CreateNamespace=true") {
		return v1alpha1.ApplicationCondition{}, false
	}
	return v1alpha1.ApplicationCondition{
		Type:    v1alpha1.ConditionSyncOptionWarning,
		Message: fmt.Sprintf(`managedNamespaceMetadata has no effect: cluster %s is registered for namespaces alone (set clusterResources: "true" in its Secret)`, s.dest.Server),
	}, true
}

// refused tells of a kind that may not be read on a cluster, once, and has the
// Applications looked at that are delivered there: what is known of its objects is
// out of date.
func (a *applications) refused(server string, r cluster.Refusal) {
	if r.Err == nil {
		a.opts.Log.Info(r.String(), "cluster", server)
		return
	}
	a.opts.Log.Error(r.Err, r.String(), "cluster", server)
	a.mu.Lock()
	var names []types.NamespacedName
	for name, st := range a.states {
		if seen := st.settled.Load(); seen != nil && seen.dest.Server == server {
			names = append(names, name)
		}
	}
	a.mu.Unlock()
	a.wakeups.add(names...)
}
