// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"testing"
)

func TestExternalSecret(t *testing.T) {
	with := func(spec, status string) string {
		return "{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: frontend, generation: 3}, spec: {" + spec + "}, status: {" + status + "}}"
	}
	ready := `conditions: [{type: Ready, status: "True", reason: SecretSynced, message: secret synced}]`
	run(t, map[string]verdict{
		"new":                {reason: "the operator has not seen it", object: with("", ""), want: Progressing, because: "ConditionAbsent"},
		"synced":             {reason: "the present generation was processed", object: with("refreshInterval: 1h", ready+", syncedResourceVersion: 3-9f2c"), want: Healthy, because: "SecretSynced"},
		"synced before":      {reason: "Ready is about the former keys", object: with("refreshInterval: 1h", ready+", syncedResourceVersion: 2-9f2c"), want: Progressing, because: "GenerationNotObserved", says: "generation 2 is the last"},
		"says no generation": {reason: "an operator that reports none is trusted", object: with("", ready), want: Healthy},
		"created once":       {reason: "a change is never processed, waiting for it would be in vain", object: with("refreshPolicy: CreatedOnce", ready+", syncedResourceVersion: 1-9f2c"), want: Healthy},
		"never refreshed":    {reason: "interval 0 means the same", object: with("refreshInterval: 0s", ready+", syncedResourceVersion: 1-9f2c"), want: Healthy},
		"on change":          {reason: "this policy does process changes, whatever the interval", object: with("refreshPolicy: OnChange, refreshInterval: 0s", ready+", syncedResourceVersion: 1-9f2c"), want: Progressing},
		"refused": {
			reason: "the store's answer is what people need",
			object: with("", `conditions: [{type: Ready, status: "False", reason: SecretSyncedError, message: 'could not get secret data from provider: Code: 403. Errors: permission denied'}], syncedResourceVersion: 2-9f2c`),
			want:   Degraded, because: "SecretSyncedError", says: "403",
		},
	})
}

func TestSecretStoresAndPushes(t *testing.T) {
	with := func(kind, conditions, more string) string {
		return "{apiVersion: external-secrets.io/v1, kind: " + kind + ", metadata: {name: vault, generation: 2}, status: {conditions: [" + conditions + "]" + more + "}}"
	}
	valid := `{type: Ready, status: "True", reason: Valid, message: store validated}`
	invalid := `{type: Ready, status: "False", reason: InvalidProviderConfig, message: unable to log in}`
	run(t, map[string]verdict{
		"store, new":               {reason: "not validated", object: with("SecretStore", "", ""), want: Progressing},
		"store":                    {reason: "the login worked", object: with("SecretStore", valid, ""), want: Healthy, says: "store validated"},
		"store, refused":           {reason: "the login did not work", object: with("SecretStore", invalid, ""), want: Degraded, says: "unable to log in"},
		"cluster store":            {reason: "it is judged like a store", object: with("ClusterSecretStore", valid, ""), want: Healthy},
		"cluster store, refused":   {reason: "it is judged like a store", object: with("ClusterSecretStore", invalid, ""), want: Degraded},
		"push":                     {reason: "written", object: with("PushSecret", `{type: Ready, status: "True", reason: Synced}`, ", syncedResourceVersion: 2-ab"), want: Healthy},
		"push, of before":          {reason: "the former content was written", object: with("PushSecret", `{type: Ready, status: "True", reason: Synced}`, ", syncedResourceVersion: 1-ab"), want: Progressing},
		"everywhere":               {reason: "each namespace has its secret", object: with("ClusterExternalSecret", `{type: Ready, status: "True"}`, ""), want: Healthy},
		"not everywhere":           {reason: "the condition added last counts", object: with("ClusterExternalSecret", `{type: Ready, status: "True"}, {type: PartiallyReady, status: "True", message: one or more namespaces failed}`, ""), want: Degraded, says: "namespaces failed"},
		"everywhere again":         {reason: "the condition added last counts", object: with("ClusterExternalSecret", `{type: NotReady, status: "True"}, {type: Ready, status: "True"}`, ""), want: Healthy},
		"everywhere, new":          {reason: "nothing is reported", object: with("ClusterExternalSecret", "", ""), want: Progressing},
		"a generator has no state": {reason: "other kinds of the group say nothing", object: "{apiVersion: generators.external-secrets.io/v1alpha1, kind: Password, metadata: {name: p}}", want: ""},
	})
}

func TestCertManager(t *testing.T) {
	with := func(kind, conditions string) string {
		return "{apiVersion: cert-manager.io/v1, kind: " + kind + ", metadata: {name: shop, generation: 2}, status: {conditions: [" + conditions + "]}}"
	}
	run(t, map[string]verdict{
		"new":      {reason: "nothing is reported", object: with("Certificate", ""), want: Progressing},
		"valid":    {reason: "the certificate is there", object: with("Certificate", `{type: Ready, status: "True", observedGeneration: 2, reason: Ready, message: Certificate is up to date and has not expired}`), want: Healthy, says: "up to date"},
		"of names": {reason: "it is valid for the former names", object: with("Certificate", `{type: Ready, status: "True", observedGeneration: 1, reason: Ready}`), want: Progressing, because: "GenerationNotObserved"},
		"issuing": {
			reason: "Ready is False only because there is none yet",
			object: with("Certificate", `{type: Ready, status: "False", reason: DoesNotExist, message: Secret does not exist}, {type: Issuing, status: "True", reason: DoesNotExist, message: Issuing certificate as Secret does not exist}`),
			want:   Progressing, says: "Issuing certificate",
		},
		"refused": {
			reason: "the grounds are on the other condition",
			object: with("Certificate", `{type: Ready, status: "False", reason: DoesNotExist, message: Secret does not exist}, {type: Issuing, status: "False", reason: Failed, message: 'The certificate request has failed: acme: rate limited'}`),
			want:   Degraded, because: "Failed", says: "acme: rate limited",
		},
		"request":         {reason: "the issuer has not answered", object: with("CertificateRequest", `{type: Ready, status: "False", reason: Pending}`), want: Progressing},
		"request, denied": {reason: "somebody said no", object: with("CertificateRequest", `{type: Denied, status: "True", reason: policy, message: not allowed here}, {type: Ready, status: "False", reason: Denied}`), want: Degraded, says: "not allowed"},
		"issuer":          {reason: "it can sign", object: with("Issuer", `{type: Ready, status: "True", reason: ACMEAccountRegistered}`), want: Healthy},
		"issuer, refused": {reason: "it cannot", object: with("ClusterIssuer", `{type: Ready, status: "False", reason: ErrRegisterACMEAccount, message: no such host}`), want: Degraded, says: "no such host"},
		"issuer, new":     {reason: "nothing is reported", object: with("ClusterIssuer", ""), want: Progressing},
	})
}

