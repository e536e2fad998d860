// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package livetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// lab is a real control plane with the simulator in it, in a process of its own. Tests share it: each has a
// namespace and a section of the rules.
type lab struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper

	mu       sync.Mutex
	file     string
	sections map[string]string
	requests int
	stdin    io.WriteCloser
	stdout   *bufio.Scanner
	process  *exec.Cmd
}

// rulesConfigMap is where the shared lab takes rules from as well.
const rulesConfigMap = "sim-rules"

func TestMain(m *testing.M) { os.Exit(run(m)) }

// binary is the program under test, built once.
var binary string

// shared is the lab of the tests that need none of their own.
var shared *lab

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sim-test-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // What is left is in a temporary directory.
	binary = filepath.Join(dir, "wavetrain-sandbox")
	if out, err := exec.Command("go", "build", "-o", binary, "../../..").CombinedOutput(); err != nil {
		return fail(fmt.Errorf("build the sandbox: %w: %s", err, out))
	}
	if shared, err = boot(filepath.Join(dir, "data"), "--rules-configmap", "default/"+rulesConfigMap); err != nil {
		return fail(err)
	}
	code := m.Run()
	if err := shared.stop(); err != nil && code == 0 {
		return fail(err)
	}
	return code
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// boot starts a control plane with all rule sets and an empty file of rules.
func boot(dir string, args ...string) (*lab, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &lab{file: filepath.Join(dir, "sim.yaml"), sections: map[string]string{}}
	if err := os.WriteFile(l.file, []byte("rules: []\n"), 0o600); err != nil {
		return nil, err
	}
	l.process = exec.Command(binary, append([]string{
		"--data-dir", dir, "--rules", l.file, "--rule-set", "external-secrets,cnpg", "-o", "json", "--stop-with-parent",
	}, args...)...)
	l.process.Stderr = os.Stderr
	var err error
	if l.stdin, err = l.process.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := l.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.stdout = bufio.NewScanner(stdout)
	if err := l.process.Start(); err != nil {
		return nil, err
	}
	if !l.stdout.Scan() {
		return nil, errors.Join(errors.New("the control plane does not become ready"), l.stop())
	}
	var info struct{ Kubeconfig string }
	if err := json.Unmarshal(l.stdout.Bytes(), &info); err != nil {
		return nil, errors.Join(err, l.stop())
	}
	return l, l.connect(info.Kubeconfig)
}

func (l *lab) connect(kubeconfig string) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	cfg.QPS = -1
	if l.client, err = kubernetes.NewForConfig(cfg); err != nil {
		return err
	}
	l.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(l.client.Discovery()))
	l.dynamic, err = dynamic.NewForConfig(cfg)
	return err
}

func (l *lab) stop() error {
	return errors.Join(l.stdin.Close(), l.process.Wait())
}

// reload has the file of rules read and returns what the simulator says to it.
func (l *lab) reload(text string) error {
	if err := os.WriteFile(l.file+".next", []byte(text), 0o600); err != nil {
		return err
	}
	if err := os.Rename(l.file+".next", l.file); err != nil {
		return err
	}
	l.requests++
	if _, err := fmt.Fprintf(l.stdin, "reload %d\n", l.requests); err != nil {
		return err
	}
	if !l.stdout.Scan() {
		return errors.New("no answer")
	}
	var answer struct{ Error string }
	if err := json.Unmarshal(l.stdout.Bytes(), &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

// bench is a lab as one test sees it.
type bench struct {
	*lab
	*testing.T
	ns string
}

// newBench gives a test a namespace, removed at its end together with its rules.
func newBench(t *testing.T) *bench {
	t.Helper()
	t.Parallel()
	return shared.bench(t)
}

func (l *lab) bench(t *testing.T) *bench {
	t.Helper()
	ns, err := l.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{lab: l, T: t, ns: ns.Name}
	t.Cleanup(func() {
		b.section("")
		// The test is over; the namespace goes away in its own time.
		_ = l.client.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{})
	})
	return b
}

// rules replaces this test's rules: a list whose matches have $NS as their namespace.
func (b *bench) rules(list string) {
	b.Helper()
	if !strings.Contains(list, "$NS") {
		b.Fatal("rules of a test must match its own namespace")
	}
	b.section(list)
}

func (b *bench) section(list string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sections[b.ns] = strings.ReplaceAll(list, "$NS", b.ns)
	text := "rules:\n"
	for _, ns := range slices.Sorted(maps.Keys(b.sections)) {
		text += b.sections[ns] + "\n"
	}
	if err := b.reload(text); err != nil {
		b.Errorf("replace rules: %v", err)
	}
}

// resource is where objects of that kind are found; the kind may be new.
func (b *bench) resource(gvk schema.GroupVersionKind) (dynamic.ResourceInterface, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	mapping, err := b.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		b.mapper.Reset()
		mapping, err = b.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return b.dynamic.Resource(mapping.Resource), nil
	}
	return b.dynamic.Resource(mapping.Resource).Namespace(b.ns), nil
}

