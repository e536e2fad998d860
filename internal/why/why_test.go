// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package why_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/why"
)

// TestDownToTheRoot follows a Job, over its Pod and the Secret that the Pod lacks,
// to the ExternalSecret that its operator cannot fetch.
func TestDownToTheRoot(t *testing.T) {
	t.Parallel()
	env := sandboxtest.Start(t, sandboxtest.Options{Own: true, RuleSets: []string{"external-secrets"}})
	namespace := env.Namespace(t)
	env.SetRules(t, `
rules:
  - match: {kind: ExternalSecret, name: db}
    behaves: none
    setStatus:
      - {status: {conditions: [{type: Ready, status: "False", reason: SecretSyncedError, message: "permission denied on path kv/db"}]}}
`)
	c, err := cluster.New(env.Config, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	objects, err := manifest.Decode("objects.yaml", []byte(strings.ReplaceAll(`
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: db, namespace: NS}
spec:
  secretStoreRef: {kind: ClusterSecretStore, name: vault}
  target: {name: db}
  data: [{secretKey: url, remoteRef: {key: db}}]
---
apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata: {name: vault}
spec: {provider: {vault: {server: "https://vault.example.com"}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: NS}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: registry.example.com/shop:1
          env: [{name: URL, valueFrom: {secretKeyRef: {name: db, key: url}}}]
`, "NS", namespace)))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if _, err := c.Create(t.Context(), o.DeepCopy(), cluster.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	explainer := why.Explainer{Cluster: c, Produced: why.Produced(objects)}
	var chain, seen []why.Link
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 90*time.Second, true, func(ctx context.Context) (bool, error) {
		var err error
		seen = chain
		chain, err = explainer.Explain(ctx, objects[2].Key())
		return len(chain) == 4 && chain[1].State == "CreateContainerConfigError" && chain[3].Reason != "", err
	})
	if err != nil {
		t.Fatalf("%v: the chain is %s", err, why.Text(seen))
	}
	want := []string{"Job/migrate", "Pod/migrate-", "Secret/db", "ExternalSecret/db"}
	for i, l := range chain {
		if !strings.HasPrefix(l.Object.Short(), want[i]) {
			t.Errorf("link %d is %s, want %s", i, l.Object.Short(), want[i])
		}
	}
	text := why.Text(chain)
	for _, want := range []string{"Job/migrate running ", ": its Pod/migrate-", `secret "db" not found: Secret/db missing: ExternalSecret/db not ready since `, "permission denied on path kv/db"} {
		if !strings.Contains(text, want) {
			t.Errorf("in words it lacks %q: %s", want, text)
		}
	}
	if got, want := why.Message(chain), `container main: CreateContainerConfigError: secret "db" not found: Secret/db missing: `+
		`ExternalSecret/db not ready: SecretSyncedError: permission denied on path kv/db`; got != want {
		t.Errorf("the message is\n%s\nwant\n%s", got, want)
	}
	if f := chain[2].Field; !strings.Contains(f, "secretKeyRef") {
		t.Errorf("the Secret is mentioned in %q", f)
	}
	// Who knows nothing of what an application renders finds the same.
	chain, err = why.Explainer{Cluster: c}.Explain(t.Context(), objects[2].Key())
	if err != nil || len(chain) != 4 {
		t.Errorf("without the application the chain is %s (%v)", why.Text(chain), err)
	}
}

func TestNobodyBringsIt(t *testing.T) {
	t.Parallel()
	env := sandboxtest.Start(t, sandboxtest.Options{})
	c, err := cluster.New(env.Config, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	key := manifest.Key{Kind: "Secret", Namespace: metav1.NamespaceDefault, Name: "nobody"}
	chain, err := why.Explainer{Cluster: c}.Explain(t.Context(), key)
	if err != nil || len(chain) != 1 || chain[0].State != "missing" || chain[0].Text != "Secret/nobody missing" {
		t.Errorf("the chain is %s (%v)", why.Text(chain), err)
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		message string
		want    []string
	}{
		{"PreSync wave -1 (1/3): waiting for completion of hook batch/Job/migrate: FailedCreate: serviceaccount \"m\" not found", []string{"batch/Job/ns/migrate"}},
		{"Sync wave 0 (1/2): waiting for healthy state of apps/Deployment/web and 2 more resources", []string{"apps/Deployment/ns/web"}},
		{"waiting for Secret/db of external-secrets.io/ExternalSecret/db, which Job/x needs", []string{"Secret/ns/db", "external-secrets.io/ExternalSecret/ns/db", "Job/ns/x"}},
		{
			"Sync wave 0 (1/1): waiting for postgresql.cnpg.io/Cluster/core in namespace databases, which Job/x needs and others bring: it does not exist yet",
			[]string{"postgresql.cnpg.io/Cluster/databases/core", "Job/ns/x"},
		},
		{"one or more tasks are running", nil},
	}
	for _, tt := range tests {
		var got []string
		for _, k := range why.Named(tt.message, "ns") {
			got = append(got, k.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q names %q, want %q", tt.message, got, tt.want)
		}
	}
}
