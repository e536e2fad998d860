// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func sealedSecretsRule(kind string) rule {
	if kind == "SealedSecret" {
		return sealedSecret
	}
	return nil
}

// sealedSecret always knows the generation its controller has seen, so an absent one means that it has seen none.
func sealedSecret(s subject) Result {
	if s.status.count("observedGeneration") < s.obj.GetGeneration() {
		return s.unobserved()
	}
	return s.byCondition("Synced")
}