// create creates the objects of a YAML text; a kind that is not served yet is tried again.
func (b *bench) create(text string) {
	b.Helper()
	for doc := range strings.SplitSeq(strings.ReplaceAll(text, "$NS", b.ns), "\n---\n") {
		o := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(doc))
		if err == nil {
			err = o.UnmarshalJSON(data)
		}
		if err != nil {
			b.Fatalf("read %q: %v", doc, err)
		}
		b.await("create "+o.GetKind()+"/"+o.GetName(), 10*time.Second, func() (bool, string) {
			api, err := b.resource(o.GroupVersionKind())
			if err != nil {
				return false, err.Error()
			}
			_, err = api.Create(b.Context(), o, metav1.CreateOptions{})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
				b.Fatal(err)
			}
			return err == nil, fmt.Sprint(err)
		})
	}
}

// get returns an object as it is now, or nil.
func (b *bench) get(apiVersion, kind, name string) *unstructured.Unstructured {
	b.Helper()
	api, err := b.resource(schema.FromAPIVersionAndKind(apiVersion, kind))
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		b.Fatal(err)
	}
	o, err := api.Get(b.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.Fatal(err)
	}
	return o
}

// slowMachine is how many times longer than on an idle machine something may take: packages are tested side by side.
const slowMachine = 8

// await asks until the answer is yes, and fails with the last answer otherwise.
func (b *bench) await(what string, limit time.Duration, ask func() (bool, string)) {
	b.Helper()
	limit *= slowMachine
	deadline, ticker := time.NewTimer(limit), time.NewTicker(30*time.Millisecond)
	defer deadline.Stop()
	defer ticker.Stop()
	for {
		ok, state := ask()
		if ok {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			b.Fatalf("%s: not within %s: %s", what, limit, state)
		}
	}
}

// holds fails if the answer becomes no within a time.
func (b *bench) holds(what string, during time.Duration, ask func() (bool, string)) {
	b.Helper()
	end, ticker := time.NewTimer(during), time.NewTicker(50*time.Millisecond)
	defer end.Stop()
	defer ticker.Stop()
	for {
		if ok, state := ask(); !ok {
			b.Fatalf("%s: no longer so: %s", what, state)
		}
		select {
		case <-ticker.C:
		case <-end.C:
			return
		}
	}
}

// awaitField waits until a field of an object reads as wanted.
func (b *bench) awaitField(apiVersion, kind, name, path, want string) {
	b.Helper()
	b.await(fmt.Sprintf("%s of %s/%s is %q", path, kind, name, want), 20*time.Second, func() (bool, string) {
		o := b.get(apiVersion, kind, name)
		if o == nil {
			return false, "no such object"
		}
		got := field(o.Object, path)
		return got == want, got
	})
}

// field reads a path such as status.conditions.Ready.reason, where an element of conditions is named by its
// type.
func field(value any, path string) string {
	for part := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			value = nil
			for i, element := range v {
				m, _ := element.(map[string]any)
				if m["type"] == part || fmt.Sprint(i) == part {
					value = element
				}
			}
		default:
			value = nil
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// pods describes the Pods that a label selects: name, phase, readiness and why they wait.
func (b *bench) pods(selector string) []corev1.Pod {
	b.Helper()
	list, err := b.client.CoreV1().Pods(b.ns).List(b.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		b.Fatal(err)
	}
	return list.Items
}

func waitingReason(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if w := pod.Status.ContainerStatuses[i].State.Waiting; w != nil {
			return w.Reason + ": " + w.Message
		}
	}
	return ""
}

// awaitEvent waits for an Event with that reason whose message contains a text.
func (b *bench) awaitEvent(kind, reason, text string) {
	b.Helper()
	b.await("event "+reason+" on a "+kind, 15*time.Second, func() (bool, string) {
		list, err := b.client.CoreV1().Events("").List(b.Context(), metav1.ListOptions{
			FieldSelector: "reason=" + reason + ",involvedObject.kind=" + kind + ",involvedObject.namespace=" + b.ns,
		})
		if err != nil {
			return false, err.Error()
		}
		state := "no such event"
		for i := range list.Items {
			if state = list.Items[i].Message; strings.Contains(state, text) {
				return true, ""
			}
		}
		return false, state
	})
}

// deployment is a Deployment named web, with more fields of its Pods' spec.
func deployment(replicas int, image, more string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "%s", resources: {requests: {cpu: 100m}}%s}]
`, replicas, image, more)
}

// job is a Job, with more fields of its spec.
func job(name, more string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  backoffLimit: 3
  template:
    metadata: {labels: {app: %s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "job:1"}]%s}
`, name, name, more)
}
