// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
)

func coreRule(kind string) rule {
	switch kind {
	case "Pod":
		return pod
	case "Service":
		return service
	case "PersistentVolumeClaim":
		return volumeClaim
	}
	return nil
}

func service(s subject) Result {
	if s.spec.text("type") != "LoadBalancer" {
		return healthy("", "")
	}
	if len(s.status.list("loadBalancer", "ingress")) == 0 {
		return progressing("NoAddress", "the load balancer has no address yet")
	}
	return healthy("HasAddress", "the load balancer has an address")
}

// selectedNode is set by the scheduler once a Pod uses the claim: from then on the claim waits for the provisioner.
const selectedNode = "volume.kubernetes.io/selected-node"

func volumeClaim(s subject) Result {
	switch phase := s.status.text("phase"); phase {
	case "Bound":
		return healthy("Bound", "bound to "+s.spec.text("volumeName"))
	case "Pending":
		return pendingClaim(s)
	case "Lost":
		return degraded("Lost", fmt.Sprintf("the bound volume %s no longer exists", s.spec.text("volumeName")))
	case "":
		return unknown("NoPhase", "the claim has no phase yet")
	default:
		return unknown("UnknownPhase", fmt.Sprintf("the claim is in phase %q", phase))
	}
}

func pendingClaim(s subject) Result {
	name, asked := s.spec.text("storageClassName"), s.ctx.StorageClass != nil
	_, scheduled := s.obj.GetAnnotations()[selectedNode]
	if !asked || scheduled {
		return progressing("Pending", "no volume is bound yet")
	}
	if _, explicit := s.spec.value("storageClassName").(string); explicit && name == "" {
		return progressing("Pending", "no volume is bound yet; without a class only an existing volume can be")
	}
	class := s.ctx.StorageClass(name)
	switch {
	case class == nil && name == "":
		return progressing("NoStorageClass", "no volume is bound yet; the cluster has no default StorageClass")
	case class == nil:
		return progressing("NoStorageClass", fmt.Sprintf("no volume is bound yet; StorageClass %q does not exist", name))
	case fields(class.Object).text("volumeBindingMode") == "WaitForFirstConsumer":
		r := progressing("WaitForFirstConsumer", fmt.Sprintf("StorageClass %q binds a volume when a Pod uses the claim", class.GetName()))
		r.ByDesign = true
		return r
	}
	return progressing("Pending", fmt.Sprintf("StorageClass %q has not bound a volume yet", class.GetName()))
}
