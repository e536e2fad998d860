// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/render/directory"
	"github.com/wavetrain/wavetrain/internal/render/helm"
	"github.com/wavetrain/wavetrain/internal/render/kustomize"
	"github.com/wavetrain/wavetrain/internal/render/trace"
	"github.com/wavetrain/wavetrain/internal/render/tree"
	"github.com/wavetrain/wavetrain/internal/render/unstable"
)

// Tools that render, as Application.status.sourceType names them.
const (
	Helm      = "Helm"
	Kustomize = "Kustomize"
	Directory = "Directory"
)

// Source is one source of an application.
type Source struct {
	// Files is the repository's tree at the revision.
	Files fs.FS
	// Path is the directory in Files; empty means its root.
	Path string
	// Refs are the trees of sources that have a ref, by that name.
	Refs map[string]fs.FS
	// Options per tool. At most one is set; without any, the tool is found by
	// what lies in the directory.
	Helm      *v1alpha1.ApplicationSourceHelm
	Kustomize *v1alpha1.ApplicationSourceKustomize
	Directory *v1alpha1.ApplicationSourceDirectory
	Plugin    *v1alpha1.ApplicationSourcePlugin
	// Relevant are the paths that matter to a plugin, which nobody can watch reading:
	// files, directories and patterns from the root of Files. Without any, all do.
	Relevant []string
	// Final says that the options are what Effective made of them.
	Final bool
}

// Target is what rendering depends on besides the source.
type Target struct {
	// AppName is the application's name, and the Helm release's if the source
	// names none.
	AppName string
	// Namespace is the destination namespace.
	Namespace string
	// KubeVersion and APIVersions of the destination cluster. An empty version
	// means the one this program is built for.
	KubeVersion string
	APIVersions []string
	// Env are the build variables, such as ARGOCD_APP_REVISION.
	Env map[string]string
	// KustomizeHelm allows kustomizations to inflate charts.
	KustomizeHelm bool
	// Lookup answers the lookups of charts; nil answers that there is nothing.
	Lookup func(context.Context, helm.Lookup) (map[string]any, error) `json:"-"`
	// Fetch reads value files from other hosts; nil refuses them.
	Fetch func(ctx context.Context, url string) ([]byte, error) `json:"-"`
	// Elsewhere fetches bases and charts of kustomizations; nil refuses them.
	Elsewhere func(context.Context, kustomize.Elsewhere) (fs.FS, string, error) `json:"-"`
}

// Result is a rendered source.
type Result struct {
	// Objects in the order of files and documents; or else, where they were
	// rendered elsewhere, Packed holds them, and Count is how many there are.
	Objects []manifest.Object
	Packed  []byte
	Count   int
	// Digest of the objects as far as they follow from the input.
	Digest string
	// Tool is Helm, Kustomize or Directory.
	Tool string
	// Trace is what the result depends on; PackedTrace is the same as package packed
	// writes it, where somebody has done that already.
	Trace       trace.Trace
	PackedTrace []byte
	// ChangedSchema is true after a kustomization that brought an API schema,
	// which stays in the process.
	ChangedSchema bool
	Remarks

	witness *helm.Witness
}

// Remarks are what there is to say about a rendering.
type Remarks struct {
	Warnings []diag.Diagnostic `json:"warnings,omitempty"`
	// Raw is the digest of all that was rendered.
	Raw string `json:"raw,omitempty"`
	// Unstable are the fields that come out differently each time, or with what
	// the cluster answers. The result's digest leaves them out.
	Unstable unstable.Fields `json:"unstable,omitzero"`
	// Restless are those of the unstable fields that differ each time, as people
	// are told of them.
	Restless []Restless `json:"restless,omitempty"`
	// Looked are the objects that templates asked the cluster for.
	Looked []helm.Lookup `json:"looked,omitempty"`
}

// Restless is a field that comes out differently each time.
type Restless struct {
	Object manifest.Key `json:"object"`
	Field  string       `json:"field,omitempty"`
	// Cause is the function that makes it, or what it is derived from.
	Cause string `json:"cause"`
	// GuardedBy is what keeps the value on a cluster; empty for nothing.
	GuardedBy string `json:"guardedBy,omitempty"`
}

// Func renders a source: Render does, in this process, and others elsewhere.
type Func func(ctx context.Context, src Source, target Target) (Result, error)

// NoPathError says that an application's path is not in its repository.
type NoPathError struct{ Path string }

// Error names the path.
func (e *NoPathError) Error() string { return e.Path + ": app path does not exist" }

// Effective checks the directory of a source and merges the overrides that lie in
// it into the options.
func Effective(src Source, appName string) (Source, error) {
	if src.Final {
		return src, nil
	}
	dir, err := appDirectory(src)
	if err != nil {
		return src, err
	}
	src.Path = dir
	if src, err = withOverrides(src, appName); err != nil {
		return src, err
	}
	src.Final = true
	return src, nil
}

