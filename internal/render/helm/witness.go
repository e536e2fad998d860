// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Witness notes the calls of template functions whose result does not follow from
// their arguments.
type Witness struct {
	mu sync.Mutex
	// calls maps a function to what it returned, as texts.
	calls map[string][]string
	// Lookups are the objects that templates asked the cluster for; Answered tells
	// whether any was there.
	Lookups  []Lookup
	Answered bool
	// places maps a function to the places that use it.
	places map[string][]string
	// texts maps checksums to what they were made of, kept is how long that is.
	texts map[string]string
	kept  int
}

// NewWitness makes a Witness.
func NewWitness() *Witness {
	return &Witness{calls: map[string][]string{}, places: map[string][]string{}, texts: map[string]string{}}
}

// restless are the functions of templates that may return something else each
// time. Those on dates do if they are given none.
func restless() []string {
	return []string{
		"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "uuidv4", "now", "ago", "shuffle",
		"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
		"htpasswd", "bcrypt", "encryptAES", "keys", "values",
		"date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone",
	}
}

// maxWitnessed bounds the texts that are kept per function.
const maxWitnessed = 64

// originals are the functions as Helm has them. The library makes them anew whenever
// it is asked.
var originals = sync.OnceValue(sprig.TxtFuncMap) //nolint:gochecknoglobals // it never changes

// functions returns the restless functions, watched.
func (w *Witness) functions() template.FuncMap {
	watched := template.FuncMap{}
	w.sums(watched)
	for _, name := range restless() {
		original := reflect.ValueOf(originals()[name])
		if !original.IsValid() {
			continue
		}
		call := original.Call
		if original.Type().IsVariadic() {
			call = original.CallSlice
		}
		watched[name] = reflect.MakeFunc(original.Type(), func(args []reflect.Value) []reflect.Value {
			results := call(args)
			if moves(name, args, results) {
				w.called(name, results)
			}
			return results
		}).Interface()
	}
	return watched
}

// moves tells whether this call could have returned something else.
func moves(name string, args, results []reflect.Value) bool {
	switch {
	case name == "keys" || name == "values":
		return results[0].Len() > 1
	case strings.Contains(strings.ToLower(name), "date"):
		for _, arg := range args {
			if arg.Kind() == reflect.Interface && !arg.IsNil() {
				switch arg.Interface().(type) {
				case time.Time, *time.Time, int64, int, int32:
					return false
				}
			}
		}
	}
	return true
}

func (w *Witness) called(name string, results []reflect.Value) {
	var texts []string
	switch v := results[0]; {
	case v.Kind() == reflect.String:
		texts = append(texts, v.String())
	case v.Kind() == reflect.Struct && v.Type().Name() == "certificate":
		for _, field := range v.Fields() {
			if field.Kind() == reflect.String {
				texts = append(texts, field.String())
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	room := max(maxWitnessed-len(w.calls[name]), 0)
	w.calls[name] = append(w.calls[name], texts[:min(room, len(texts))]...)
}

// Moved tells whether a rendering could come out differently.
func (w *Witness) Moved() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls) > 0
}

// Values are the texts that the functions returned, the longest first.
func (w *Witness) Values() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, texts := range w.calls {
		list = append(list, texts...)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(list)
}

// minTelling is how long a value must be to tell whose it is.
const minTelling = 4

// Explain says which function made a value, and where it is used.
func (w *Witness) Explain(value any) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.Sorted(maps.Keys(w.calls))
	if text, ok := value.(string); ok {
		plain := text
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			plain += "\n" + string(decoded)
		}
		made := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return !slices.ContainsFunc(w.calls[name], func(result string) bool {
				return len(result) >= minTelling && strings.Contains(plain, result)
			})
		})
		if len(made) > 0 {
			return w.describe(made)
		}
	}
	if len(names) == 0 {
		return "by what the cluster answers to lookup"
	}
	return "derived from " + w.describe(names)
}

func (w *Witness) describe(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = name
		if places := w.places[name]; len(places) > 0 {
			list[i] = fmt.Sprintf("%s at %s", name, strings.Join(places, ", "))
		}
	}
	return strings.Join(list, " and ")
}

// maxPlaces is how many places that use a function are named.
const maxPlaces = 3

// locate finds where the functions that were called stand in the templates.
func (w *Witness) locate(c *loaded) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.calls {
		word := regexp.MustCompile(`\b` + name + `\b`)
		w.places[name] = nil
		c.eachTemplate(c.chart, func(file, text string) {
			for at, line := range strings.Split(text, "\n") {
				if len(w.places[name]) < maxPlaces && word.MatchString(line) && path.Ext(file) != ".txt" {
					w.places[name] = append(w.places[name], fmt.Sprintf("%s:%d", file, at+1))
				}
			}
		})
	}
}

func (c *loaded) eachTemplate(ch *chart.Chart, visit func(file, text string)) {
	for _, t := range ch.Templates {
		visit(c.origin[t], string(t.Data))
	}
	for _, sub := range ch.Dependencies() {
		c.eachTemplate(sub, visit)
	}
}
