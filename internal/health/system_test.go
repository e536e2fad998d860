// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
)

func TestOpenShift(t *testing.T) {
	config := func(spec, status string) string {
		return object("apps.openshift.io/v1", "DeploymentConfig", ", spec: {"+spec+"}, status: {"+status+"}")
	}
	route := func(status string) string { return reporting("route.openshift.io/v1", "Route", status) }
	subscription := func(status string) string {
		return reporting("operators.coreos.com/v1alpha1", "Subscription", status)
	}
	run(t, map[string]verdict{
		"config, new":       {reason: "generation 2 has not been seen", object: config("replicas: 2", ""), want: Progressing, because: "GenerationNotObserved"},
		"config, rolls":     {reason: "one replica has the new template", object: config("replicas: 2", "observedGeneration: 2, replicas: 3, updatedReplicas: 1, availableReplicas: 2"), want: Progressing, says: "1 of 2"},
		"config, old ones":  {reason: "the former replicas have not gone", object: config("replicas: 2", "observedGeneration: 2, replicas: 3, updatedReplicas: 2, availableReplicas: 3"), want: Progressing, because: "OldReplicasRemain"},
		"config":            {reason: "all replicas are new and there", object: config("replicas: 2", `observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2, conditions: [{type: Progressing, status: "True", reason: NewReplicationControllerAvailable}]`), want: Healthy},
		"config, gave up":   {reason: "its deployer is not started again", object: config("replicas: 2", `observedGeneration: 2, replicas: 2, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: replication controller web-2 has failed progressing}]`), want: Degraded, says: "web-2"},
		"config, paused":    {reason: "its owner did that", object: config("paused: true", ""), want: Suspended},
		"route, new":        {reason: "no router has seen it", object: route(""), want: Progressing, because: "NoStatus"},
		"route":             {reason: "its router serves it", object: route(`ingress: [{host: shop.example.com, routerName: default, conditions: [{type: Admitted, status: "True"}]}]`), want: Healthy, says: "shop.example.com"},
		"route, refused":    {reason: "one of its routers serves the host for somebody else", object: route(`ingress: [{host: a.example.com, routerName: default, conditions: [{type: Admitted, status: "True"}]}, {host: a.example.com, routerName: inner, conditions: [{type: Admitted, status: "False", reason: HostAlreadyClaimed, message: route b already exposes a.example.com}]}]`), want: Degraded, because: "HostAlreadyClaimed", says: "inner"},
		"build":             {reason: "its image is pushed", object: reporting("build.openshift.io/v1", "Build", "phase: Complete"), want: Healthy},
		"ingress, starts":   {reason: "no router runs yet", object: reporting("operator.openshift.io/v1", "IngressController", `observedGeneration: 2, conditions: [{type: Available, status: "False", reason: IngressControllerUnavailable}, {type: Degraded, status: "True"}]`), want: Progressing},
		"pool of machines":  {reason: "each has its configuration", object: reporting("machineconfiguration.openshift.io/v1", "MachineConfigPool", `observedGeneration: 2, conditions: [{type: Updated, status: "True"}, {type: Updating, status: "False"}, {type: Degraded, status: "False"}]`), want: Healthy},
		"pool, broken":      {reason: "a machine refuses its configuration", object: reporting("machineconfiguration.openshift.io/v1", "MachineConfigPool", `observedGeneration: 2, conditions: [{type: Updated, status: "False"}, {type: Degraded, status: "True", message: 1 nodes are reporting degraded status}]`), want: Degraded},
		"storage":           {reason: "its word says so", object: reporting("ocs.openshift.io/v1", "StorageCluster", "phase: Ready"), want: Healthy},
		"subscription, new": {reason: "its catalog is being read", object: subscription(""), want: Progressing},
		"subscription":      {reason: "the newest version is installed", object: subscription("state: AtLatestKnown, installedCSV: etcd.v0.9.4"), want: Healthy, says: "etcd.v0.9.4"},
		"subscription, upgrades": {
			reason: "its plan is at work", object: subscription("state: UpgradePending, installedCSV: etcd.v0.9.2"), want: Progressing,
		},
		"subscription, by hand": {
			reason: "a person has to approve the plan", want: Suspended, says: "install-x7k2p",
			object: subscription(`state: UpgradePending, installPlanRef: {name: install-x7k2p}, conditions: [{type: InstallPlanPending, status: "True", reason: RequiresApproval}]`),
		},
		"subscription, unsolvable": {
			reason: "no version fits", want: Degraded, says: "constraints",
			object: subscription(`conditions: [{type: CatalogSourcesUnhealthy, status: "False"}, {type: ResolutionFailed, status: "True", reason: ConstraintsNotSatisfiable, message: constraints not satisfiable}]`),
		},
		"operator":           {reason: "its Deployments are there", object: reporting("operators.coreos.com/v1alpha1", "ClusterServiceVersion", "phase: Succeeded, reason: InstallSucceeded"), want: Healthy},
		"catalog":            {reason: "it answers", object: reporting("operators.coreos.com/v1alpha1", "CatalogSource", "connectionState: {lastObservedState: READY}"), want: Healthy},
		"catalog, connects":  {reason: "its Pod starts", object: reporting("operators.coreos.com/v1alpha1", "CatalogSource", "connectionState: {lastObservedState: CONNECTING}"), want: Progressing},
		"extension":          {reason: "its bundle is installed", object: reporting("olm.operatorframework.io/v1", "ClusterExtension", `conditions: [{type: Progressing, status: "True", reason: Succeeded}, {type: Installed, status: "True", reason: Succeeded}]`), want: Healthy},
		"extension, blocked": {reason: "it waits for a person", object: reporting("olm.operatorframework.io/v1", "ClusterExtension", `conditions: [{type: Progressing, status: "False", reason: Blocked, message: version 9 is not in the catalog}, {type: Installed, status: "False"}]`), want: Degraded, says: "version 9"},
	})
}

