// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
)

// BenchmarkLook is what it costs to see that nothing which an Application of a
// large repository reads has changed: one operation is one of 2,000 Applications.
func BenchmarkLook(b *testing.B) {
	files := map[string]string{}
	for i := range 2000 {
		dir := fmt.Sprintf("services/s%04d", i)
		files[dir+"/Chart.yaml"] = fmt.Sprintf("apiVersion: v2\nname: s%04d\nversion: 0.1.0\n", i)
		files[dir+"/values.yaml"] = fmt.Sprintf("n: %d\n", i)
		files[dir+"/templates/all.yaml"] = "kind: ConfigMap\n"
	}
	repo := gittest.New(b, files)
	store, err := source.NewStore(source.Options{Dir: b.TempDir(), Env: gittest.Env(), RefsTTL: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(store.Close)
	i := 0
	for b.Loop() {
		dir := fmt.Sprintf("services/s%04d", i%2000)
		i++
		target := source.Target{Repository: source.Repository{URL: repo.URL}, Revision: "main", Charts: dir}
		commit, err := store.Locate(b.Context(), target)
		if err != nil {
			b.Fatal(err)
		}
		tree, err := store.Open(b.Context(), target, commit)
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{dir, dir + "/Chart.yaml", dir + "/values.yaml", dir + "/templates", dir + "/templates/all.yaml", dir + "/crds"} {
			tree.ObjectID(name)
		}
		if err := tree.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
