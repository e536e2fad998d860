// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package health

func veleroRule(kind string) rule {
	switch kind {
	case "Backup", "Restore", "PodVolumeBackup", "PodVolumeRestore", "DataUpload", "DataDownload":
		// A phase that ends in "PartiallyFailed" with more before it is still at work on the rest.
		return byPhase(phases{
			good: []string{"Completed"}, words: []string{"failureReason"},
			bad: []string{"Failed", "PartiallyFailed", "FailedValidation", "Canceled"},
		})
	case "Schedule":
		return byPhase(phases{good: []string{"Enabled"}, bad: []string{"FailedValidation"}, pausedBy: []string{"paused"}})
	case "BackupStorageLocation":
		return byPhase(phases{good: []string{"Available"}, bad: []string{"Unavailable"}})
	case "BackupRepository":
		return byPhase(phases{good: []string{"Ready"}, bad: []string{"NotReady"}})
	}
	return nil
}

// snapshotRule covers snapshots of volumes.
func snapshotRule(kind string) rule {
	switch kind {
	case "VolumeSnapshot", "VolumeSnapshotContent", "VolumeGroupSnapshot", "VolumeGroupSnapshotContent":
		return volumeSnapshot
	}
	return nil
}

func volumeSnapshot(s subject) Result {
	switch failure := s.status.sub("error"); {
	case s.status.isTrue("readyToUse"):
		return healthy("ReadyToUse", "the snapshot can be restored")
	case failure != nil:
		return degraded("SnapshotFailed", failure.text("message"))
	}
	return progressing("NotReadyToUse", "the snapshot has not been taken yet")
}
