// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPod(t *testing.T) {
	with := func(spec, status string) string {
		return `
apiVersion: v1
kind: Pod
metadata: {name: api-1}
spec: {` + spec + `}
status: {` + status + `}`
	}
	run(t, map[string]verdict{
		"unschedulable": {
			reason: "the scheduler's words say what is missing",
			object: with("restartPolicy: Always", `phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient memory."}]`),
			want:   Progressing, because: "Unschedulable", says: "3 Insufficient memory",
		},
		"an init container waits": {
			reason: "the Pod is not stuck for good, but people want to know where it stands",
			object: with("restartPolicy: Always", `phase: Pending, initContainerStatuses: [{name: wait-for-db, image: "busybox:1", state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}]`),
			want:   Progressing, because: "Initializing", says: `init container "wait-for-db" is running`,
		},
		"an init container crashes": {
			reason: "init containers do not decide, but they explain",
			object: with("restartPolicy: Always", `phase: Pending, initContainerStatuses: [{name: prepare, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s restarting failed container}}, lastState: {terminated: {exitCode: 2, reason: Error}}}]`),
			want:   Progressing, because: "CrashLoopBackOff", says: "last ended with exit code 2",
		},
		"being created": {
			reason: "nothing is wrong yet",
			object: with("restartPolicy: Always", `phase: Pending, containerStatuses: [{name: api, state: {waiting: {reason: ContainerCreating}}}]`),
			want:   Progressing, because: "Pending",
		},
		"missing configuration": {
			reason: "the kubelet names the ConfigMap that is not there",
			object: with("restartPolicy: Always", `phase: Pending, containerStatuses: [{name: api, image: "shop/api:2", state: {waiting: {reason: CreateContainerConfigError, message: configmap "api-env" not found}}}]`),
			want:   Degraded, because: "CreateContainerConfigError", says: `configmap "api-env" not found`,
		},
		"image cannot be pulled": {
			reason: "the image is named even where the kubelet does not",
			object: with("restartPolicy: Always", `phase: Pending, containerStatuses: [{name: api, image: "shop/api:nope", state: {waiting: {reason: ErrImagePull}}}]`),
			want:   Degraded, because: "ErrImagePull", says: "(shop/api:nope)",
		},
		"crash loop": {
			reason: "the exit code and the container's last words tell why",
			object: with("restartPolicy: Always", `phase: Running, containerStatuses: [{name: api, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff, message: back-off 1m20s}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]`),
			want:   Degraded, because: "CrashLoopBackOff", says: "exit code 137 (OOMKilled)",
		},
		"a Job's Pod with an image error": {
			reason: "a Pod that is to end is its Job's affair",
			object: with("restartPolicy: Never", `phase: Pending, containerStatuses: [{name: migrate, image: "shop/migrate:2", state: {waiting: {reason: ImagePullBackOff, message: Back-off pulling image "shop/migrate:2"}}}]`),
			want:   Progressing, because: "ImagePullBackOff", says: `pulling image "shop/migrate:2"`,
		},
		"ready": {
			reason: "it serves",
			object: with("restartPolicy: Always", `phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: api, restartCount: 1, lastState: {terminated: {exitCode: 1}}}]`),
			want:   Healthy, because: "Ready",
		},
		"restarted and not ready": {
			reason: "it ended before and does not serve now",
			object: with("restartPolicy: Always", `phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady}], containerStatuses: [{name: api, restartCount: 2, state: {running: {}}, lastState: {terminated: {exitCode: 1, reason: Error, message: "panic: no database\n"}}}]`),
			want:   Degraded, because: "ContainerRestarted", says: "restarted 2 times, last ended with exit code 1: panic: no database",
		},
		"running, not ready": {
			reason: "its readiness probe has not passed yet",
			object: with("restartPolicy: Always", `phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady, message: "containers with unready status: [api]"}], containerStatuses: [{name: api, state: {running: {}}}]`),
			want:   Progressing, because: "ContainersNotReady", says: "unready status: [api]",
		},
		"runs to its end": {reason: "its end decides", object: with("restartPolicy: OnFailure", "phase: Running"), want: Progressing},
		"succeeded":       {reason: "it ended well", object: with("restartPolicy: Never", "phase: Succeeded"), want: Healthy},
		"evicted": {
			reason: "the node's words say why",
			object: with("restartPolicy: Always", "phase: Failed, reason: Evicted, message: 'The node was low on resource: memory.'"),
			want:   Degraded, because: "Evicted", says: "low on resource",
		},
		"failed": {
			reason: "the first container that failed tells why",
			object: with("restartPolicy: Never", `phase: Failed, containerStatuses: [{name: side, state: {terminated: {exitCode: 0}}}, {name: migrate, state: {terminated: {exitCode: 3, reason: Error}}}]`),
			want:   Degraded, says: `container "migrate" ended with exit code 3`,
		},
		"phase unknown": {reason: "its node does not answer", object: with("restartPolicy: Always", "phase: Unknown"), want: Unknown},
	})
}

func TestPodMeantToEnd(t *testing.T) {
	with := func(annotations string) string {
		return `
apiVersion: v1
kind: Pod
metadata: {name: api-1, annotations: {` + annotations + `}}
spec: {restartPolicy: OnFailure}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}`
	}
	run(t, map[string]verdict{
		"by its restart policy": {reason: "OnFailure means that it ends", object: with(""), want: Progressing},
		"not, says its owner":   {reason: "the annotation makes it a Pod that stays", object: with(`argocd.argoproj.io/ignore-restart-policy: "true"`), want: Healthy},
		"a hook, whatever its owner says": {
			reason: "a hook is waited for until it ends",
			object: with(`argocd.argoproj.io/ignore-restart-policy: "true", argocd.argoproj.io/hook: PreSync`),
			want:   Progressing,
		},
	})
}

