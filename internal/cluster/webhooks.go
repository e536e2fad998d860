// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/wavetrain/wavetrain/internal/manifest"
)

// webhook is an admission webhook, or a policy in its place.
type webhook struct {
	// must is true if a Service serves it, and nothing is written without its
	// agreement.
	must               bool
	service            manifest.Key
	rules              []admissionv1.RuleWithOperations
	namespaces, labels labels.Selector
}

// WatchWebhooks has the configuration of admission webhooks watched, for Guards.
// Where that is not allowed, none are known.
func (c *Cluster) WatchWebhooks(ctx context.Context) {
	_ = c.Watch(ctx, webhookKinds()...)
}

func webhookKinds() []schema.GroupKind { return AdmissionKinds()[:2] }

// Guards returns the Services whose admission webhooks have to agree to an object,
// as far as can be told from their rules and selectors: conditions of a webhook are
// not evaluated. An object of a namespace that does not exist yet is taken to be
// selected.
func (c *Cluster) Guards(key manifest.Key, obj *unstructured.Unstructured) []manifest.Key {
	hooks := c.asked().must
	if len(hooks) == 0 {
		return nil
	}
	res, known := c.catalog.lookup(key.GroupKind().WithVersion(""))
	if !known {
		return nil
	}
	var services []manifest.Key
	for _, hook := range hooks {
		if hook.covers(res) && hook.labels.Matches(labels.Set(obj.GetLabels())) && c.selects(hook, key, obj) {
			services = append(services, hook.service)
		}
	}
	return services
}

// asked is whom the API server asks of a write.
type asked struct {
	// must are the webhooks without whose agreement nothing is written.
	must []webhook
	// may are those that may change what is written, and policies that may.
	may []webhook
}

// mutates reports whether something may change what is written of a kind.
func (a asked) mutates(res Resource) bool {
	return slices.ContainsFunc(a.may, func(w webhook) bool { return w.covers(res) })
}

// asked reads the configuration once and again after it has changed.
func (c *Cluster) asked() asked {
	c.accepted.mu.Lock()
	known, read, changes := c.accepted.asked, c.accepted.read, c.accepted.changes
	c.accepted.mu.Unlock()
	if read {
		return known
	}
	known = asked{}
	for _, gk := range webhookKinds() {
		for _, u := range c.List(gk) {
			all := readWebhooks(u)
			if gk.Kind == "MutatingWebhookConfiguration" {
				known.may = append(known.may, all...)
			}
			known.must = append(known.must, slices.DeleteFunc(slices.Clone(all), func(w webhook) bool { return !w.must })...)
		}
	}
	for _, u := range c.List(schema.GroupKind{Group: admissionv1.GroupName, Kind: "MutatingAdmissionPolicy"}) {
		known.may = append(known.may, readPolicy(u))
	}
	c.accepted.mu.Lock()
	defer c.accepted.mu.Unlock()
	if c.accepted.changes == changes {
		c.accepted.asked, c.accepted.read = known, true
	}
	return known
}

// readWebhooks returns the webhooks of a configuration. Both kinds of configuration
// agree in what is read of them.
func readWebhooks(u *unstructured.Unstructured) []webhook {
	var config admissionv1.ValidatingWebhookConfiguration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &config); err != nil {
		return nil
	}
	hooks := make([]webhook, len(config.Webhooks))
	for i, w := range config.Webhooks {
		hooks[i] = webhook{rules: w.Rules, namespaces: selector(w.NamespaceSelector), labels: selector(w.ObjectSelector)}
		if service := w.ClientConfig.Service; service != nil {
			hooks[i].service = manifest.Key{Kind: "Service", Namespace: service.Namespace, Name: service.Name}
			hooks[i].must = ptr.Deref(w.FailurePolicy, admissionv1.Fail) == admissionv1.Fail
		}
	}
	return hooks
}

// readPolicy reads which kinds a policy is about. What binds it can only leave some
// of them out.
func readPolicy(u *unstructured.Unstructured) (w webhook) {
	var policy admissionv1.MutatingAdmissionPolicy
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &policy)
	if err != nil || policy.Spec.MatchConstraints == nil {
		all := []string{"*"}
		return webhook{rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.OperationAll}, Rule: admissionv1.Rule{APIGroups: all, Resources: []string{"*/*"}},
		}}}
	}
	for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
		w.rules = append(w.rules, rule.RuleWithOperations)
	}
	return w
}

// selector reads a selector; one that is not given selects everything.
func selector(s *metav1.LabelSelector) labels.Selector {
	if s == nil {
		return labels.Everything()
	}
	read, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return read
}

// covers reports whether a rule is about the kind, in whatever version: a webhook is
// asked about equivalent ones, too.
func (w webhook) covers(res Resource) bool {
	scope := admissionv1.ClusterScope
	if res.Namespaced {
		scope = admissionv1.NamespacedScope
	}
	return slices.ContainsFunc(w.rules, func(r admissionv1.RuleWithOperations) bool {
		named := func(list []string, name string) bool {
			return slices.Contains(list, "*") || slices.Contains(list, name)
		}
		writes := slices.ContainsFunc(r.Operations, func(o admissionv1.OperationType) bool {
			return o == admissionv1.OperationAll || o == admissionv1.Create || o == admissionv1.Update
		})
		of := ptr.Deref(r.Scope, admissionv1.AllScopes)
		return writes && named(r.APIGroups, res.GVR.Group) && (of == admissionv1.AllScopes || of == scope) &&
			(named(r.Resources, res.GVR.Resource) || slices.Contains(r.Resources, "*/*"))
	})
}

// selects reports whether the webhook's selector of namespaces lets the object in.
func (c *Cluster) selects(w webhook, key manifest.Key, obj *unstructured.Unstructured) bool {
	switch {
	case key.GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		return w.namespaces.Matches(labels.Set(obj.GetLabels()))
	case key.Namespace == "":
		return true
	}
	namespace, exists := c.Get(manifest.Key{Kind: "Namespace", Name: key.Namespace})
	return !exists || w.namespaces.Matches(labels.Set(namespace.GetLabels()))
}
