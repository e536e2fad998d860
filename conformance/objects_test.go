// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/jsonpath"
)

// ref reads the name of an object: Kind/name in the target namespace or
// cluster-scoped, Kind/namespace/name elsewhere. Applications and projects are
// named as in the scenario's files.
func (w *world) ref(text string) (ref, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return ref{}, fmt.Errorf("%q is not Kind/name or Kind/namespace/name", text)
	}
	r := ref{namespace: w.target, name: parts[len(parts)-1]}
	r.kind, r.group, _ = strings.Cut(parts[0], ".")
	if len(parts) == 3 {
		r.namespace = parts[1]
	}
	if r.kind == "Application" || r.kind == "AppProject" {
		r.name = w.unique(r.name)
		if len(parts) == 2 {
			r.namespace = w.controller.namespace
		}
	}
	return r, nil
}

// resource returns the client of an object's kind and namespace.
func (w *world) resource(r ref) (dynamic.ResourceInterface, error) {
	gvr := schema.GroupVersionResource{Group: r.group, Resource: strings.ToLower(r.kind)}
	kind, err := w.mapper.KindFor(gvr)
	if meta.IsNoMatchError(err) {
		// It may be served since the mapper looked.
		w.mapper.Reset()
		kind, err = w.mapper.KindFor(gvr)
	}
	if err != nil {
		return nil, err
	}
	mapping, err := w.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return w.dynamic.Resource(mapping.Resource).Namespace(r.namespace), nil
	}
	return w.dynamic.Resource(mapping.Resource), nil
}

// get reads an object.
func (w *world) get(ctx context.Context, r ref) (*unstructured.Unstructured, error) {
	resource, err := w.resource(r)
	if err != nil {
		return nil, err
	}
	return resource.Get(ctx, r.name, metav1.GetOptions{})
}

// patchObject merges a change into an object, in the name of a person.
func (w *world) patchObject(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string, change map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	return w.dynamic.Resource(gvr).Namespace(namespace).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: person})
}

// condition is "left OP right" with one of the operators = != ~ !~, the latter
// two for regular expressions.
type condition struct {
	left, operator, right string
}

func parseCondition(text string) (condition, error) {
	parts := regexp.MustCompile(`^(.+?)(!=|!~|=|~)((?s).*)$`).FindStringSubmatch(text)
	if parts == nil {
		return condition{}, fmt.Errorf("%q is none of a=b, a!=b, a~regexp, a!~regexp", text)
	}
	c := condition{parts[1], parts[2], parts[3]}
	if strings.HasSuffix(c.operator, "~") {
		if _, err := regexp.Compile(c.right); err != nil {
			return condition{}, err
		}
	}
	return c, nil
}

func (c condition) holds(value string) bool {
	switch c.operator {
	case "=":
		return value == c.right
	case "!=":
		return value != c.right
	case "~":
		return regexp.MustCompile(c.right).MatchString(value)
	default:
		return !regexp.MustCompile(c.right).MatchString(value)
	}
}

// field evaluates a JSONPath such as .spec.replicas; what is not there is empty.
func field(obj *unstructured.Unstructured, path string) (string, error) {
	j := jsonpath.New(path).AllowMissingKeys(true)
	if err := j.Parse("{" + path + "}"); err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := j.Execute(&out, obj.Object); err != nil {
		return "", err
	}
	return out.String(), nil
}
