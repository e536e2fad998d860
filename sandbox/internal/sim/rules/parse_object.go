// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import "go.yaml.in/yaml/v3"

func (d decoder) objectKeys(r *Rule, known map[string]field) {
	known["setStatus"] = list(d, &r.SetStatus, func(s *StatusAt) field {
		return d.at("setStatus", &s.At, map[string]field{"status": d.object(&s.Status)}, "status")
	})
	known["creates"] = list(d, &r.Creates, func(o *ObjectAt) field { return d.objectAt("creates", o) })
	known["updates"] = list(d, &r.Updates, func(o *ObjectAt) field { return d.objectAt("updates", o) })
	known["patches"] = list(d, &r.Patches, func(p *PatchAt) field {
		return d.at("patches", &p.At, map[string]field{
			"manager": d.nonEmpty(&p.Manager),
			"path":    d.nonEmpty(&p.Path),
			"value":   d.value(&p.Value),
		}, "path", "value")
	})
	known["addsFinalizer"] = d.nonEmpty(&r.AddsFinalizer)
	known["removesFinalizer"] = optional(&r.RemovesFinalizer, d.removesFinalizer)
	known["scales"] = list(d, &r.Scales, func(s *ScaleAt) field {
		return d.at("scales", &s.At, map[string]field{
			"target":   d.ref(&s.Target),
			"replicas": number(d, &s.Replicas, 0),
		}, "target", "replicas")
	})
	known["bindAfter"] = d.bindAfter(r)
	known["neverBind"] = func(n *yaml.Node) error {
		if r.Binding == nil {
			r.Binding = &Binding{}
		}
		return d.boolean(&r.Binding.Never)(n)
	}
	known["event"] = list(d, &r.Events, func(e *EventAt) field {
		e.Type = "Warning"
		return d.at("event", &e.At, map[string]field{
			"type":    d.nonEmpty(&e.Type),
			"reason":  d.nonEmpty(&e.Reason),
			"message": d.text(&e.Message),
		}, "reason")
	})
	known["then"] = optional(&r.Then, func(t *Then) field {
		return func(n *yaml.Node) error {
			return d.mapping(n, "then", map[string]field{
				"deleteObjectAfter": d.duration(&t.DeleteObjectAfter),
				"by":                d.nonEmpty(&t.By),
			})
		}
	})
	known["behaves"] = d.nonEmpty(&r.Behaves)
}

// list reads one element or many.
func list[T any](d decoder, into *[]T, read func(*T) field) field {
	return func(n *yaml.Node) error {
		*into = []T{}
		return d.sequence(n, func(n *yaml.Node) error {
			var item T
			if err := read(&item)(n); err != nil {
				return err
			}
			*into = append(*into, item)
			return nil
		})
	}
}

// objectAt reads the long form (object) or the short one (kind, name, labels, data or stringData).
func (d decoder) objectAt(what string, o *ObjectAt) field {
	return func(n *yaml.Node) error {
		var kind, name string
		var labels, data, stringData map[string]string
		err := d.at(what, &o.At, map[string]field{
			"object":     d.object(&o.Object),
			"kind":       d.nonEmpty(&kind),
			"name":       d.nonEmpty(&name),
			"labels":     d.texts(&labels),
			"data":       d.texts(&data),
			"stringData": d.texts(&stringData),
		})(n)
		switch {
		case err != nil:
			return err
		case o.Object != nil && (kind != "" || name != "" || labels != nil || data != nil || stringData != nil):
			return d.errorf(n, "%s takes object, or kind and name, not both", what)
		case o.Object != nil:
			return nil
		case kind == "" || name == "":
			return d.errorf(n, "%s needs kind and name, or object", what)
		}
		o.Object = shortForm(kind, name, labels, data, stringData)
		return nil
	}
}

func shortForm(kind, name string, labels, data, stringData map[string]string) map[string]any {
	metadata := map[string]any{"name": name}
	if labels != nil {
		metadata["labels"] = texts(labels)
	}
	object := map[string]any{"kind": kind, "metadata": metadata}
	if data != nil {
		object["data"] = texts(data)
	}
	if stringData != nil {
		object["stringData"] = texts(stringData)
	}
	return object
}

func texts(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}

func (d decoder) removesFinalizer(f *RemovesFinalizer) field {
	return func(n *yaml.Node) error {
		if err := d.mapping(n, "removesFinalizer", map[string]field{
			"name":  d.nonEmpty(&f.Name),
			"after": d.duration(&f.After),
			"while": d.refs(&f.While),
		}); err != nil {
			return err
		}
		if f.Name == "" {
			return d.errorf(n, "removesFinalizer needs a name")
		}
		return nil
	}
}

func (d decoder) bindAfter(r *Rule) field {
	return func(n *yaml.Node) error {
		if r.Binding == nil {
			r.Binding = &Binding{}
		}
		b := r.Binding
		if n.Kind != yaml.MappingNode {
			return d.duration(&b.After)(n)
		}
		b.FirstPodUsingIt = true
		return d.mapping(n, "bindAfter", map[string]field{"firstPodUsingIt": d.duration(&b.After)})
	}
}