func TestKruise(t *testing.T) {
	cloneSet := func(spec, status string) string {
		return object("apps.kruise.io/v1alpha1", "CloneSet", ", spec: {"+spec+"}, status: {"+status+"}")
	}
	rollout := func(status string) string { return reporting("rollouts.kruise.io/v1beta1", "Rollout", status) }
	run(t, map[string]verdict{
		"clones, new":       {reason: "generation 2 has not been seen", object: cloneSet("replicas: 3", "observedGeneration: 1"), want: Progressing, because: "GenerationNotObserved"},
		"clones, roll":      {reason: "one of three is new", object: cloneSet("replicas: 3", "observedGeneration: 2, replicas: 3, updatedReplicas: 1, availableReplicas: 3"), want: Progressing, says: "1 of 3"},
		"clones, partition": {reason: "two stay as they are, which is what is asked", object: cloneSet("replicas: 3, updateStrategy: {partition: 2}", "observedGeneration: 2, replicas: 3, updatedReplicas: 1, availableReplicas: 3"), want: Healthy},
		"clones, percent":   {reason: "the controller says how many a percentage is", object: cloneSet("replicas: 10, updateStrategy: {partition: 80%}", "observedGeneration: 2, replicas: 10, expectedUpdatedReplicas: 2, updatedReplicas: 2, availableReplicas: 10"), want: Healthy},
		"clones, waits":     {reason: "a Pod is not available", object: cloneSet("replicas: 3", "observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 2"), want: Progressing},
		"clones, paused":    {reason: "its owner did that", object: cloneSet("updateStrategy: {paused: true}", ""), want: Suspended},
		"stateful":          {reason: "it has the form of its namesake", object: object("apps.kruise.io/v1beta1", "StatefulSet", ", spec: {replicas: 2, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}, status: {observedGeneration: 2, replicas: 2, readyReplicas: 2, updatedReplicas: 1}"), want: Healthy},
		"stateful, paused":  {reason: "its owner did that", object: object("apps.kruise.io/v1beta1", "StatefulSet", ", spec: {updateStrategy: {rollingUpdate: {paused: true}}}"), want: Suspended},
		"daemons":           {reason: "a node has no Pod yet", object: reporting("apps.kruise.io/v1alpha1", "DaemonSet", "observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2"), want: Progressing},
		"broadcast":         {reason: "it ran on each node", object: reporting("apps.kruise.io/v1alpha1", "BroadcastJob", "phase: completed, desired: 3, succeeded: 3"), want: Healthy},
		"broadcast, failed": {reason: "its word says so", object: reporting("apps.kruise.io/v1alpha1", "BroadcastJob", "phase: failed"), want: Degraded},
		"cron":              {reason: "its first run is far away", object: reporting("apps.kruise.io/v1alpha1", "AdvancedCronJob", ""), want: Healthy},
		"rollout":           {reason: "nothing is being released", object: rollout("observedGeneration: 2, phase: Healthy"), want: Healthy},
		"rollout, steps":    {reason: "it moves to the next step", object: rollout("observedGeneration: 2, phase: Progressing, canaryStatus: {currentStepIndex: 1, currentStepState: StepUpgrade}"), want: Progressing},
		"rollout, waits":    {reason: "a person has to let it go on", object: rollout("observedGeneration: 2, phase: Progressing, canaryStatus: {currentStepIndex: 2, currentStepState: StepPaused}"), want: Suspended, says: "step 2"},
		"rollout, early":    {reason: "its workload is not there", object: rollout("observedGeneration: 2, phase: Initial, message: Workload Not Found"), want: Progressing, says: "Not Found"},
		"game servers":      {reason: "one is not ready", object: object("game.kruise.io/v1alpha1", "GameServerSet", ", spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, readyReplicas: 1, updatedReplicas: 2}"), want: Progressing},
		"game server":       {reason: "its word says so", object: reporting("game.kruise.io/v1alpha1", "GameServer", "currentState: Crash"), want: Degraded},
	})
}

