// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/plan"
	"github.com/wavetrain/wavetrain/internal/verify"
)

// What verify calls an error of the type of a value is one: the API server refuses it
// however it is sent, by us or as it is written by anybody else, and what it takes is no
// finding. YAML without quotes decides what is a number: also "0123…" with an 8 or a 9 in
// it, which is no octal number, but one with an exponent.
func TestWhatVerifyCallsInvalidIsRefused(t *testing.T) {
	b := newBench(t)
	for value, refused := range map[string]bool{
		"01234567890123456789012345678901":   true,
		"'01234567890123456789012345678901'": false,
		"0123":                               true,
		"08":                                 true,
		"1e3":                                true,
		"yes":                                true,
		"12:30:45":                           false,
		"1.2.3":                              false,
		"null":                               false,
		"[a]":                                true,
		"{a: b}":                             true,
	} {
		for _, field := range []string{"stringData", "data"} {
			kind := map[string]string{"stringData": "Secret", "data": "ConfigMap"}[field]
			text := fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: typed}\n%s: {key: %s}\n", kind, field, value)
			objects, err := manifest.Decode("typed.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			found := verify.Run(verify.Input{Plan: plan.Build(plan.Input{App: "shop", Namespace: b.namespace, Objects: objects})})
			if got := slices.ContainsFunc(found, func(f verify.Finding) bool { return f.Code == "invalid-schema" }); got != refused {
				t.Errorf("%s %s: verify finds an invalid value: %v, want %v (%+v)", kind, value, got, refused, found)
			}
			u := objects[0].DeepCopy()
			u.SetNamespace(b.namespace)
			for how, o := range map[string]ApplyOptions{"server-side": {DryRun: true}, "client-side": {DryRun: true, Method: ClientSide}} {
				if _, err := b.Apply(b.ctx(), u, o); (err != nil) != refused {
					t.Errorf("%s %s, applied %s: %v, refused is to be %v", kind, value, how, err, refused)
				}
			}
			if _, err := b.Create(b.ctx(), u, ApplyOptions{DryRun: true}); (err != nil) != refused {
				t.Errorf("%s %s, created: %v, refused is to be %v", kind, value, err, refused)
			}
			if code, answer := b.post(kind, text); (code != http.StatusCreated) != refused {
				t.Errorf("%s %s, sent as it is written: %d %s, refused is to be %v", kind, value, code, answer, refused)
			}
		}
	}
}

// post sends YAML to the API server as it is, without having anything stored.
func (b *bench) post(kind, text string) (code int, answer string) {
	b.t.Helper()
	client, err := rest.HTTPClientFor(b.env.Config)
	if err != nil {
		b.t.Fatal(err)
	}
	resource := map[string]string{"Secret": "secrets", "ConfigMap": "configmaps"}[kind]
	url := b.env.Config.Host + "/api/v1/namespaces/" + b.namespace + "/" + resource + "?dryRun=All"
	req, err := http.NewRequestWithContext(b.ctx(), http.MethodPost, url, bytes.NewReader([]byte(text)))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/yaml")
	resp, err := client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
