// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package crds_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	releasev1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
	argov1 "github.com/wavetrain/wavetrain/api/v1alpha1"

	"github.com/wavetrain/wavetrain/api/crds"
)

// maxApplied is the longest object `kubectl apply` can keep in its last-applied annotation.
const maxApplied = 256 << 10

// server checks objects as an API server with our definitions does.
type server struct {
	structural map[string]*structuralschema.Structural
	validator  map[string]validation.SchemaValidator
}

func newServer(t *testing.T) server {
	t.Helper()
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	s := server{structural: map[string]*structuralschema.Structural{}, validator: map[string]validation.SchemaValidator{}}
	for _, crd := range all {
		root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		internal := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(root, internal, nil); err != nil {
			t.Fatalf("%s: %v", crd.Name, err)
		}
		if s.structural[crd.Spec.Names.Kind], err = structuralschema.NewStructural(internal); err != nil {
			t.Fatalf("%s has a schema that is not structural: %v", crd.Name, err)
		}
		if s.validator[crd.Spec.Names.Kind], _, err = validation.NewSchemaValidator(internal); err != nil {
			t.Fatalf("%s: %v", crd.Name, err)
		}
	}
	return s
}

// check returns what the server would refuse obj for.
func (s server) check(t *testing.T, obj map[string]any) string {
	t.Helper()
	kind, _ := obj["kind"].(string)
	validator, ok := s.validator[kind]
	if !ok {
		t.Fatalf("no definition of kind %q", kind)
	}
	if errs := validation.ValidateCustomResource(nil, obj, validator); len(errs) > 0 {
		return errs.ToAggregate().Error()
	}
	return ""
}

// pruned returns the paths of the fields the server would drop from obj.
func (s server) pruned(obj map[string]any) []string {
	kind, _ := obj["kind"].(string)
	copied := runtime.DeepCopyJSON(obj)
	return pruning.PruneWithOptions(copied, s.structural[kind], true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

func TestDefinitionsAreValid(t *testing.T) {
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		t.Run(crd.Name, func(t *testing.T) {
			internal := &apiextensions.CustomResourceDefinition{}
			apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
				t.Fatal(err)
			}
			internal.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
			for _, e := range apiextensionsvalidation.ValidateCustomResourceDefinition(t.Context(), internal) {
				t.Error(e)
			}
			if text, err := json.Marshal(crd); err != nil || len(text) > maxApplied {
				t.Errorf("the definition has %d bytes (%v), kubectl apply takes %d", len(text), err, maxApplied)
			}
		})
	}
}

func TestNames(t *testing.T) {
	type names struct {
		Plural    string
		Short     []string
		Columns   []string
		Hidden    []string
		NoStatus  bool
		Namespace bool
	}
	want := map[string]names{
		"Application": {
			Plural: "applications", Short: []string{"app", "apps"}, NoStatus: true, Namespace: true,
			Columns: []string{"Sync Status", "Health Status"}, Hidden: []string{"Revision", "Project"},
		},
		"AppProject": {Plural: "appprojects", Short: []string{"appproj", "appprojs"}, NoStatus: true, Namespace: true},
		"ReleaseRecord": {
			Plural: "releaserecords", Short: []string{"rr"}, NoStatus: true, Namespace: true,
			Columns: []string{"Phase", "Revision", "Attempts", "Operation", "Age"}, Hidden: []string{"Plan", "Part"},
		},
	}
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]names{}
	for _, crd := range all {
		v := crd.Spec.Versions[0]
		n := names{
			Plural: crd.Spec.Names.Plural, Short: crd.Spec.Names.ShortNames,
			NoStatus: v.Subresources == nil || v.Subresources.Status == nil, Namespace: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		}
		for _, c := range v.AdditionalPrinterColumns {
			if c.Priority == 0 {
				n.Columns = append(n.Columns, c.Name)
			} else {
				n.Hidden = append(n.Hidden, c.Name)
			}
		}
		got[crd.Spec.Names.Kind] = n
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

func TestYAMLHoldsAllDefinitions(t *testing.T) {
	text, err := crds.YAML()
	if err != nil {
		t.Fatal(err)
	}
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	documents := yaml.NewDocumentDecoder(readCloser{bytes.NewReader(text)})
	for _, want := range all {
		buffer := make([]byte, len(text))
		n, err := documents.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		got := &apiextensionsv1.CustomResourceDefinition{}
		if err := sigsyaml.Unmarshal(buffer[:n], got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-All +YAML):\n%s", want.Name, diff)
		}
	}
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// TestAcceptedManifests runs every object of testdata through the definitions and through the Go types: it is valid,
// loses nothing to pruning, is understood without an unknown field, and comes back as it was. The first comment of
// each document says what it stands for.
func TestAcceptedManifests(t *testing.T) {
	s := newServer(t)
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests in testdata (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range strings.Split(string(text), "\n---\n") {
			obj := map[string]any{}
			if err := sigsyaml.UnmarshalStrict([]byte(document), &obj); err != nil {
				t.Fatalf("%s: document %d: %v", file, i+1, err)
			}
			metadata, _ := obj["metadata"].(map[string]any)
			name, _ := metadata["name"].(string)
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				if refused := s.check(t, obj); refused != "" {
					t.Errorf("refused: %s", refused)
				}
				if lost := s.pruned(obj); len(lost) > 0 {
					t.Errorf("fields the definition does not know: %s", strings.Join(lost, ", "))
				}
				roundTrip(t, obj)
			})
		}
	}
}