// Render renders a source. Faults of a file are *manifest.ParseError, a missing
// directory is a *NoPathError.
func Render(ctx context.Context, src Source, target Target) (Result, error) {
	src, err := Effective(src, target.AppName)
	if err != nil {
		return Result{}, err
	}
	recorder := trace.NewRecorder()
	result, err := renderTraced(ctx, src, target, recorder)
	if err != nil {
		return Result{}, err
	}
	if err := result.findUnstable(ctx, src, target); err != nil {
		return Result{}, err
	}
	result.Digest = result.Unstable.Digest(result.Objects)
	result.Raw = result.Digest
	if len(result.Unstable.Fields) > 0 {
		result.Raw = manifest.Digest(result.Objects)
	}
	result.Trace = recorder.Trace()
	return result, nil
}

func renderTraced(ctx context.Context, src Source, target Target, recorder *trace.Recorder) (Result, error) {
	src.Files = recorder.Files("", src.Files)
	refs := make(map[string]fs.FS, len(src.Refs))
	for ref, tree := range src.Refs {
		refs[ref] = recorder.Files(ref, tree)
	}
	tool, err := chooseTool(src)
	if err != nil {
		return Result{}, err
	}
	expand := func(text string) string { return target.expand(text, recorder) }
	result := Result{Tool: tool, witness: helm.NewWitness()}
	switch tool {
	case Helm:
		in := target.helmInput(src)
		in.Refs, in.Expand, in.Trace, in.Witness = refs, expand, recorder, result.witness
		result.Objects, result.Warnings, err = helm.Render(ctx, in)
	case Kustomize:
		result.Objects, result.ChangedSchema, err = kustomize.Render(ctx, kustomize.Input{
			Files: src.Files, Path: src.Path, Options: valueOf(src.Kustomize), Expand: expand,
			EnableHelm: target.KustomizeHelm, KubeVersion: target.KubeVersion, APIVersions: target.APIVersions,
			Trace: recorder, Witness: result.witness, Elsewhere: target.elsewhere(recorder),
		})
		recorder.Answered(target.KustomizeHelm, trace.Allowed)
	default:
		result.Objects, result.Warnings, err = directory.Render(src.Files, src.Path, valueOf(src.Directory), expand)
	}
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// elsewhereTree begins the names that trees from elsewhere have in traces.
const elsewhereTree = "elsewhere "

// elsewhere is Elsewhere with what is read recorded.
func (t Target) elsewhere(recorder *trace.Recorder) func(context.Context, kustomize.Elsewhere) (fs.FS, string, error) {
	if t.Elsewhere == nil {
		return nil
	}
	return func(ctx context.Context, e kustomize.Elsewhere) (fs.FS, string, error) {
		files, dir, err := t.Elsewhere(ctx, e)
		if err != nil {
			return nil, "", err
		}
		return recorder.Files(elsewhereTree+e.Key(), files), dir, nil
	}
}

func appDirectory(src Source) (string, error) {
	if strings.HasPrefix(src.Path, "/") {
		return "", fmt.Errorf("app path %s is absolute, must be relative to the repository", src.Path)
	}
	dir, err := tree.Resolve(".", src.Path)
	if err != nil {
		return "", fmt.Errorf("app %w", err)
	}
	info, err := fs.Stat(src.Files, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &NoPathError{Path: dir}
	case err != nil:
		return "", fmt.Errorf("read %s: %w", dir, err)
	case !info.IsDir():
		return "", fmt.Errorf("app path %s is a file, must be a directory", dir)
	}
	return dir, nil
}

// chooseTool takes the tool that the source has options for, or else the one
// whose files are there.
func chooseTool(src Source) (string, error) {
	var set []string
	for tool, has := range map[string]bool{
		Helm: !isZero(src.Helm), Kustomize: !isZero(src.Kustomize), Directory: !isZero(src.Directory), "Plugin": !isZero(src.Plugin),
	} {
		if has {
			set = append(set, tool)
		}
	}
	switch {
	case len(set) > 1:
		return "", fmt.Errorf("source %s has options for %s: only one tool may have options", src.Path, enumerate(set))
	case len(set) == 1 && set[0] == "Plugin":
		return "", fmt.Errorf("source %s: the controller has no plugins (--plugins)", src.Path)
	case len(set) == 1:
		return set[0], nil
	}
	if exists(src.Files, path.Join(src.Path, "Chart.yaml")) {
		return Helm, nil
	}
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if exists(src.Files, path.Join(src.Path, name)) {
			return Kustomize, nil
		}
	}
	return Directory, nil
}

func exists(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && !info.IsDir()
}

// Expand substitutes build variables in a text.
func (t Target) Expand(text string) string { return t.expand(text, trace.NewRecorder()) }

// expand substitutes build variables as Argo CD does: $NAME and ${NAME}, $$ for
// a dollar sign, nothing for a name that is not known.
func (t Target) expand(text string, recorder *trace.Recorder) string {
	if !strings.Contains(text, "$") {
		return text
	}
	return os.Expand(text, func(name string) string {
		if name == "$" {
			return "$"
		}
		recorder.Answered(t.Env[name], trace.Variable, name)
		return t.Env[name]
	})
}
