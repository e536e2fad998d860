// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	releasev1alpha1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/release"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
)

var errBoom = errors.New("boom")

// bench is an Application's stand-in and a client to a real API server.
type bench struct {
	*testing.T
	client client.WithWatch
	// app stands for the Application; of it only name and uid matter.
	app *corev1.ConfigMap
}

func newBench(t *testing.T) *bench {
	t.Helper()
	env := sandboxtest.Start(t, sandboxtest.Options{})
	if _, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{
		Paths: []string{"../../api/crds/wavetrain.dev_releaserecords.yaml"}, ErrorIfPathMissing: true, MaxTime: 3 * time.Minute,
	}); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, releasev1alpha1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.NewWithWatch(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	app := &corev1.ConfigMap{}
	app.Namespace, app.Name = env.Namespace(t), "shop"
	if err := c.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	return &bench{T: t, client: c, app: app}
}

func (b *bench) load(c client.Client) (*release.Record, []byte) {
	b.Helper()
	r, payload, err := release.Load(b.Context(), c, client.ObjectKeyFromObject(b.app), b.app)
	if err != nil {
		b.Fatal(err)
	}
	return r, payload
}

func (b *bench) save(r *release.Record, payload []byte) {
	b.Helper()
	if err := r.Save(b.Context(), payload, release.Summary{Operation: "op-1", Phase: "Running", Attempts: 1}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) mustHold(want []byte) {
	b.Helper()
	if _, got := b.load(b.client); !bytes.Equal(got, want) {
		b.Fatalf("loaded %d bytes, want %d equal ones", len(got), len(want))
	}
}

func (b *bench) parts() []string {
	b.Helper()
	var list releasev1alpha1.ReleaseRecordList
	if err := b.client.List(b.Context(), &list, client.InNamespace(b.app.Namespace)); err != nil {
		b.Fatal(err)
	}
	names := []string{}
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

// noise is a payload that does not compress: 300 KiB make two parts.
func noise(seed uint64, size int) []byte {
	source := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	return data
}

func TestSaveAndLoad(t *testing.T) {
	b := newBench(t)
	r, payload := b.load(b.client)
	if payload != nil {
		t.Fatalf("an Application without a record has the payload %q", payload)
	}
	b.save(r, []byte("one"))
	b.mustHold([]byte("one"))
	b.save(r, []byte("two"))
	b.mustHold([]byte("two"))

	first := &releasev1alpha1.ReleaseRecord{}
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(b.app), first); err != nil {
		t.Fatal(err)
	}
	if refs := first.OwnerReferences; len(refs) != 1 || refs[0].UID != b.app.UID || refs[0].Kind != "ConfigMap" {
		t.Errorf("the record's owners are %v", refs)
	}
	if first.Operation != "op-1" || first.Phase != "Running" || first.Application != "shop" {
		t.Errorf("the record's summary is %+v", first)
	}
}

func TestParts(t *testing.T) {
	b := newBench(t)
	r, _ := b.load(b.client)
	for _, step := range []struct {
		reason string
		size   int
		parts  []string
	}{
		{"small payloads fit into the first part", 100, []string{"shop"}},
		{"three parts are needed", 500 << 10, []string{"shop", "shop.2", "shop.3"}},
		{"a write goes to parts that are not in use", 510 << 10, []string{"shop", "shop.4", "shop.5"}},
		{"numbers that are free again are used again", 300 << 10, []string{"shop", "shop.2"}},
		{"parts that are out of use are deleted", 10, []string{"shop"}},
	} {
		payload := noise(uint64(step.size), step.size)
		b.save(r, payload)
		b.mustHold(payload)
		if diff := cmp.Diff(step.parts, b.parts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
}

func TestConflict(t *testing.T) {
	b := newBench(t)
	early, _ := b.load(b.client)
	mine, _ := b.load(b.client)
	b.save(mine, []byte("mine"))
	if err := early.Save(t.Context(), []byte("theirs"), release.Summary{}); !release.IsConflict(err) {
		t.Errorf("creating a record that somebody else has created: %v, want a conflict", err)
	}
	late, _ := b.load(b.client)
	b.save(mine, []byte("mine again"))
	if err := late.Save(t.Context(), noise(1, 300<<10), release.Summary{}); !release.IsConflict(err) {
		t.Errorf("overwriting what was not read: %v, want a conflict", err)
	}
	b.mustHold([]byte("mine again"))
}

// A process that dies between the parts leaves the record as it was.
func TestTornWrite(t *testing.T) {
	b := newBench(t)
	r, _ := b.load(b.client)
	before, after := noise(1, 300<<10), noise(2, 500<<10)
	b.save(r, before)
	for dies := range 3 {
		writes := 0
		fail := func() error {
			if writes++; writes > dies {
				return errBoom
			}
			return nil
		}
		dying, _ := b.load(interceptor.NewClient(b.client, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := fail(); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				if err := fail(); err != nil {
					return err
				}
				return c.Update(ctx, o, opts...)
			},
		}))
		if err := dying.Save(t.Context(), after, release.Summary{}); !errors.Is(err, errBoom) {
			t.Fatalf("after %d writes: %v, want boom", dies, err)
		}
		b.mustHold(before)
	}
	again, _ := b.load(b.client)
	b.save(again, after)
	b.mustHold(after)
}

// A write whose answer is lost is not taken for somebody else's.
func TestLostAnswer(t *testing.T) {
	b := newBench(t)
	lose := true
	r, _ := b.load(interceptor.NewClient(b.client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			err := c.Create(ctx, o, opts...)
			if lose {
				lose = false
				return errBoom
			}
			return err
		},
	}))
	if err := r.Save(t.Context(), []byte("one"), release.Summary{}); !errors.Is(err, errBoom) {
		t.Fatalf("%v, want boom", err)
	}
	b.save(r, []byte("one"))
	b.save(r, []byte("two"))
	b.mustHold([]byte("two"))
}

// An Application that was deleted and made anew does not inherit the record, and
// can replace it before the garbage collector has.
func TestFormerApplication(t *testing.T) {
	b := newBench(t)
	r, _ := b.load(b.client)
	b.save(r, []byte("former"))
	former := b.app.UID
	b.app.UID = "another"
	anew, payload := b.load(b.client)
	if payload != nil {
		t.Errorf("the record of %s is read by its successor: %q", former, payload)
	}
	b.app.UID = former
	if err := anew.Save(t.Context(), []byte("new"), release.Summary{}); err != nil {
		t.Error(err)
	}
}

func TestDamage(t *testing.T) {
	b := newBench(t)
	r, _ := b.load(b.client)
	b.save(r, noise(3, 300<<10))
	part := &releasev1alpha1.ReleaseRecord{}
	part.Namespace, part.Name = b.app.Namespace, "shop.2"
	if err := b.client.Delete(t.Context(), part); err != nil {
		t.Fatal(err)
	}
	_, _, err := release.Load(t.Context(), b.client, client.ObjectKeyFromObject(b.app), b.app)
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "shop.2") {
		t.Errorf("loading a record without its second part: %v", err)
	}
}
