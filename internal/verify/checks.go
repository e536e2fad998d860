// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/plan"
)

// Checks returns the chain in its order.
func Checks() []Check {
	return []Check{
		{run: dependencies, Codes: []Code{
			{"missing-dependency", diag.Error, "an object runs before something that it needs exists"},
			{"stale-dependency", diag.Warning, "a hook reads configuration that this rollout changes later"},
			{"hook-owned-dependency", diag.Warning, "an ordinary workload uses an object that a hook deletes and makes again"},
			{"same-wave-dependency", diag.Info, "an object and what it needs are in one wave, the other kind first"},
			{"dependency-not-rendered", diag.Info, "an object needs something that nobody renders"},
			{"missing-key", diag.Warning, "an entry is used that the rendered ConfigMap or Secret does not have"},
			{"store-missing", diag.Error, "an ExternalSecret names a store that is absent, later or in another namespace"},
		}},
		{run: rights},
		{run: waits, Codes: []Code{
			{"waits-on-later", diag.Error, "a Pod waits for something that is only made when it is ready"},
		}},
		{run: migrationRaces, Codes: []Code{
			{"migration-race", diag.Warning, "several Pods migrate one database at once"},
		}},
		{run: runsBeforeMigration, Codes: []Code{
			{"runs-before-migration", diag.Warning, "a workload uses a database that a later Job migrates"},
		}},
		{run: immutableChanges, Codes: []Code{
			{"immutable-change", diag.Error, "a field changes that cannot be changed on an existing object"},
		}},
		{run: replicaFights, Codes: []Code{
			{"replica-fight", diag.Warning, "Git and an autoscaler set the same number of replicas"},
		}},
		{run: dangling, Codes: []Code{
			{"dangling-reference", diag.Warning, "a selector or a reference matches nothing"},
		}},
		{run: webhooks, Codes: []Code{
			{"webhook-not-ready", diag.Warning, "an object is checked by a webhook that starts later"},
		}},
		{run: readiness, Codes: []Code{
			{"no-readiness", diag.Info, "a wave cannot tell when an object is ready"},
		}},
		{run: restarts, Codes: []Code{
			{"config-without-restart", diag.Info, "configuration changes and nothing restarts the Pods that read it"},
		}},
		{run: prunes, Codes: []Code{
			{"prune-blast", diag.Error, "a commit deletes much, or something that holds data"},
			{"prune-needs-confirmation", diag.Warning, "a prune waits for a confirmation"},
			{"prune-still-referenced", diag.Warning, "configuration is pruned while Pods still use it"},
		}},
		{run: taken},
		{run: teardown, Codes: []Code{
			{"teardown-deadlock", diag.Warning, "a deletion takes away what another part of it needs"},
		}},
		{run: managedTTL, Codes: []Code{
			{"ttl-on-managed-job", diag.Warning, "a Job that is no hook deletes itself and is made again for ever"},
		}},
		{run: volumes, Codes: []Code{
			{"rwo-rolling-update", diag.Warning, "a rolling update needs a volume twice that can be used once"},
		}},
		{run: claims, Codes: []Code{
			{"pvc-waits-for-consumer", diag.Info, "a volume claim is bound only when a Pod of a later wave uses it"},
		}},
		{run: unschedulable, Codes: []Code{
			{"unschedulable", diag.Warning, "Pods ask for more than they can get"},
		}},
		{run: childOrder, Codes: []Code{
			{"unordered-content-change", diag.Warning, "an Application opted out of the order in which changes are released"},
		}},
		{run: unstable, Codes: []Code{
			{"nondeterministic-render", diag.Warning, "a field is different in every rendering"},
		}},
		{run: schemas, Codes: []Code{
			{"invalid-schema", diag.Error, "a value is not what its field wants"},
			{"unknown-field", diag.Warning, "a kind does not have a field"},
		}},
		{run: effectless, Codes: []Code{
			{"annotation-without-effect", diag.Warning, "an annotation about the order means nothing where it stands, or as it is written"},
		}},
		{run: rules},
		{run: plaintext, Codes: []Code{
			{"plaintext-secret", diag.Error, "a credential stands in Git in clear"},
		}},
	}
}

// Codes returns every code that a finding can have, those of plans and renderings
// included.
func Codes() []Code {
	codes := []Code{
		{plan.CodeDuplicateConflict, diag.Error, "two different manifests of one object"},
		{plan.CodeDuplicateIdentical, diag.Info, "one object is rendered twice, equally"},
		{plan.CodeKindUnknown, diag.Error, "the cluster does not serve a kind, and nothing in the plan defines it"},
		{plan.CodeKindNotKnownYet, diag.Info, "a kind is expected to be served by the time its turn comes"},
		{plan.CodeInvalidMetadata, diag.Error, "a label or annotation is no text"},
		{plan.CodeNameMissing, diag.Error, "an object has no name"},
		{plan.CodeNamespaceMissing, diag.Error, "a namespaced object has no namespace"},
		{plan.CodeProducerCycle, diag.Warning, "objects of a wave wait for each other's Secrets"},
		{plan.CodeInvalidNeeds, diag.Error, "what an object needs from others cannot be read"},
		{plan.CodeNamespaceHandover, diag.Info, "a Namespace leaves Git and stays, because CreateNamespace asks for it"},
		{plan.CodeUnknownOption, diag.Warning, "an option of Wavetrain's annotation has no effect"},
		{plan.CodeExcludedKind, diag.Warning, "the settings exclude the kind of a rendered object"},
		{plan.CodeExtraneousNotOurs, diag.Warning, "a live object has our label, and nothing proves that it is ours"},
		{"not-permitted", diag.Error, "the project does not permit an object"},
		{"no-service-account", diag.Error, "the project names nobody as whom a sync could write"},
		{"render-failed", diag.Error, "an Application cannot be rendered"},
		{"lookup", diag.Info, "templates ask the cluster for objects"},
		{"not-a-manifest", diag.Info, "a file was left out because it is no manifest"},
		{"value-file-missing", diag.Info, "a value file does not exist and was passed over"},
		{"duplicate-key", diag.Warning, "a rendered manifest has a key twice"},
		{"schema-not-checked", diag.Info, "the values of a chart were not checked"},
		{"order-moved", diag.Info, "a Namespace or a definition stands earlier than it asks for, because something needs it"},
		{"shared-resource", diag.Error, "two Applications render one object"},
		{"source-elsewhere", diag.Info, "an Application was passed over, because its source is not at hand"},
		{"layout", diag.Error, "a file holds a kind of object that does not belong there"},
		{"invalid-suppression", diag.Warning, "a suppression has no reason or names no code"},
		{"unused-suppression", diag.Info, "a suppression covers no finding"},
	}
	for _, check := range Checks() {
		codes = append(codes, check.Codes...)
	}
	return codes
}

// Alias returns the present name of a code that had another one, and the code
// itself otherwise.
func Alias(code string) string {
	switch code {
	case "phase-cycle":
		return "waits-on-later"
	case "unstable-render":
		return "nondeterministic-render"
	case "crd-moved":
		return "order-moved"
	case "immutable-field":
		return "immutable-change"
	case "secret-not-produced":
		return "dependency-not-rendered"
	case "extraneous-but-not-ours":
		return "extraneous-not-ours"
	case "crd-prune-would-delete":
		return "prune-blast"
	case "replicas-and-autoscaler":
		return "replica-fight"
	}
	return code
}
