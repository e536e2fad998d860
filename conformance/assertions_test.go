// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/timeline"
)

// assertion says why what it claims does not hold now, nil if it does. A
// hopeless error says that waiting will not change that.
type assertion func(ctx context.Context, w *world, args []string) error

// errHopeless marks an assertion that cannot become true, or that is no
// assertion at all.
var errHopeless = errors.New("for good")

func hopeless(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errHopeless}, args...)...)
}

// assert waits until the assertion holds; a negated one until it does not.
func (w *world) assert(ts *testscript.TestScript, neg bool, ask assertion, args []string) {
	ctx := w.t.Context()
	err := w.eventually(ctx, func() error {
		err := ask(ctx, w, args)
		if neg && !errors.Is(err, errHopeless) {
			if err == nil {
				return errors.New("it holds")
			}
			return nil
		}
		return err
	})
	if err != nil {
		ts.Fatalf("%v", err)
	}
}

// eventually returns nil as soon as check does, and its last error when patience is
// over.
func (w *world) eventually(ctx context.Context, check func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		if errors.Is(last, errHopeless) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// present OBJECT [PATH=VALUE...]: the object is there, and so are its fields.
func present(ctx context.Context, w *world, args []string) error {
	if len(args) == 0 {
		return hopeless("present OBJECT [PATH=VALUE...]")
	}
	r, err := w.ref(args[0])
	if err != nil {
		return hopeless("%v", err)
	}
	obj, err := w.get(ctx, r)
	if err != nil {
		return err
	}
	for _, text := range args[1:] {
		c, err := parseCondition(text)
		if err != nil {
			return hopeless("%v", err)
		}
		value, err := field(obj, c.left)
		if err != nil {
			return hopeless("%s: %v", c.left, err)
		}
		if !c.holds(value) {
			return fmt.Errorf("%s: %s is %q, not %s %q", r, c.left, value, c.operator, c.right)
		}
	}
	return nil
}

// agree OBJECT PATH OBJECT PATH...: the fields are there and have one value.
func agree(ctx context.Context, w *world, args []string) error {
	if len(args) < 4 || len(args)%2 != 0 {
		return hopeless("agree OBJECT PATH OBJECT PATH...")
	}
	var first string
	for i := 0; i < len(args); i += 2 {
		r, err := w.ref(args[i])
		if err != nil {
			return hopeless("%v", err)
		}
		obj, err := w.get(ctx, r)
		if err != nil {
			return err
		}
		value, err := field(obj, args[i+1])
		switch {
		case err != nil:
			return hopeless("%s: %v", args[i+1], err)
		case value == "":
			return fmt.Errorf("%s has no %s", r, args[i+1])
		case i > 0 && value != first:
			return fmt.Errorf("%s of %s is not %s of %s", args[i+1], r, args[1], args[0])
		}
		first = value
	}
	return nil
}

// absent OBJECT...: none of them is there.
func absent(ctx context.Context, w *world, args []string) error {
	for _, arg := range args {
		r, err := w.ref(arg)
		if err != nil {
			return hopeless("%v", err)
		}
		obj, err := w.get(ctx, r)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		case err != nil:
			return err
		default:
			return fmt.Errorf("%s exists, deleted at %v, held by %v", r, obj.GetDeletionTimestamp(), obj.GetFinalizers())
		}
	}
	return nil
}

// inOrder OBJECT WHAT < OBJECT WHAT...: the API server's events came in that
// order. WHAT:2 is the second time it happened.
func inOrder(_ context.Context, w *world, args []string) error {
	var chain []timeline.Moment
	for i := 0; i < len(args); i += 3 {
		if i+1 >= len(args) || i+2 < len(args) && args[i+2] != "<" {
			return hopeless("order OBJECT WHAT < OBJECT WHAT ...")
		}
		r, err := w.ref(args[i])
		if err != nil {
			return hopeless("%v", err)
		}
		what, nth, err := occurrence(args[i+1])
		if err != nil {
			return hopeless("%v", err)
		}
		found := w.history.find(r, what)
		if len(found) < nth {
			return fmt.Errorf("%s was %s %d times", r, what, len(found))
		}
		chain = append(chain, found[nth-1])
	}
	for i := 1; i < len(chain); i++ {
		before, after := chain[i-1], chain[i]
		if before.ResourceVersion >= after.ResourceVersion {
			return hopeless("%s was %s at %d, %s %s at %d", before.Key.Short(), before.What, before.ResourceVersion, after.Key.Short(), after.What, after.ResourceVersion)
		}
	}
	return nil
}

// soon OBJECT WHAT < OBJECT WHAT DURATION: in that order, and no longer apart than
// that, by when the events arrived.
func soon(ctx context.Context, w *world, args []string) error {
	if len(args) != 6 {
		return hopeless("soon OBJECT WHAT < OBJECT WHAT DURATION")
	}
	limit, err := time.ParseDuration(args[5])
	if err != nil {
		return hopeless("%v", err)
	}
	if err := inOrder(ctx, w, args[:5]); err != nil {
		return err
	}
	var at [2]time.Time
	for i := range at {
		r, err := w.ref(args[3*i])
		if err != nil {
			return hopeless("%v", err)
		}
		what, nth, err := occurrence(args[3*i+1])
		if err != nil {
			return hopeless("%v", err)
		}
		at[i] = w.history.find(r, what)[nth-1].Time
	}
	if gap := at[1].Sub(at[0]); gap > limit {
		return hopeless("%s passed", gap)
	}
	return nil
}

