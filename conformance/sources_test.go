// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

// sources are where a scenario's manifests come from besides its repository, and
// the key that signs commits there.
type sources struct {
	charts *sourcetest.HelmRepository
	signer gittest.SSHKey
	// signerID is the key's fingerprint.
	signerID string
}

func (w *world) makeSources() error {
	w.sources.signer = gittest.NewSSHKey(w.t)
	w.sources.signerID = w.sources.signer.Fingerprint()
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
	return names
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

// sign makes what follows in the repository signed by the scenario's key; the
// function it returns ends that.
func (w *world) sign() (end func(), err error) {
	file := filepath.Join(w.t.TempDir(), "key")
	err = errors.Join(os.WriteFile(file, []byte(w.sources.signer.Private), 0o600), os.WriteFile(file+".pub", []byte(w.sources.signer.Public), 0o600))
	if err != nil {
		return nil, err
	}
	for _, setting := range []string{"commit.gpgSign=true", "gpg.format=ssh", "user.signingKey=" + file} {
		name, value, _ := strings.Cut(setting, "=")
		w.repo.Git("config", name, value)
	}
	return func() { w.repo.Git("config", "commit.gpgSign", "false") }, nil
}
