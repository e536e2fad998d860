// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/pipeline"
	"github.com/wavetrain/wavetrain/internal/render"
	"github.com/wavetrain/wavetrain/internal/render/plugin"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

// sources are where a scenario's manifests come from besides its repository, and
// the key that signs commits there.
type sources struct {
	charts *sourcetest.HelmRepository
	signer gittest.SSHKey
	// signerID is the key's fingerprint.
	signerID string
	// other is a second repository, private the first one behind a login.
	other   *gittest.Repository
	private string
}

// The login of the private repository.
const (
	privateUser     = "reader"
	privatePassword = "correct-horse"
)

func (w *world) makeSources() error {
	w.sources.signer = gittest.NewSSHKey(w.t)
	w.sources.signerID = w.sources.signer.Fingerprint()
	if w.has("other") {
		first, err := w.tree("other/1")
		if err != nil {
			return err
		}
		w.sources.other = gittest.New(w.t, first)
	}
	if !w.has("charts") {
		return nil
	}
	w.sources.charts = sourcetest.NewHelmRepository(w.t)
	return w.publish("1")
}

// names are what the sources are called in files and scripts.
func (w *world) names() map[string]string {
	names := map[string]string{"signer": w.sources.signerID, "signerKey": w.sources.signer.Public}
	if w.sources.charts != nil {
		names["charts"] = w.sources.charts.URL
	}
	if w.sources.other != nil {
		names["other"] = w.sources.other.URL
	}
	if w.sources.private != "" {
		names["private"], names["user"], names["password"] = w.sources.private, privateUser, privatePassword
		names["privatePrefix"] = w.sources.private[:strings.LastIndex(w.sources.private, "/")]
	}
	return names
}

// servePrivately has the repository served behind a login, too, below a path of its
// own.
func (w *world) servePrivately() {
	open := http.StripPrefix("/team", w.repo.Handler())
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != privateUser || password != privatePassword {
			rw.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		open.ServeHTTP(rw, r)
	}))
	w.t.Cleanup(server.Close)
	w.sources.private = server.URL + "/team" + w.repo.URL[strings.LastIndex(w.repo.URL, "/"):]
}

// push [signed] N commits the files of other/N to the second repository and announces
// it.
func push(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	if len(args) == 2 && args[0] == "signed" {
		args = args[1:]
		end, err := w.sign(w.sources.other)
		if err != nil {
			return err
		}
		defer end()
	}
	if len(args) != 1 {
		return errors.New("usage: push [signed] N")
	}
	files, err := w.tree("other/" + args[0])
	if err != nil {
		return err
	}
	w.sources.other.Commit("commit "+args[0], files)
	return w.controller.announce(ctx, w.sources.other.URL)
}

// tag [signed] NAME puts an annotated tag on the last commit and announces it.
func tag(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	if len(args) == 2 && args[0] == "signed" {
		args = args[1:]
		end, err := w.sign(w.repo)
		if err != nil {
			return err
		}
		defer end()
	}
	if len(args) != 1 {
		return errors.New("usage: tag [signed] NAME")
	}
	w.repo.Tag(args[0])
	return w.announce(ctx)
}

// announce tells the controller that the repository has something new, under all of
// its URLs.
func (w *world) announce(ctx context.Context) error {
	for _, url := range []string{w.repo.URL, w.sources.private} {
		if url == "" {
			continue
		}
		if err := w.controller.announce(ctx, url); err != nil {
			return err
		}
	}
	return nil
}

// publish puts the charts of charts/N into the scenario's Helm repository.
func (w *world) publish(n string) error {
	charts, err := os.ReadDir(filepath.Join(w.dir, "charts", n))
	if err != nil {
		return err
	}
	for _, chart := range charts {
		files, err := w.tree(filepath.Join("charts", n, chart.Name()))
		if err != nil {
			return err
		}
		var about struct{ Name, Version string }
		if err := yaml.Unmarshal([]byte(files["Chart.yaml"]), &about); err != nil {
			return err
		}
		packed := map[string]string{}
		for name, content := range files {
			packed[about.Name+"/"+name] = content
		}
		w.sources.charts.Add(about.Name, about.Version, sourcetest.Tarball(w.t, packed))
	}
	return nil
}

// publishCharts N adds the charts of charts/N to the Helm repository and announces
// it.
func publishCharts(ctx context.Context, w *world, _ *testscript.TestScript, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: publish N")
	}
	if err := w.publish(args[0]); err != nil {
		return err
	}
	return w.controller.announce(ctx, w.sources.charts.URL)
}

// sign makes what follows in a repository signed by the scenario's key; the function
// it returns ends that.
func (w *world) sign(repo *gittest.Repository) (end func(), err error) {
	file := filepath.Join(w.t.TempDir(), "key")
	err = errors.Join(os.WriteFile(file, []byte(w.sources.signer.Private), 0o600), os.WriteFile(file+".pub", []byte(w.sources.signer.Public), 0o600))
	if err != nil {
		return nil, err
	}
	for _, setting := range []string{"commit.gpgSign=true", "tag.gpgSign=true", "gpg.format=ssh", "user.signingKey=" + file} {
		name, value, _ := strings.Cut(setting, "=")
		repo.Git("config", name, value)
	}
	return func() {
		repo.Git("config", "commit.gpgSign", "false")
		repo.Git("config", "tag.gpgSign", "false")
	}, nil
}

// programCommand has the test binary become the program of a plugin.
const programCommand = "render-program"

// withPlugins renders in this process, but for sources of the plugins in a directory.
func withPlugins(dir string) (pipeline.Rendering, error) {
	if dir == "" {
		return pipeline.Rendering{}, nil
	}
	plugins, err := plugin.Load(dir)
	if err != nil {
		return pipeline.Rendering{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return pipeline.Rendering{}, err
	}
	runner := plugin.Runner{Plugins: plugins, Path: os.Getenv("PATH"), Command: []string{self, programCommand}}
	return pipeline.Rendering{Render: runner.Around(render.Render), Variant: runner.Variant()}, nil
}
