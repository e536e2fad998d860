// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
)

const (
	provisioner  = "wavetrain.dev/simulated"
	volumeDriver = "simulated.wavetrain.dev"
	defaultBind  = time.Second
	bindComplete = "pv.kubernetes.io/bind-completed"
	boundBy      = "pv.kubernetes.io/bound-by-controller"
	selectedNode = "volume.kubernetes.io/selected-node"
	defaultClass = "storageclass.kubernetes.io/is-default-class"
)

// claims remembers when claims were first seen and first used.
type claims struct {
	mu    sync.Mutex
	byUID map[types.UID]*claimState
}

type claimState struct {
	seen, used time.Time
	node       string
	told       string
}

func newClaims() *claims { return &claims{byUID: map[types.UID]*claimState{}} }

// get returns a copy of what is known of a claim.
func (c *claims) get(uid types.UID, now time.Time) claimState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.locked(uid, now)
}

func (c *claims) locked(uid types.UID, now time.Time) *claimState {
	if c.byUID[uid] == nil {
		c.byUID[uid] = &claimState{seen: now}
	}
	return c.byUID[uid]
}

// use notes that a Pod on node wants the claim.
func (c *claims) use(uid types.UID, node string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state := c.locked(uid, now); state.used.IsZero() {
		state.used, state.node = now, node
	}
}

// tell reports whether message is news about the claim.
func (c *claims) tell(uid types.UID, now time.Time, message string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.locked(uid, now)
	news := state.told != message
	state.told = message
	return news
}

func claimItem(claim *corev1.PersistentVolumeClaim) item {
	return item{role: roleClaim, namespace: claim.Namespace, name: claim.Name}
}

func (e *engine) claimChanged(claim *corev1.PersistentVolumeClaim, gone bool) {
	e.scheduleSoon()
	if !gone {
		e.claims.get(claim.UID, e.clock.Now())
		e.queue.Add(claimItem(claim))
		return
	}
	e.claims.mu.Lock()
	delete(e.claims.byUID, claim.UID)
	e.claims.mu.Unlock()
	e.census.forget(claim.UID)
	if claim.Spec.VolumeName != "" {
		e.queue.Add(item{role: roleVolume, name: claim.Spec.VolumeName})
	}
}

func (e *engine) enqueueClaims() {
	all, _ := e.cache.claims.List(labels.Everything())
	for _, claim := range all {
		e.queue.Add(claimItem(claim))
	}
}

// bindingMode is that of the claim's class; a claim without a class waits for nobody.
func (e *engine) bindingMode(claim *corev1.PersistentVolumeClaim) storagev1.VolumeBindingMode {
	if class, err := e.cache.classes.Get(className(claim)); err == nil && class.VolumeBindingMode != nil {
		return *class.VolumeBindingMode
	}
	return storagev1.VolumeBindingImmediate
}

func className(claim *corev1.PersistentVolumeClaim) string {
	if claim.Spec.StorageClassName == nil {
		return ""
	}
	return *claim.Spec.StorageClassName
}

// syncClaim binds a claim when its time has come.
func (e *engine) syncClaim(ctx context.Context, it item) error {
	claim, err := e.cache.claims.PersistentVolumeClaims(it.namespace).Get(it.name)
	if err != nil || claim.Status.Phase == corev1.ClaimBound || claim.DeletionTimestamp != nil {
		return ignoreNotFound(err)
	}
	now := e.clock.Now()
	state := e.claims.get(claim.UID, now)
	effects := e.rules.forObject(&rules.Object{
		Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name,
		Generation: claim.Generation, StorageClass: className(claim),
		Occurrence: e.census.of("PersistentVolumeClaim", claim.Namespace, claim.Name, claim.UID),
	})
	due, why := e.bindingTime(claim, &state, effects.Binding)
	if why.Reason != "" {
		if e.claims.tell(claim.UID, now, why.Message) {
			e.events.Event(claim, why.Type, why.Reason, why.Message)
		}
		return nil
	}
	if now.Before(due) {
		e.wakeAt(it, due)
		return nil
	}
	volume, err := e.volumeFor(ctx, claim, &state)
	if err != nil || volume == nil {
		return err
	}
	return e.bindClaim(ctx, claim, volume)
}

