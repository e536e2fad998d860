// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
)

// TrackingID names the application that an object belongs to and the object
// itself, so that a copied annotation can be told from an original one.
type TrackingID struct {
	// App is the application's instance name: "name", or "namespace_name" for an
	// Application outside the control namespace.
	App string
	// Key is the object. A cluster-scoped object carries the application's
	// destination namespace here.
	Key Key
}

// String returns the id as Argo CD writes it: "app:group/Kind:namespace/name".
func (t TrackingID) String() string {
	return t.App + ":" + t.Key.Group + "/" + t.Key.Kind + ":" + t.Key.Namespace + "/" + t.Key.Name
}

// Names reports whether the id is the one of the object with key k; the
// namespace does not count when k has none.
func (t TrackingID) Names(k Key) bool {
	return t.Key.Group == k.Group && t.Key.Kind == k.Kind && t.Key.Name == k.Name &&
		(k.Namespace == "" || k.Namespace == t.Key.Namespace)
}

// FormatTrackingID returns the tracking id of the object with key k in the
// application app; an object without namespace is given the destination's.
func FormatTrackingID(app, destNamespace string, k Key) string {
	if k.Namespace == "" {
		k.Namespace = destNamespace
	}
	return TrackingID{App: app, Key: k}.String()
}

// ParseTrackingID reads a tracking id. The name of an object may contain colons,
// the name of an application may not.
func ParseTrackingID(s string) (TrackingID, error) {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) != 3 {
		return TrackingID{}, fmt.Errorf("parse tracking id %q: want app:group/Kind:namespace/name", s)
	}
	group, kind, ok := cutOnce(parts[1])
	if !ok {
		return TrackingID{}, fmt.Errorf("parse tracking id %q: %q is not group/Kind", s, parts[1])
	}
	namespace, name, ok := cutOnce(parts[2])
	if !ok {
		return TrackingID{}, fmt.Errorf("parse tracking id %q: %q is not namespace/name", s, parts[2])
	}
	return TrackingID{App: parts[0], Key: Key{Group: group, Kind: kind, Namespace: namespace, Name: name}}, nil
}

// cutOnce splits s at its only slash.
func cutOnce(s string) (before, after string, ok bool) {
	before, after, ok = strings.Cut(s, "/")
	return before, after, ok && !strings.Contains(after, "/")
}