func TestService(t *testing.T) {
	run(t, map[string]verdict{
		"inside": {reason: "an address inside is given at once", object: "{apiVersion: v1, kind: Service, metadata: {name: api}, spec: {type: ClusterIP}}", want: Healthy},
		"waits":  {reason: "the cloud has not given an address", object: "{apiVersion: v1, kind: Service, metadata: {name: api}, spec: {type: LoadBalancer}}", want: Progressing, because: "NoAddress"},
		"has an address": {
			reason: "the cloud has given one",
			object: "{apiVersion: v1, kind: Service, metadata: {name: api}, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}",
			want:   Healthy,
		},
	})
}

// classes is a cluster whose classes are the given ones, by name; the one under the empty name is the default.
func classes(t *testing.T, byName map[string]string) func(string) *unstructured.Unstructured {
	t.Helper()
	return func(name string) *unstructured.Unstructured {
		text, ok := byName[name]
		if !ok {
			return nil
		}
		return parse(t, text)
	}
}

func TestPersistentVolumeClaim(t *testing.T) {
	with := func(meta, spec, phase string) string {
		return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data" + meta + "}, spec: {" + spec + "}, status: {phase: " + phase + "}}"
	}
	late := "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, volumeBindingMode: WaitForFirstConsumer}"
	soon := "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: network}, volumeBindingMode: Immediate}"
	cluster := Context{StorageClass: classes(t, map[string]string{"": late, "local": late, "network": soon})}
	bare := Context{StorageClass: classes(t, nil)}
	run(t, map[string]verdict{
		"bound":            {reason: "it has its volume", object: with("", "volumeName: pv-7", "Bound"), want: Healthy, says: "pv-7"},
		"lost":             {reason: "the volume is gone", object: with("", "volumeName: pv-7", "Lost"), want: Degraded, says: "pv-7"},
		"no phase":         {reason: "nothing is reported", object: with("", "", `""`), want: Unknown},
		"pending":          {reason: "without a look at classes it is simply not bound", object: with("", "storageClassName: local", "Pending"), want: Progressing, because: "Pending"},
		"binds late":       {reason: "its class waits for a Pod", object: with("", "storageClassName: local", "Pending"), ctx: cluster, want: Progressing, because: "WaitForFirstConsumer", says: `"local"`, byDesign: true},
		"default binds so": {reason: "no class written down means the default", object: with("", "", "Pending"), ctx: cluster, want: Progressing, because: "WaitForFirstConsumer", byDesign: true},
		"a Pod has come": {
			reason: "from now on it waits for the provisioner, not for a Pod",
			object: with(`, annotations: {volume.kubernetes.io/selected-node: node-1}`, "storageClassName: local", "Pending"),
			ctx:    cluster, want: Progressing, because: "Pending",
		},
		"binds at once": {reason: "its class does not wait for anything", object: with("", "storageClassName: network", "Pending"), ctx: cluster, want: Progressing, says: "has not bound a volume yet"},
		"explicitly without class": {
			reason: "the default class is not used for it",
			object: with("", `storageClassName: ""`, "Pending"), ctx: cluster, want: Progressing, says: "only an existing volume",
		},
		"class is not there":  {reason: "nobody will bind it until the class exists", object: with("", "storageClassName: fast", "Pending"), ctx: cluster, want: Progressing, because: "NoStorageClass", says: `"fast" does not exist`},
		"no default class":    {reason: "nobody will bind it until there is one", object: with("", "", "Pending"), ctx: bare, want: Progressing, because: "NoStorageClass", says: "no default StorageClass"},
		"a phase of tomorrow": {reason: "its meaning is not known", object: with("", "", "Resizing"), want: Unknown, says: "Resizing"},
	})
}

func TestIngress(t *testing.T) {
	with := func(meta, spec, status string) string {
		return "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: shop" + meta + "}, spec: {" + spec + "}, status: {" + status + "}}"
	}
	nginx := "{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: nginx}}"
	cluster := Context{IngressClass: classes(t, map[string]string{"nginx": nginx})}
	run(t, map[string]verdict{
		"has an address":        {reason: "it is reachable", object: with("", "", "loadBalancer: {ingress: [{hostname: lb.example.com}]}"), ctx: cluster, want: Healthy},
		"waits":                 {reason: "its class exists, somebody will answer", object: with("", "ingressClassName: nginx", ""), ctx: cluster, want: Progressing, because: "NoAddress"},
		"waits, class unasked":  {reason: "without a look at classes it simply waits", object: with("", "ingressClassName: other", ""), want: Progressing, because: "NoAddress"},
		"class by annotation":   {reason: "the old way of naming it counts as well", object: with(", annotations: {kubernetes.io/ingress.class: nginx}", "", ""), ctx: cluster, want: Progressing, because: "NoAddress"},
		"class is not there":    {reason: "nobody implements it", object: with("", "ingressClassName: other", ""), ctx: cluster, want: Progressing, because: "NoIngressClass", says: `"other" does not exist`, byDesign: true},
		"no default class":      {reason: "nobody feels concerned", object: with("", "", ""), ctx: cluster, want: Progressing, because: "NoIngressClass", says: "no default IngressClass", byDesign: true},
		"of the group before":   {reason: "the former group is read as well", object: "{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: shop}}", want: Progressing},
		"a neighbour of a kind": {reason: "a NetworkPolicy has no health", object: "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: shop}}", want: ""},
	})
}