// roundTrip reads obj into its Go type and writes it again.
func roundTrip(t *testing.T, obj map[string]any) {
	t.Helper()
	gv, err := schema.ParseGroupVersion(obj["apiVersion"].(string))
	if err != nil {
		t.Fatal(err)
	}
	typed, err := scheme(t).New(gv.WithKind(obj["kind"].(string)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	if err := sigsyaml.UnmarshalStrict(text, typed); err != nil {
		t.Fatalf("the Go type does not know a field: %v", err)
	}
	back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed.DeepCopyObject())
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(again, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writing the object back changes it (-read +written):\n%s", diff)
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{argov1.AddToScheme, releasev1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestRefusedManifests(t *testing.T) {
	s := newServer(t)
	application := func(spec string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, spec: " + spec + "}"
	}
	project := func(spec string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: p}, spec: " + spec + "}"
	}
	record := func(fields string) string {
		return "{apiVersion: wavetrain.dev/v1alpha1, kind: ReleaseRecord, metadata: {name: r}, " + fields + "}"
	}
	for name, tt := range map[string]struct{ reason, text, names string }{
		"no spec":               {"an Application without a spec says nothing", "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}", "spec"},
		"no destination":        {"it would go nowhere", application("{project: default}"), "spec.destination"},
		"source without repo":   {"it would come from nowhere", application("{destination: {}, source: {path: p}}"), "spec.source.repoURL"},
		"source as list":        {"several sources have a field of their own", application("{destination: {}, source: [{repoURL: r}]}"), "spec.source"},
		"parameter as number":   {"values of parameters are text", application("{destination: {}, source: {repoURL: r, helm: {parameters: [{name: n, value: 1}]}}}"), "parameters[0].value"},
		"values as object":      {"values is text, valuesObject is the object", application("{destination: {}, source: {repoURL: r, helm: {values: {a: 1}}}}"), "helm.values"},
		"valuesObject as text":  {"and the other way round", application("{destination: {}, source: {repoURL: r, helm: {valuesObject: 'a: 1'}}}"), "helm.valuesObject"},
		"options as object":     {"sync options are a list of words", application("{destination: {}, syncPolicy: {syncOptions: {Prune: false}}}"), "syncOptions"},
		"retry limit as text":   {"a number", application("{destination: {}, syncPolicy: {retry: {limit: '5'}}}"), "retry.limit"},
		"label as boolean":      {"labels are text", application("{destination: {}, syncPolicy: {managedNamespaceMetadata: {labels: {a: true}}}}"), "labels.a"},
		"replica without count": {"it would set nothing", application("{destination: {}, source: {repoURL: r, kustomize: {replicas: [{name: n}]}}}"), "replicas[0].count"},
		"ignored without kind":  {"it would select nothing", application("{destination: {}, ignoreDifferences: [{jsonPointers: [/a]}]}"), "ignoreDifferences[0].kind"},
		"repositories as text":  {"a list of patterns", project("{sourceRepos: '*'}"), "sourceRepos"},
		"kind without group":    {"the core group is written as the empty one", project("{clusterResourceWhitelist: [{kind: Namespace}]}"), "clusterResourceWhitelist[0].group"},
		"record without owner":  {"whose memory it is must be known", record("part: 1, parts: 1, payload: ''"), "application"},
		"part nought":           {"parts are counted from 1", record("application: r, part: 0, parts: 1, payload: ''"), "part"},
		"part too long":         {"a part stays far below what an object may have", record("application: r, part: 1, parts: 1, payload: '" + strings.Repeat("A", releasev1.MaxPartLength+1) + "'"), "payload"},
	} {
		t.Run(name, func(t *testing.T) {
			obj := map[string]any{}
			if err := sigsyaml.UnmarshalStrict([]byte(tt.text), &obj); err != nil {
				t.Fatal(err)
			}
			refused := s.check(t, obj)
			if refused == "" || !strings.Contains(refused, tt.names) {
				t.Errorf("%s: refused with %.300q, want a refusal that names %s", tt.reason, refused, tt.names)
			}
		})
	}
}

// TestUnknownFields: where others may know more than we do, their fields are kept; elsewhere a field nobody knows is
// reported, so that a slip of the pen is noticed.
func TestUnknownFields(t *testing.T) {
	s := newServer(t)
	for name, tt := range map[string]struct {
		reason, text string
		lost         []string
	}{
		"misspelt":    {"kubectl tells who misspells a field", "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {destination: {}, syncPolcy: {}, source: {repoURL: r, helm: {valueFile: []}}}}", []string{"spec.source.helm.valueFile", "spec.syncPolcy"}},
		"helm values": {"the chart's own affair", "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {destination: {}, source: {repoURL: r, helm: {valuesObject: {any: {thing: [1]}}}}}}", nil},
		"plugin":      {"the plugin's own affair", "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {destination: {}, source: {repoURL: r, plugin: {name: p, future: {a: 1}}}}}", nil},
		"status":      {"a newer controller may say more", "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {destination: {}}, status: {future: {a: 1}, summary: {future: 1}}}", nil},
		"integrity":   {"a protection must not get lost", "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, spec: {sourceIntegrity: {git: {policies: [{ssh: {keys: [k]}}]}}}}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			obj := map[string]any{}
			if err := sigsyaml.UnmarshalStrict([]byte(tt.text), &obj); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.lost, s.pruned(obj)); diff != "" {
				t.Errorf("%s: fields dropped (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