// bindingTime is when a claim is bound, or what it waits for.
func (e *engine) bindingTime(claim *corev1.PersistentVolumeClaim, state *claimState, rule *rules.Binding) (time.Time, rules.EventAt) {
	if rule == nil {
		rule = &rules.Binding{After: defaultBind}
	}
	waits := e.bindingMode(claim) == storagev1.VolumeBindingWaitForFirstConsumer
	switch {
	case rule.Never:
		return time.Time{}, normal("ExternalProvisioning",
			"Waiting for a volume to be created either by the external provisioner '"+provisioner+
				"' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.")
	case waits && state.used.IsZero():
		return time.Time{}, normal("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
	case waits || rule.FirstPodUsingIt:
		if state.used.IsZero() {
			state.used = e.firstUse(claim)
		}
		if state.used.IsZero() {
			return time.Time{}, normal("WaitForPodScheduled", "waiting for a Pod that uses the claim")
		}
		return state.used.Add(rule.After), rules.EventAt{}
	}
	return state.seen.Add(rule.After), rules.EventAt{}
}

func normal(reason, message string) rules.EventAt {
	return rules.EventAt{Type: corev1.EventTypeNormal, Reason: reason, Message: message}
}

// firstUse notes since when a Pod refers to a claim that does not wait for Pods by itself.
func (e *engine) firstUse(claim *corev1.PersistentVolumeClaim) time.Time {
	pods, _ := e.cache.pods.Pods(claim.Namespace).List(labels.Everything())
	for _, pod := range pods {
		for i := range pod.Spec.Volumes {
			if claimOf(pod, &pod.Spec.Volumes[i]) == claim.Name {
				e.claims.use(claim.UID, pod.Spec.NodeName, e.clock.Now())
				return e.clock.Now()
			}
		}
	}
	return time.Time{}
}

// volumeFor finds or makes the volume of a claim; without one, it has told why on the claim.
func (e *engine) volumeFor(ctx context.Context, claim *corev1.PersistentVolumeClaim, state *claimState) (*corev1.PersistentVolume, error) {
	if volume := e.freeVolume(claim); volume != nil {
		return volume, nil
	}
	complain := func(reason, message string) {
		if e.claims.tell(claim.UID, e.clock.Now(), message) {
			e.events.Event(claim, corev1.EventTypeWarning, reason, message)
		}
	}
	name := className(claim)
	if name == "" {
		complain("FailedBinding", "no persistent volumes available for this claim and no storage class is set")
		return nil, nil
	}
	class, err := e.cache.classes.Get(name)
	if err != nil {
		complain("ProvisioningFailed", fmt.Sprintf("storageclass.storage.k8s.io %q not found", name))
		return nil, ignoreNotFound(err)
	}
	policy := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": class.Provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode,
			PersistentVolumeReclaimPolicy: policy, StorageClassName: name, MountOptions: class.MountOptions,
			ClaimRef: claimRef(claim),
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: volumeDriver, VolumeHandle: string(claim.UID),
			}},
		},
	}
	created, err := e.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		created, err = e.client.CoreV1().PersistentVolumes().Get(ctx, volume.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("provision a volume for claim %s/%s on %q: %w", claim.Namespace, claim.Name, state.node, err)
	}
	e.events.Event(claim, corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume "+volume.Name)
	return created, nil
}

func claimRef(claim *corev1.PersistentVolumeClaim) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
	}
}

// freeVolume is an existing volume that the claim may have: the one it names, or one that fits.
func (e *engine) freeVolume(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	all, _ := e.cache.volumes.List(labels.Everything())
	slices.SortFunc(all, func(a, b *corev1.PersistentVolume) int {
		size := a.Spec.Capacity[corev1.ResourceStorage]
		return size.Cmp(b.Spec.Capacity[corev1.ResourceStorage])
	})
	for _, volume := range all {
		if ref := volume.Spec.ClaimRef; ref != nil &&
			(ref.Namespace != claim.Namespace || ref.Name != claim.Name || ref.UID != "" && ref.UID != claim.UID) {
			continue
		}
		if fits(claim, volume) && volume.Status.Phase != corev1.VolumeReleased && volume.DeletionTimestamp == nil {
			return volume
		}
	}
	return nil
}

