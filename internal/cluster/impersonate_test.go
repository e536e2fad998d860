// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

func TestWritesAsSomebodyElse(t *testing.T) {
	b := newBench(t)
	b.watch(configMaps())
	user := "system:serviceaccount:" + b.namespace + ":default"
	other := b.As(user)
	obj := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")
	// That we may do it says nothing about somebody else.
	if err := b.Try(b.ctx(), obj, false, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"try":             other.Try(b.ctx(), obj, false, ApplyOptions{}),
		"try to create":   other.Try(b.ctx(), obj, true, ApplyOptions{}),
		"apply":           second(other.Apply(b.ctx(), obj, ApplyOptions{})),
		"apply otherwise": second(other.Apply(b.ctx(), obj, ApplyOptions{Method: ClientSide})),
		"create":          second(other.Create(b.ctx(), obj, ApplyOptions{})),
		"delete":          other.Delete(b.ctx(), b.key("ConfigMap", "c"), DeleteOptions{}),
	} {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), user) {
			t.Errorf("%s: %v, want that %s must not", what, err, user)
		}
	}
	for _, text := range []string{
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [{apiGroups: [''], resources: [configmaps], verbs: [create, patch, delete]}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: default, namespace: " + b.namespace + "}]}",
	} {
		b.apply(b.object(text))
	}
	b.eventually("the role is in force", func() bool { return other.Try(b.ctx(), obj, false, ApplyOptions{}) == nil })
	if _, err := other.Apply(b.ctx(), obj, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	// The account may not read; what it wrote is read all the same.
	if _, ok := other.Get(b.key("ConfigMap", "c")); !ok {
		t.Error("what was written is not in the cache")
	}
	if _, err := other.Fetch(b.ctx(), b.key("ConfigMap", "c"), "v1"); err != nil {
		t.Errorf("reading became somebody else's: %v", err)
	}
	if err := other.Delete(b.ctx(), b.key("ConfigMap", "c"), DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// A connection that impersonates somebody itself writes as who is asked for, with
// none of the groups of the other.
func TestSomebodyElseTakesThePlaceOfTheConnectionsOwn(t *testing.T) {
	b := newBench(t)
	cfg := rest.CopyConfig(b.env.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "jane", Groups: []string{"system:masters"}}
	c := open(t, cfg)
	obj := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")
	if _, err := c.Apply(b.ctx(), obj, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.As("joe").Apply(b.ctx(), obj, ApplyOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"joe"`) {
		t.Errorf("joe writes with what jane may do: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