func TestVirtualMachines(t *testing.T) {
	machine := func(spec, status string) string {
		return object("kubevirt.io/v1", "VirtualMachine", ", spec: {"+spec+"}, status: {"+status+"}")
	}
	volume := func(status string) string { return reporting("cdi.kubevirt.io/v1beta1", "DataVolume", status) }
	run(t, map[string]verdict{
		"new":             {reason: "nothing is reported", object: machine("runStrategy: Always", ""), want: Progressing},
		"starts":          {reason: "its word says so", object: machine("runStrategy: Always", "printableStatus: Starting"), want: Progressing},
		"runs":            {reason: "it runs and is ready", object: machine("runStrategy: Always", `printableStatus: Running, conditions: [{type: Ready, status: "True"}]`), want: Healthy},
		"boots":           {reason: "it runs, its probe does not answer yet", object: machine("running: true", `printableStatus: Running, conditions: [{type: Ready, status: "False", reason: GuestNotRunning, message: guest does not answer}]`), want: Progressing, says: "guest"},
		"off":             {reason: "that is what its spec asks for", object: machine("running: false", "printableStatus: Stopped"), want: Suspended, byDesign: true},
		"off by a person": {reason: "its spec leaves that to people", object: machine("runStrategy: Manual", "printableStatus: Stopped"), want: Suspended, byDesign: true},
		"off by accident": {reason: "its spec asks for it to run", object: machine("runStrategy: Always", "printableStatus: Stopped"), want: Progressing},
		"no volume yet":   {reason: "the claim may come a moment later", object: machine("runStrategy: Always", "printableStatus: ErrorPvcNotFound"), want: Progressing},
		"crashes":         {reason: "the grounds are on a condition", object: machine("runStrategy: Always", `printableStatus: CrashLoopBackOff, conditions: [{type: Failure, status: "True", reason: FailedCreate, message: no such disk}]`), want: Degraded, says: "no such disk"},
		"instance":        {reason: "it is paused", object: reporting("kubevirt.io/v1", "VirtualMachineInstance", `phase: Running, conditions: [{type: Paused, status: "True", reason: PausedByUser}]`), want: Suspended},
		"instance, done":  {reason: "the guest has shut down", object: reporting("kubevirt.io/v1", "VirtualMachineInstance", "phase: Succeeded"), want: Healthy},
		"operator":        {reason: "its word says so", object: reporting("kubevirt.io/v1", "KubeVirt", "phase: Deployed"), want: Healthy},
		"import":          {reason: "bytes are being copied", object: volume("phase: ImportInProgress, progress: 42%"), want: Progressing},
		"import, told":    {reason: "the image is not there", object: volume(`phase: ImportInProgress, conditions: [{type: Running, status: "False", reason: Error, message: "404 Not Found"}]`), want: Progressing, says: "404"},
		"imported":        {reason: "its word says so", object: volume("phase: Succeeded"), want: Healthy},
		"import, waits":   {reason: "no Pod asks for it yet", object: volume("phase: WaitForFirstConsumer"), want: Progressing, byDesign: true},
	})
}

