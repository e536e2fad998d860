// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// otherKinds is the rank of every kind without one of its own.
const otherKinds = 36

// kindRank returns the place of a kind in a group. The group of the API does not
// count.
func kindRank(kind string) int {
	switch kind {
	case "Namespace":
		return 1
	case "NetworkPolicy":
		return 2
	case "ResourceQuota":
		return 3
	case "LimitRange":
		return 4
	case "PodSecurityPolicy":
		return 5
	case "PodDisruptionBudget":
		return 6
	case "ServiceAccount":
		return 7
	case "Secret":
		return 8
	case "SecretList":
		return 9
	case "ConfigMap":
		return 10
	case "StorageClass":
		return 11
	case "PersistentVolume":
		return 12
	case "PersistentVolumeClaim":
		return 13
	case "CustomResourceDefinition":
		return 14
	default:
		return kindRankAfterDefinitions(kind)
	}
}

func kindRankAfterDefinitions(kind string) int {
	switch kind {
	case "ClusterRole":
		return 15
	case "ClusterRoleList":
		return 16
	case "ClusterRoleBinding":
		return 17
	case "ClusterRoleBindingList":
		return 18
	case "Role":
		return 19
	case "RoleList":
		return 20
	case "RoleBinding":
		return 21
	case "RoleBindingList":
		return 22
	case "Service":
		return 23
	case "DaemonSet":
		return 24
	case "Pod":
		return 25
	case "ReplicationController":
		return 26
	case "ReplicaSet":
		return 27
	case "Deployment":
		return 28
	case "HorizontalPodAutoscaler":
		return 29
	case "StatefulSet":
		return 30
	case "Job":
		return 31
	case "CronJob":
		return 32
	case "IngressClass":
		return 33
	case "Ingress":
		return 34
	case "APIService":
		return 35
	default:
		return otherKinds
	}
}

// lift moves Namespaces, then CustomResourceDefinitions, in front of the first
// step that cannot do without them, into its phase and wave. Steps that prune
// take no part.
func (b *builder) lift() {
	b.liftNamespaces()
	b.liftDefinitions()
}

// liftNamespaces takes a cluster-scoped object as one of the destination
// namespace, as Argo CD does.
func (b *builder) liftNamespaces() {
	slices.SortFunc(b.steps, comparePlaced)
	first := map[string]*placed{}
	for _, s := range b.steps {
		if s.Action.deletes() {
			continue
		}
		namespace := s.Key.Namespace
		if namespace == "" {
			namespace = b.in.Namespace
		}
		if isNamespace(s.Key) && s.Key.Name == namespace {
			continue
		}
		if first[namespace] == nil {
			first[namespace] = s
		}
	}
	lifted := map[string]bool{}
	for _, s := range b.steps {
		if s.Action.deletes() || !isNamespace(s.Key) || lifted[s.Key.Name] {
			continue
		}
		lifted[s.Key.Name] = true
		if user := first[s.Key.Name]; user != nil {
			b.move(s, user)
		}
	}
}

// liftDefinitions also keeps a definition in front of its objects inside one
// group, where a kind may have a lower rank than definitions have.
func (b *builder) liftDefinitions() {
	slices.SortFunc(b.steps, comparePlaced)
	first := map[schema.GroupKind]*placed{}
	for _, s := range b.steps {
		if gk := s.Key.GroupKind(); !s.Action.deletes() && first[gk] == nil {
			first[gk] = s
		}
	}
	lifted := map[schema.GroupKind]bool{}
	for _, s := range b.steps {
		if s.Action.deletes() {
			continue
		}
		gk, ok := manifest.DefinesKind(s.Object.Unstructured)
		if !ok || lifted[gk] {
			continue
		}
		lifted[gk] = true
		user := first[gk]
		if user == nil {
			continue
		}
		b.move(s, user)
		if comparePlace(s, user) == 0 && user.rank <= s.rank {
			s.rank, s.before = user.rank, true
		}
	}
}

// move brings s into the group of user if that one comes earlier.
func (b *builder) move(s, user *placed) {
	if comparePlace(user, s) >= 0 {
		return
	}
	from, to := groupName(s.phase, s.wave), groupName(user.phase, user.wave)
	s.phase, s.wave = user.phase, user.wave
	if s.Untracked {
		return
	}
	s.Reason = fmt.Sprintf("moved from %s: %s needs it", from, user.Key.Short())
	b.plan.Moved = append(b.plan.Moved, Move{Key: s.Key, From: from, To: to, Because: user.Key})
}

func isNamespace(k manifest.Key) bool { return k.Group == "" && k.Kind == "Namespace" }

// groupName writes a place as people do: "Sync/-1".
func groupName(phase manifest.Phase, wave int) string {
	return string(phase) + "/" + strconv.Itoa(wave)
}

// stepID returns the id of a step; taken counts those that were given.
func stepID(s *placed, taken map[string]int) string {
	key := s.Key
	if key.Name == "" {
		key.Name = s.Object.GetGenerateName() + "*"
	}
	var id strings.Builder
	id.WriteString(groupName(s.phase, s.wave))
	id.WriteByte('/')
	id.WriteString(key.String())
	taken[id.String()]++
	if n := taken[id.String()]; n > 1 {
		id.WriteString("#" + strconv.Itoa(n))
	}
	return id.String()
}
