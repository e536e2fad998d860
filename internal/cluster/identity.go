// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	rv "k8s.io/apimachinery/pkg/util/resourceversion"
)

// identity is a UID as it indexes the cache: the bytes of a UUID, which is what
// API servers give out, or a digest of anything else.
type identity [16]byte

// identify returns the identity of a UID, and whether it can be written out
// again.
func identify(uid types.UID) (id identity, exact bool) {
	if len(uid) == 36 && uid[8] == '-' && uid[13] == '-' && uid[18] == '-' && uid[23] == '-' {
		var digits [32]byte
		copy(digits[:8], uid[:8])
		copy(digits[8:12], uid[9:13])
		copy(digits[12:16], uid[14:18])
		copy(digits[16:20], uid[19:23])
		copy(digits[20:], uid[24:])
		if _, err := hex.Decode(id[:], digits[:]); err == nil && id.uid() == uid {
			return id, true
		}
	}
	sum := sha256.Sum256([]byte(uid))
	copy(id[:], sum[:])
	return id, false
}

// uid writes the identity of a UUID out.
func (id identity) uid() types.UID {
	var text [36]byte
	hex.Encode(text[:8], id[:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:], id[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return types.UID(text[:])
}

// resourceVersion is a resourceVersion. One etcd counts all writes, so those of one
// cluster are numbers that can be compared; an aggregated API may have others.
type resourceVersion struct {
	number uint64
	// odd is a version that is no number.
	odd string
}

func parseVersion(version string) resourceVersion {
	if version == "" || version[0] == '0' {
		return resourceVersion{odd: version}
	}
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return resourceVersion{odd: version}
	}
	return resourceVersion{number: n}
}

func (r resourceVersion) String() string {
	if r.number == 0 {
		return r.odd
	}
	return strconv.FormatUint(r.number, 10)
}

// newer reports whether r is of a later state than o, of the same object or of
// objects of the same kind. Versions that are no numbers cannot be compared; what
// arrives later then counts as newer.
func (r resourceVersion) newer(o resourceVersion) bool {
	if r.number > 0 && o.number > 0 {
		return r.number > o.number
	}
	order, err := rv.CompareResourceVersion(r.String(), o.String())
	if err != nil {
		return r != o
	}
	return order > 0
}