func fits(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) bool {
	if claim.Spec.VolumeName != "" {
		return claim.Spec.VolumeName == volume.Name
	}
	size := volume.Spec.Capacity[corev1.ResourceStorage]
	if volume.Spec.StorageClassName != className(claim) || size.Cmp(claim.Spec.Resources.Requests[corev1.ResourceStorage]) < 0 {
		return false
	}
	if claim.Spec.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(claim.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(volume.Labels)) {
			return false
		}
	}
	for _, mode := range claim.Spec.AccessModes {
		if !slices.Contains(volume.Spec.AccessModes, mode) {
			return false
		}
	}
	return true
}

// bindClaim writes both sides of the binding, the claim's status last: whoever sees it Bound finds all done.
func (e *engine) bindClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) error {
	volumes, claimsAPI := e.client.CoreV1().PersistentVolumes(), e.client.CoreV1().PersistentVolumeClaims(claim.Namespace)
	var err error
	if volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID == "" {
		volume = volume.DeepCopy()
		volume.Spec.ClaimRef = claimRef(claim)
		if volume, err = volumes.Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
			return ignoreNotFound(err)
		}
	}
	if volume.Status.Phase != corev1.VolumeBound {
		volume = volume.DeepCopy()
		volume.Status.Phase = corev1.VolumeBound
		if volume, err = volumes.UpdateStatus(ctx, volume, metav1.UpdateOptions{}); err != nil {
			return ignoreNotFound(err)
		}
	}
	if claim.Spec.VolumeName == "" || claim.Annotations[bindComplete] == "" {
		claim = claim.DeepCopy()
		claim.Spec.VolumeName = volume.Name
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[bindComplete], claim.Annotations[boundBy] = "yes", "yes"
		if node := e.claims.get(claim.UID, e.clock.Now()).node; node != "" {
			claim.Annotations[selectedNode] = node
		}
		if claim, err = claimsAPI.Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return ignoreNotFound(err)
		}
	}
	claim = claim.DeepCopy()
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.AccessModes = volume.Spec.AccessModes
	claim.Status.Capacity = volume.Spec.Capacity
	_, err = claimsAPI.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// syncVolume releases a volume whose claim is gone, and deletes it if its policy says so; a free one is
// available.
func (e *engine) syncVolume(ctx context.Context, it item) error {
	volume, err := e.cache.volumes.Get(it.name)
	if err != nil || volume.DeletionTimestamp != nil {
		return ignoreNotFound(err)
	}
	phase := corev1.VolumeAvailable
	if ref := volume.Spec.ClaimRef; ref != nil && ref.UID != "" {
		claim, err := e.cache.claims.PersistentVolumeClaims(ref.Namespace).Get(ref.Name)
		if err == nil && claim.UID == ref.UID {
			return nil
		}
		// The claim may only be missing from the cache.
		live, err := e.client.CoreV1().PersistentVolumeClaims(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err == nil && live.UID == ref.UID {
			return nil
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("look for the claim of volume %s: %w", volume.Name, err)
		}
		phase = corev1.VolumeReleased
	}
	if volume.Status.Phase != phase {
		volume = volume.DeepCopy()
		volume.Status.Phase = phase
		if volume, err = e.client.CoreV1().PersistentVolumes().UpdateStatus(ctx, volume, metav1.UpdateOptions{}); err != nil {
			return ignoreNotFound(err)
		}
		if phase == corev1.VolumeAvailable {
			e.enqueueClaims()
		}
	}
	if phase == corev1.VolumeReleased && volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		return ignoreNotFound(e.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{}))
	}
	return nil
}

// startClasses makes the storage classes that a cluster usually has.
func (e *engine) startClasses(ctx context.Context) error {
	immediate, waits := storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer
	for _, class := range []storagev1.StorageClass{
		{
			ObjectMeta:  metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{defaultClass: "true"}},
			Provisioner: provisioner, VolumeBindingMode: &immediate, AllowVolumeExpansion: new(true),
		},
		{ObjectMeta: metav1.ObjectMeta{Name: "standard-wait"}, Provisioner: provisioner, VolumeBindingMode: &waits, AllowVolumeExpansion: new(true)},
	} {
		_, err := e.client.StorageV1().StorageClasses().Create(ctx, &class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make storage class %s: %w", class.Name, err)
		}
	}
	return nil
}
