// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rules

// Object is what rules can see of an object.
type Object struct {
	Group, Kind, Namespace, Name string
	Generation                   int64
	// Occurrence is n for the n-th object of that kind, namespace and name.
	Occurrence   int
	Images       []string
	StorageClass string
}

// Owner is a workload above a Pod.
type Owner struct {
	Object
	// PodOccurrence is n for its n-th Pod.
	PodOccurrence int
}

// Pod is what rules can see of a Pod. Owners' Generation is the one that brought the Pod's template, and
// their images are those of the Pod.
type Pod struct {
	Object
	Owners []Owner
}

// List is rules in order of precedence.
type List []Rule

// matchesObject reports whether o itself is matched; a rule about Pods of an owner matches no other kind.
func (m *Match) matchesObject(o *Object) bool {
	return m.Owner == nil && m.matchesIdentity(o) &&
		(m.Occurrence == 0 || m.Occurrence == o.Occurrence) &&
		(m.Generation == 0 || m.Generation == o.Generation)
}

func (m *Match) matchesIdentity(o *Object) bool {
	if m.Kind != "" && m.Kind != o.Kind && m.Kind != o.Kind+"."+o.Group || m.Namespace != "" && m.Namespace != o.Namespace {
		return false
	}
	if m.Name != "" && !glob(m.Name, o.Name) {
		return false
	}
	if m.StorageClass != "" && m.StorageClass != o.StorageClass {
		return false
	}
	return m.Image == "" || matchesAnyImage(m.Image, o.Images)
}

func matchesAnyImage(pattern string, images []string) bool {
	for _, image := range images {
		if glob(pattern, image) {
			return true
		}
	}
	return false
}

// matchesPod reports whether a rule's effects on Pods reach p: it matches the Pod, or a workload above it.
func (m *Match) matchesPod(p *Pod) bool {
	if m.Owner == nil {
		if m.matchesObject(&p.Object) {
			return true
		}
		for i := range p.Owners {
			if m.matchesObject(&p.Owners[i].Object) {
				return true
			}
		}
		return false
	}
	if m.Kind != "" && m.Kind != "Pod" || !m.matchesPodOnly(p) {
		return false
	}
	for i := range p.Owners {
		o := &p.Owners[i]
		if o.Kind != m.Owner.Kind || !glob(m.Owner.Name, o.Name) {
			continue
		}
		if (m.Generation == 0 || m.Generation == o.Generation) &&
			(m.Occurrence == 0 || m.Occurrence == o.PodOccurrence) {
			return true
		}
	}
	return false
}

// matchesPodOnly is matchesIdentity for a match that has an owner.
func (m *Match) matchesPodOnly(p *Pod) bool {
	pod := *m
	pod.Kind = ""
	return pod.matchesIdentity(&p.Object)
}

// ForPod returns the rules with effects on Pods, merged for p: for each effect the first rule that matches
// and has it.
func (l List) ForPod(p *Pod) *Rule {
	var out Rule
	for i := range l {
		r := &l[i]
		if !r.Match.matchesPod(p) {
			continue
		}
		if out.Needs == nil {
			out.Needs = r.Needs
		}
		out.NeedsKeys = out.NeedsKeys || r.NeedsKeys
		if out.NeedsCompleted == nil {
			out.NeedsCompleted = r.NeedsCompleted
		}
		if out.NeedsBound == nil {
			out.NeedsBound = r.NeedsBound
		}
		if out.Outcome == nil {
			out.Outcome = r.Outcome
		}
		if out.InitTakes == nil {
			out.InitTakes = r.InitTakes
		}
		if out.DeletionTakes == nil {
			out.DeletionTakes = r.DeletionTakes
		}
		if out.Logs == "" {
			out.Logs = r.Logs
		}
		if out.AddsNodes == nil && r.AddsNodes != nil {
			out.AddsNodes, out.Source = r.AddsNodes, r.Source
		}
	}
	return &out
}

// ForObject returns the rules with effects on objects, merged for o. Shipped rules have a say only when no
// rule of l acts on o.
func (l List) ForObject(o *Object, shipped List) *Rule {
	out, acts := l.merge(func(m *Match) bool { return m.matchesObject(o) })
	if acts {
		return out
	}
	other, _ := shipped.merge(func(m *Match) bool { return m.matchesObject(o) })
	other.Binding, other.Outcome = out.Binding, out.Outcome
	other.Needs, other.NeedsCompleted = out.Needs, out.NeedsCompleted
	return other
}

// ForPodObject is ForObject for a Pod as an object, which may be matched by its owner as well.
func (l List) ForPodObject(p *Pod) *Rule {
	out, _ := l.merge(func(m *Match) bool { return m.objectKind() == "Pod" && m.matchesPod(p) })
	return out
}

// merge returns the effects on objects of the rules that match, and whether any acts on the object itself.
func (l List) merge(matches func(*Match) bool) (*Rule, bool) {
	var out Rule
	acts := false
	for i := range l {
		r := &l[i]
		if !matches(&r.Match) {
			continue
		}
		acts = acts || r.HasObjectEffect()
		out.fillObjectEffects(r)
	}
	return &out, acts
}

func (r *Rule) fillObjectEffects(from *Rule) {
	if r.SetStatus == nil {
		r.SetStatus = from.SetStatus
	}
	if r.Creates == nil {
		r.Creates = from.Creates
	}
	if r.Updates == nil {
		r.Updates = from.Updates
	}
	if r.Patches == nil {
		r.Patches = from.Patches
	}
	if r.AddsFinalizer == "" {
		r.AddsFinalizer = from.AddsFinalizer
	}
	if r.RemovesFinalizer == nil {
		r.RemovesFinalizer = from.RemovesFinalizer
	}
	if r.Scales == nil {
		r.Scales = from.Scales
	}
	if r.Binding == nil {
		r.Binding = from.Binding
	}
	if r.Events == nil {
		r.Events = from.Events
	}
	if r.Then == nil {
		r.Then = from.Then
	}
	if r.Behaves == "" {
		r.Behaves = from.Behaves
	}
	if r.Outcome == nil {
		r.Outcome = from.Outcome
	}
	if r.Needs == nil {
		r.Needs = from.Needs
	}
	if r.NeedsCompleted == nil {
		r.NeedsCompleted = from.NeedsCompleted
	}
}
