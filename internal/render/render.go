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
	"github.com/wavetrain/wavetrain/internal/render/tree"
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
}

// Result is a rendered source.
type Result struct {
	// Objects in the order of files and documents.
	Objects []manifest.Object
	// Tool is Helm, Kustomize or Directory.
	Tool     string
	Warnings []diag.Diagnostic
}

// NoPathError says that an application's path is not in its repository.
type NoPathError struct{ Path string }

// Error names the path.
func (e *NoPathError) Error() string { return e.Path + ": app path does not exist" }

// Render renders a source. Faults of a file are *manifest.ParseError, a missing
// directory is a *NoPathError.
func Render(ctx context.Context, src Source, target Target) (Result, error) {
	dir, err := appDirectory(src)
	if err != nil {
		return Result{}, err
	}
	src.Path = dir
	if src, err = withOverrides(src, target.AppName); err != nil {
		return Result{}, err
	}
	tool, err := chooseTool(src)
	if err != nil {
		return Result{}, err
	}
	result := Result{Tool: tool}
	switch tool {
	case Helm:
		result.Objects, result.Warnings, err = helm.Render(ctx, helm.Input{
			Files: src.Files, Path: dir, Refs: src.Refs, Options: valueOf(src.Helm),
			AppName: target.AppName, Namespace: target.Namespace,
			KubeVersion: target.KubeVersion, APIVersions: target.APIVersions, Expand: target.expand,
		})
	case Kustomize:
		result.Objects, err = kustomize.Render(ctx, kustomize.Input{
			Files: src.Files, Path: dir, Options: valueOf(src.Kustomize), Expand: target.expand,
		})
	default:
		result.Objects, result.Warnings, err = directory.Render(src.Files, dir, valueOf(src.Directory))
	}
	if err != nil {
		return Result{}, err
	}
	return result, nil
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
		return "", fmt.Errorf("source %s: config management plugins are not supported", src.Path)
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

// expand substitutes build variables as Argo CD does: $NAME and ${NAME}, $$ for
// a dollar sign, nothing for a name that is not known.
func (t Target) expand(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	return os.Expand(text, func(name string) string {
		if name == "$" {
			return "$"
		}
		return t.Env[name]
	})
}