func TestCNPG(t *testing.T) {
	with := func(annotations, status string) string {
		return "{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: core-pg, generation: 1, annotations: {" + annotations + "}}, status: {" + status + "}}"
	}
	database := func(status string) string {
		return "{apiVersion: postgresql.cnpg.io/v1, kind: Database, metadata: {name: orders, generation: 2}, status: {" + status + "}}"
	}
	ready := `conditions: [{type: Ready, status: "True", reason: ClusterIsReady, message: Cluster is Ready}]`
	run(t, map[string]verdict{
		"new":               {reason: "the operator has not seen it", object: with("", ""), want: Progressing, because: "NoStatus"},
		"first instance":    {reason: "it is being set up", object: with("", `phase: Setting up primary, phaseReason: Creating primary instance core-pg-1`), want: Progressing, says: "Creating primary instance"},
		"ready by phase":    {reason: "the phase says so", object: with("", "phase: Cluster in healthy state"), want: Healthy},
		"ready":             {reason: "phase and condition agree", object: with("", "phase: Cluster in healthy state, "+ready), want: Healthy, because: "ClusterIsReady"},
		"ready, no phase":   {reason: "the condition is enough", object: with("", ready), want: Healthy},
		"phase too early":   {reason: "an instance is not ready though the phase is", object: with("", `phase: Cluster in healthy state, conditions: [{type: Ready, status: "False", reason: ClusterIsNotReady, message: Cluster Is Not Ready}]`), want: Progressing, because: "ClusterIsNotReady"},
		"fails over":        {reason: "the operator is at work and needs nobody", object: with("", "phase: Failing over, "+ready), want: Progressing, says: "Failing over"},
		"a new phase":       {reason: "a phase nobody knows is work in progress", object: with("", "phase: Polishing the elephant"), want: Progressing},
		"waits for someone": {reason: "it will not go on by itself", object: with("", "phase: Waiting for user action, phaseReason: User must issue a supervised switchover"), want: Degraded, says: "supervised switchover"},
		"full":              {reason: "it will not go on by itself", object: with("", "phase: Not enough disk space"), want: Degraded},
		"switched off":      {reason: "its owner did that", object: with(`cnpg.io/hibernation: "on"`, `conditions: [{type: cnpg.io/hibernation, status: "True", reason: Hibernated, message: Cluster has been hibernated}]`), want: Suspended, says: "hibernated"},
		"going off":         {reason: "its Pods are still being stopped", object: with(`cnpg.io/hibernation: "on"`, "phase: Cluster in healthy state"), want: Progressing},
		"hands off":         {reason: "the operator was told to leave it", object: with("cnpg.io/reconciliationLoop: disabled", ready), want: Suspended},

		"backup":         {reason: "it can be restored", object: strings.Replace(database("phase: completed"), "Database", "Backup", 1), want: Healthy},
		"backup, failed": {reason: "its error says why", object: strings.Replace(database("phase: failed, error: no credentials"), "Database", "Backup", 1), want: Degraded, says: "no credentials"},

		"database, new":           {reason: "not applied", object: database(""), want: Progressing},
		"database":                {reason: "applied at this generation", object: database("observedGeneration: 2, applied: true"), want: Healthy},
		"database of before":      {reason: "applied at the former one", object: database("observedGeneration: 1, applied: true"), want: Progressing},
		"database, owner missing": {reason: "the role may be created later", object: database(`applied: false, message: role "orders" does not exist`), want: Progressing, says: "does not exist"},
		"database, broken":        {reason: "what worked at this generation works no more", object: database("observedGeneration: 2, applied: false, message: permission denied"), want: Degraded, says: "permission denied"},
	})
}

func TestSealedSecret(t *testing.T) {
	with := func(status string) string {
		return "{apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, metadata: {name: db, generation: 2}, status: {" + status + "}}"
	}
	run(t, map[string]verdict{
		"new":       {reason: "not unsealed", object: with(""), want: Progressing},
		"unsealed":  {reason: "the Secret is there", object: with(`observedGeneration: 2, conditions: [{type: Synced, status: "True"}]`), want: Healthy},
		"of before": {reason: "the former content was unsealed", object: with(`observedGeneration: 1, conditions: [{type: Synced, status: "True"}]`), want: Progressing},
		"sealed for another": {
			reason: "no key fits",
			object: with(`observedGeneration: 2, conditions: [{type: Synced, status: "False", message: no key could decrypt secret}]`),
			want:   Degraded, says: "no key could decrypt",
		},
	})
}
