// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

func TestPackAndUnpack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		parts, err := Pack(payload)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Pack(payload)
		if err != nil || !cmp.Equal(parts, again) {
			t.Fatalf("packing twice differs (%v)", err)
		}
		got, err := Unpack(parts)
		if err != nil || !bytes.Equal(got, payload) {
			t.Fatalf("unpacked %q (%v), want %q", got, err, payload)
		}
	})
}

// noise is a payload that cannot be compressed, so that it needs several parts.
func noise(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	payload := make([]byte, n)
	for i := range payload {
		payload[i] = byte(random.Uint32())
	}
	return payload
}

// A packer gives the same for the same, whatever it has packed before.
func TestPackersRememberNothing(t *testing.T) {
	var p Packer
	for _, payload := range [][]byte{noise(1000), {}, []byte("one"), noise(300 << 10), []byte("one")} {
		want, err := Pack(payload)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Pack(payload); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d bytes are packed otherwise after others (%v)", len(payload), err)
		}
	}
}

func TestSeveralParts(t *testing.T) {
	payload := noise(600 << 10)
	parts, err := Pack(payload)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) != 4 {
		t.Errorf("600 KiB of noise take %d parts, want 4", len(parts))
	}
	for i, p := range parts {
		if len(p) > MaxPartLength || len(p) == 0 {
			t.Errorf("part %d has %d characters", i+1, len(p))
		}
	}
	got, err := Unpack(parts)
	if err != nil || !bytes.Equal(got, payload) {
		t.Errorf("unpacking %d parts does not give the payload back (%v)", len(parts), err)
	}
}

func TestDamage(t *testing.T) {
	parts, err := Pack(noise(600 << 10))
	if err != nil {
		t.Fatal(err)
	}
	swapped := slices.Clone(parts)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	changed := slices.Clone(parts)
	changed[1] = strings.Replace(changed[1], changed[1][100:104], "AAAA", 1)
	for name, damaged := range map[string][]string{
		"none": nil, "empty": {""}, "no base64": {"{}"}, "first missing": parts[1:], "last missing": parts[:3],
		"middle missing": {parts[0], parts[1], parts[3]}, "swapped": swapped, "changed": changed,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Unpack(damaged); err == nil {
				t.Errorf("damaged parts give %d bytes, want an error", len(got))
			}
		})
	}
}

func TestTooLong(t *testing.T) {
	if _, err := Pack(make([]byte, MaxPayloadLength+1)); err == nil {
		t.Error("a payload beyond the limit was packed")
	}
}

func TestPartName(t *testing.T) {
	if got := PartName("shop", 1); got != "shop" {
		t.Errorf("the first part is called %q, want the Application's name", got)
	}
	if got := PartName("shop", 2); got == "shop-2" || len(validation.IsDNS1123Subdomain(got)) > 0 {
		t.Errorf("the second part is called %q, want a valid name that is not that of an Application's sibling", got)
	}
}
