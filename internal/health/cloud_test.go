// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestCrossplane(t *testing.T) {
	managed := func(status string) string { return reporting("rds.aws.upbound.io/v1beta1", "Instance", status) }
	pkg := func(kind, status string) string { return reporting("pkg.crossplane.io/v1", kind, status) }
	synced := `{type: Synced, status: "True", reason: ReconcileSuccess}`
	run(t, map[string]verdict{
		"new":            {reason: "nothing is reported", object: managed(""), want: Progressing},
		"sent":           {reason: "the provider has not answered", object: managed("conditions: [" + synced + "]"), want: Progressing, because: "ConditionAbsent"},
		"being made":     {reason: "a database takes minutes", object: managed("conditions: [" + synced + `, {type: Ready, status: "False", reason: Creating}]`), want: Progressing, because: "Creating"},
		"made":           {reason: "it is there", object: managed("conditions: [" + synced + `, {type: Ready, status: "True", reason: Available}, {type: LastAsyncOperation, status: "True", reason: Success}]`), want: Healthy, because: "Available"},
		"made, changed":  {reason: "the condition is about the former spec", object: managed(`conditions: [{type: Synced, status: "True", observedGeneration: 1}, {type: Ready, status: "True", observedGeneration: 1}]`), want: Progressing, because: "GenerationNotObserved"},
		"refused":        {reason: "the cloud said no, though what was made before is there", object: managed(`conditions: [{type: Ready, status: "True"}, {type: Synced, status: "False", reason: ReconcileError, message: "AccessDenied: not authorized"}]`), want: Degraded, because: "ReconcileError", says: "AccessDenied"},
		"failed later":   {reason: "the call was accepted and failed afterwards", object: managed("conditions: [" + synced + `, {type: LastAsyncOperation, status: "False", reason: ApplyFailure, message: quota exceeded}]`), want: Degraded, says: "quota exceeded"},
		"provider":       {reason: "fetched and running", object: pkg("Provider", `conditions: [{type: Installed, status: "True"}, {type: Healthy, status: "True", reason: HealthyPackageRevision}]`), want: Healthy},
		"starting":       {reason: "its Pod is not up yet", object: pkg("Provider", `conditions: [{type: Installed, status: "True"}, {type: Healthy, status: "False", reason: UnhealthyPackageRevision}]`), want: Progressing},
		"fetching":       {reason: "the image is being pulled", object: pkg("Configuration", `conditions: [{type: Installed, status: "False", reason: UnpackingPackage}]`), want: Progressing},
		"not offered":    {reason: "claims are not served yet", object: reporting("apiextensions.crossplane.io/v1", "CompositeResourceDefinition", `conditions: [{type: Established, status: "True"}, {type: Offered, status: Unknown}]`), want: Progressing},
		"composition":    {reason: "it has no state", object: reporting("apiextensions.crossplane.io/v1", "Composition", ""), want: Healthy, because: "NoStatus"},
		"configuration":  {reason: "being used is no condition", object: reporting("aws.upbound.io/v1beta1", "ProviderConfig", "users: 3"), want: Healthy},
		"another family": {reason: "the suffix has a dot before it", object: reporting("notupbound.io/v1", "Instance", ""), want: ""},
	})
}

func TestConfigConnectorAndACK(t *testing.T) {
	google := func(status string) string {
		return reporting("storage.cnrm.cloud.google.com/v1beta1", "StorageBucket", status)
	}
	aws := func(status string) string { return reporting("s3.services.k8s.aws/v1alpha1", "Bucket", status) }
	run(t, map[string]verdict{
		"google, new":        {reason: "nothing is reported", object: google(""), want: Progressing},
		"google":             {reason: "up to date", object: google(`observedGeneration: 2, conditions: [{type: Ready, status: "True", reason: UpToDate, message: The resource is up to date}]`), want: Healthy},
		"google, of before":  {reason: "up to date with the former spec", object: google(`observedGeneration: 1, conditions: [{type: Ready, status: "True", reason: UpToDate}]`), want: Progressing},
		"google, updating":   {reason: "the call is on its way", object: google(`observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: Updating}]`), want: Progressing},
		"google, waits":      {reason: "what it depends on is being made", object: google(`observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: DependencyNotReady, message: reference not ready}]`), want: Progressing},
		"google, refused":    {reason: "the API said no", object: google(`observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: UpdateFailed, message: "Error 403: permission denied"}]`), want: Degraded, says: "403"},
		"google, operator":   {reason: "it reports a field of its own", object: reporting("core.cnrm.cloud.google.com/v1beta1", "ConfigConnector", "observedGeneration: 2, healthy: true"), want: Healthy},
		"google, unhealthy":  {reason: "its errors say why", object: reporting("core.cnrm.cloud.google.com/v1beta1", "ConfigConnectorContext", "healthy: false, errors: [no service account]"), want: Degraded, says: "no service account"},
		"amazon, new":        {reason: "nothing is reported", object: aws(""), want: Progressing},
		"amazon":             {reason: "ready", object: aws(`conditions: [{type: ACK.ResourceSynced, status: "True"}, {type: Ready, status: "True"}]`), want: Healthy},
		"amazon, before":     {reason: "controllers without Ready say it so", object: aws(`conditions: [{type: ACK.ResourceSynced, status: "True"}]`), want: Healthy},
		"amazon, tries":      {reason: "it will be tried again, and why is known", object: aws(`conditions: [{type: ACK.Recoverable, status: "True", message: throttled}, {type: ACK.ResourceSynced, status: "False"}]`), want: Progressing, says: "throttled"},
		"amazon, gives up":   {reason: "terminal is what it says", object: aws(`conditions: [{type: ACK.Terminal, status: "True", message: BucketAlreadyExists}, {type: Ready, status: "False"}]`), want: Degraded, says: "BucketAlreadyExists"},
		"amazon, not synced": {reason: "the call is on its way", object: aws(`conditions: [{type: Ready, status: "False", message: not synced}]`), want: Progressing},
	})
}
