// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func sealedSecretsRule(kind string) rule {
	if kind == "SealedSecret" {
		return func(s subject) Result { return s.byCondition("Synced") }
	}
	return nil
}