func TestStorage(t *testing.T) {
	ceph := func(status string) string { return reporting("ceph.rook.io/v1", "CephCluster", status) }
	run(t, map[string]verdict{
		"ceph, new":       {reason: "nothing is reported", object: ceph(""), want: Progressing},
		"ceph, deploys":   {reason: "its word says so", object: ceph("phase: Progressing, message: Configuring Ceph Mons"), want: Progressing, says: "Mons"},
		"ceph":            {reason: "Ceph says so", object: ceph("phase: Ready, message: Cluster created successfully, ceph: {health: HEALTH_OK}"), want: Healthy},
		"ceph, moves":     {reason: "a warning may pass", object: ceph("phase: Ready, ceph: {health: HEALTH_WARN}"), want: Progressing, because: "HEALTH_WARN"},
		"ceph, broken":    {reason: "Ceph says so", object: ceph("phase: Ready, ceph: {health: HEALTH_ERR}"), want: Degraded},
		"ceph, refused":   {reason: "the operator says so", object: ceph("phase: Failure, message: failed to perform validation before cluster creation"), want: Degraded, says: "validation"},
		"ceph, no health": {reason: "Ceph does not answer yet", object: ceph("phase: Ready"), want: Progressing},
		"ceph, external":  {reason: "it is run by somebody else", object: ceph("phase: Connected, ceph: {health: HEALTH_OK}"), want: Healthy},
		"pool":            {reason: "its word says so", object: reporting("ceph.rook.io/v1", "CephBlockPool", "phase: Ready"), want: Healthy},
		"store of before": {reason: "Ready is about the former spec", object: reporting("ceph.rook.io/v1", "CephObjectStore", "phase: Ready, observedGeneration: 1"), want: Progressing, because: "GenerationNotObserved"},
		"bucket":          {reason: "its word says so", object: reporting("objectbucket.io/v1alpha1", "ObjectBucketClaim", "phase: Bound"), want: Healthy},
		"backend":         {reason: "its array does not answer", object: reporting("trident.netapp.io/v1", "TridentBackendConfig", "phase: Bound, lastOperationStatus: Failed, message: could not log in"), want: Degraded, says: "log in"},
		"trident":         {reason: "its word says so", object: reporting("trident.netapp.io/v1", "TridentOrchestrator", "status: Installed"), want: Healthy},
		"solr, starts":    {reason: "its operator fills in three", object: reporting("solr.apache.org/v1beta1", "SolrCloud", "readyReplicas: 1, upToDateNodes: 1"), want: Progressing, says: "1 of 3"},
		"solr":            {reason: "each node is new and ready", object: reporting("solr.apache.org/v1beta1", "SolrCloud", "readyReplicas: 3, upToDateNodes: 3"), want: Healthy},
		"zookeeper":       {reason: "its upgrade failed", object: reporting("zookeeper.pravega.io/v1beta1", "ZookeeperCluster", `conditions: [{type: PodsReady, status: "True"}, {type: Error, status: "True", reason: UpgradeFailed, message: pod zk-2 did not start}]`), want: Degraded, says: "zk-2"},
	})
}
