// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

// rookRule: every kind sums up in a phase; a cluster also tells how Ceph itself is.
func rookRule(kind string) rule {
	switch kind {
	case "CephCluster":
		return cephCluster
	case "CephBlockPool", "CephBlockPoolRadosNamespace", "CephBucketNotification", "CephBucketTopic", "CephClient", "CephCOSIDriver",
		"CephFilesystem", "CephFilesystemMirror", "CephFilesystemSubVolumeGroup", "CephNFS", "CephObjectRealm", "CephObjectStore",
		"CephObjectStoreUser", "CephObjectZone", "CephObjectZoneGroup", "CephRBDMirror":
		return rook
	}
	return nil
}

func rook(s subject) Result {
	return s.byPhase(phases{good: []string{"Ready", "Connected", "Created"}, bad: []string{"Failure", "ReconcileFailed"}})
}

// cephCluster warns while data moves and for many reasons that pass; an error needs a person.
func cephCluster(s subject) Result {
	r := rook(s)
	if r.Status != Healthy {
		return r
	}
	message := sentence(s.status.text("message"), s.status.text("ceph", "health"))
	switch word := s.status.text("ceph", "health"); word {
	case "HEALTH_OK":
		return healthy(word, message)
	case "HEALTH_ERR":
		return degraded(word, message)
	case "":
		return progressing("NoStatus", "the health of Ceph is not reported yet")
	default:
		return progressing(word, message)
	}
}

// objectBucketRule covers claims of buckets, of Rook and NooBaa alike.
func objectBucketRule(kind string) rule {
	if kind != "ObjectBucketClaim" {
		return nil
	}
	return byPhase(phases{good: []string{"Bound"}, bad: []string{"Failed"}})
}

// tridentRule covers NetApp's storage driver.
func tridentRule(kind string) rule {
	switch kind {
	case "TridentBackendConfig":
		return func(s subject) Result {
			if s.status.text("lastOperationStatus") == "Failed" {
				return degraded("Failed", sentence("the last operation on it failed", s.status.text("message")))
			}
			return s.byPhase(phases{good: []string{"Bound"}, bad: []string{"Failed"}})
		}
	case "TridentOrchestrator":
		return byPhase(phases{at: []string{"status"}, good: []string{"Installed"}, bad: []string{"Failed", "Error"}})
	}
	return nil
}
