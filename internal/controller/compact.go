// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/rollout"
)

// packedManager marks the place where a cached Application has what is packed of
// it. Nobody needs the managedFields of Applications, so they make room.
const packedManager = "wavetrain.dev/packed"

// packer keeps cached Applications small.
type packer struct{ codec *cluster.Codec }

// shrink has a cache keep Applications packed, and managedFields of nothing.
func (p packer) shrink(options *cache.Options) {
	options.DefaultTransform = cache.TransformStripManagedFields()
	for kind, how := range options.ByObject {
		if _, ok := kind.(*v1alpha1.Application); ok {
			how.Transform = p.transform
			options.ByObject[kind] = how
			return
		}
	}
	options.ByObject[&v1alpha1.Application{}] = cache.ByObject{Transform: p.transform}
}

// transform packs the status of an Application before it is cached: two rows for each
// of its objects, and beside them many small things that would keep memory in pieces.
func (p packer) transform(obj any) (any, error) {
	app, ok := obj.(*v1alpha1.Application)
	if !ok || packedText(app) != "" {
		return obj, nil
	}
	app.ManagedFields = nil
	if reflect.ValueOf(app.Status).IsZero() {
		return app, nil
	}
	text, err := json.Marshal(app.Status)
	if err != nil {
		return nil, fmt.Errorf("keep Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	terminating := operationPhase(app) == v1alpha1.OperationTerminating
	app.Status = v1alpha1.ApplicationStatus{}
	if terminating {
		// Whoever hears of a change has to see this without unpacking.
		app.Status.OperationState = &v1alpha1.OperationState{Phase: v1alpha1.OperationTerminating}
	}
	app.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: packedManager, FieldsV1: metav1.NewFieldsV1(string(p.codec.Pack(text)))}}
	return app, nil
}

// unpack is the reverse of transform.
func (p packer) unpack(app *v1alpha1.Application) error {
	packed := packedText(app)
	if packed == "" {
		return nil
	}
	var status v1alpha1.ApplicationStatus
	text, err := p.codec.Unpack([]byte(packed))
	if err == nil {
		err = json.Unmarshal(text, &status)
	}
	if err != nil {
		return fmt.Errorf("read the cached Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	app.ManagedFields, app.Status = nil, status
	return nil
}

func packedText(app *v1alpha1.Application) string {
	if len(app.ManagedFields) != 1 || app.ManagedFields[0].Manager != packedManager || app.ManagedFields[0].FieldsV1 == nil {
		return ""
	}
	return app.ManagedFields[0].FieldsV1.GetRawString()
}

// unpacking is a client whose cached Applications come whole.
type unpacking struct {
	client.Client

	packer packer
}

// Get implements client.Reader.
func (u unpacking) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := u.Client.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	if app, ok := obj.(*v1alpha1.Application); ok {
		return u.packer.unpack(app)
	}
	return nil
}

// List implements client.Reader.
func (u unpacking) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := u.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	if apps, ok := list.(*v1alpha1.ApplicationList); ok {
		for i := range apps.Items {
			if err := u.packer.unpack(&apps.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest packs what is kept between two looks.
func (st *appState) rest(codec *cluster.Codec) error {
	if st.record == nil || st.run != nil {
		return nil
	}
	text, err := st.memory.Encode()
	if err != nil {
		return err
	}
	st.packed, st.memory = codec.Pack(text), rollout.State{}
	return nil
}

// rise is the reverse of rest.
func (st *appState) rise(codec *cluster.Codec) error {
	if st.packed == nil {
		return nil
	}
	text, err := codec.Unpack(st.packed)
	if err != nil {
		return err
	}
	st.memory, err = rollout.DecodeState(text)
	st.packed = nil
	return err
}
