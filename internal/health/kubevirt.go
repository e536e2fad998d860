// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

// kubeVirtRule covers virtual machines, the volumes imported for them, and their operators.
func kubeVirtRule(group, kind string) rule {
	switch group + "/" + kind {
	case "kubevirt.io/VirtualMachine":
		return virtualMachine
	case "kubevirt.io/VirtualMachineInstance":
		return virtualMachineInstance
	case "kubevirt.io/VirtualMachineInstanceMigration":
		return byPhase(phases{good: []string{"Succeeded"}, bad: []string{"Failed"}})
	case "kubevirt.io/KubeVirt", "cdi.kubevirt.io/CDI":
		return byPhase(phases{good: []string{"Deployed"}, bad: []string{"Error"}})
	case "cdi.kubevirt.io/DataVolume":
		return dataVolume
	}
	return nil
}

// virtualMachine may be off because its spec says so or leaves it to people.
func virtualMachine(s subject) Result {
	if s.behind() {
		return s.unobserved()
	}
	word := s.status.text("printableStatus")
	r := s.byPhase(phases{
		at: []string{"printableStatus"}, good: []string{"Running"}, paused: []string{"Paused"},
		// What is missing may still come; what is here and broken will not mend.
		bad: []string{"CrashLoopBackOff", "DataVolumeError", "ErrImagePull", "ImagePullBackOff"}, unclear: []string{"Unknown"},
	})
	if c, ok := s.condition("Failure"); ok && c.isTrue() {
		r.Message = sentence(r.Message, c.words())
	}
	ready, _ := s.condition("Ready")
	switch {
	case word == "Stopped" && virtualMachineMayStop(s):
		r = suspended(word, "the machine is off")
		r.ByDesign = true
	case word == "Running" && ready.isFalse():
		return progressing(ready.Reason, sentence("the machine runs and is not ready", ready.words()))
	}
	return r
}

func virtualMachineMayStop(s subject) bool {
	if on, ok := s.spec.value("running").(bool); ok {
		return !on
	}
	return s.spec.text("runStrategy") != "Always"
}

func virtualMachineInstance(s subject) Result {
	if c, ok := s.condition("Paused"); ok && c.isTrue() {
		return suspended("Paused", c.words())
	}
	r := s.byPhase(phases{good: []string{"Running", "Succeeded"}, bad: []string{"Failed"}, unclear: []string{"Unknown"}})
	if c, ok := s.condition("Ready"); ok && c.isFalse() && r.Reason == "Running" {
		return progressing(c.Reason, sentence("the machine runs and is not ready", c.words()))
	}
	return r
}

// dataVolume waits like a claim for the first Pod that uses it, where its class says so.
func dataVolume(s subject) Result {
	r := s.byPhase(phases{good: []string{"Succeeded"}, bad: []string{"Failed"}, paused: []string{"Paused"}, unclear: []string{"Unknown"}})
	if r.Reason == "WaitForFirstConsumer" || r.Reason == "PendingPopulation" {
		r.ByDesign = true
	}
	if c, ok := s.condition("Running"); ok && c.isFalse() && c.Reason == "Error" {
		r.Message = sentence(r.Message, c.words())
	}
	return r
}