func occurrence(text string) (timeline.What, int, error) {
	word, number, counted := strings.Cut(text, ":")
	what := timeline.What(word)
	if !slices.Contains([]timeline.What{timeline.Created, timeline.Done, timeline.Failed, timeline.Deleted}, what) {
		return "", 0, fmt.Errorf("%q is none of created, done, failed, deleted", word)
	}
	if !counted {
		return what, 1, nil
	}
	n, err := strconv.Atoi(number)
	return what, n, err
}

// never OBJECT WHAT...: it has not happened so far.
func never(_ context.Context, w *world, args []string) error {
	if len(args)%2 != 0 || len(args) == 0 {
		return hopeless("never OBJECT WHAT ...")
	}
	for i := 0; i < len(args); i += 2 {
		r, err := w.ref(args[i])
		if err != nil {
			return hopeless("%v", err)
		}
		what, nth, err := occurrence(args[i+1])
		if err != nil {
			return hopeless("%v", err)
		}
		if found := w.history.find(r, what); len(found) >= nth {
			return hopeless("%s was %s", found[nth-1].Key, what)
		}
	}
	return nil
}

// runs OBJECT N: it was created so often, a wildcard for generated names.
func runs(_ context.Context, w *world, args []string) error {
	if len(args) != 2 {
		return hopeless("runs OBJECT N")
	}
	r, err := w.ref(args[0])
	if err != nil {
		return hopeless("%v", err)
	}
	want, err := strconv.Atoi(args[1])
	if err != nil {
		return hopeless("%v", err)
	}
	if got := len(w.history.find(r, timeline.Created)); got > want {
		return hopeless("%s was created %d times, not %d", r, got, want)
	} else if got < want {
		return fmt.Errorf("%s was created %d times, not %d", r, got, want)
	}
	return nil
}

// same OBJECT...: it is the object that was remembered, whatever its content.
func same(ctx context.Context, w *world, args []string) error {
	return w.compared(ctx, args, func(before, now *unstructured.Unstructured) bool { return before.GetUID() == now.GetUID() })
}

// unchanged OBJECT...: nobody has written the object since it was remembered.
func unchanged(ctx context.Context, w *world, args []string) error {
	return w.compared(ctx, args, func(before, now *unstructured.Unstructured) bool {
		return before.GetUID() == now.GetUID() && before.GetResourceVersion() == now.GetResourceVersion()
	})
}

// recreated OBJECT...: it is another object than the one remembered.
func recreated(ctx context.Context, w *world, args []string) error {
	return w.compared(ctx, args, func(before, now *unstructured.Unstructured) bool { return before.GetUID() != now.GetUID() })
}

func (w *world) compared(ctx context.Context, args []string, fine func(before, now *unstructured.Unstructured) bool) error {
	for _, arg := range args {
		before := w.marks[arg]
		if before == nil {
			return hopeless("%s was not remembered", arg)
		}
		r, err := w.ref(arg)
		if err != nil {
			return hopeless("%v", err)
		}
		now, err := w.get(ctx, r)
		if err != nil {
			return err
		}
		if !fine(before, now) {
			return fmt.Errorf("%s was %s at %s, is %s at %s", arg, before.GetUID(), before.GetResourceVersion(), now.GetUID(), now.GetResourceVersion())
		}
	}
	return nil
}

// managed OBJECT MANAGER OPERATION: managedFields has such an entry.
func managed(ctx context.Context, w *world, args []string) error {
	if len(args) != 3 {
		return hopeless("manager OBJECT MANAGER OPERATION")
	}
	r, err := w.ref(args[0])
	if err != nil {
		return hopeless("%v", err)
	}
	obj, err := w.get(ctx, r)
	if err != nil {
		return err
	}
	var found []string
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == args[1] && string(entry.Operation) == args[2] {
			return nil
		}
		found = append(found, entry.Manager+" "+string(entry.Operation))
	}
	return fmt.Errorf("%s is managed by %s", r, strings.Join(found, ", "))
}

// mayDo ACCOUNT VERB RESOURCE: who authorizes requests lets that service account of
// the destination namespace do that there.
func mayDo(ctx context.Context, w *world, args []string) error {
	if len(args) != 3 {
		return hopeless("may ACCOUNT VERB RESOURCE")
	}
	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.target},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + w.target + ":" + args[0],
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: w.target, Verb: args[1], Resource: args[2]},
		},
	}
	if err := w.client.Create(ctx, review); err != nil {
		return hopeless("%v", err)
	}
	if !review.Status.Allowed {
		return fmt.Errorf("%s may not %s %s", args[0], args[1], args[2])
	}
	return nil
}

// asJSON turns the YAML of a script's line into JSON.
func asJSON(text string) ([]byte, error) { return yaml.YAMLToJSON([]byte(text)) }
