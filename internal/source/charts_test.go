// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

func chartStore(t *testing.T) *source.Store {
	t.Helper()
	return newStore(t, source.Options{IndexTTL: time.Nanosecond})
}

// opened locates and opens a target.
func opened(t *testing.T, store *source.Store, target source.Target) (source.Tree, error) {
	t.Helper()
	revision, err := store.Locate(t.Context(), target)
	if err != nil {
		return nil, err
	}
	return store.Open(t.Context(), target, revision)
}

func TestHelmRepository(t *testing.T) {
	server := sourcetest.NewHelmRepository(t)
	server.Publish(t, "redis", "2.0.0-rc.1", "1.10.0", "1.9.1", "1.9.0")
	server.Publish(t, "shop", "0.1.0")
	store := chartStore(t)
	for name, c := range map[string]struct{ reason, chart, revision, want string }{
		"exact":       {"a version as it is written", "redis", "1.9.0", "1.9.0"},
		"constraint":  {"the highest, as versions and not as text", "redis", "1.x", "1.10.0"},
		"tilde":       {"a constraint of patches", "redis", "~1.9", "1.9.1"},
		"star":        {"no pre-release unless asked for", "redis", "*", "1.10.0"},
		"pre-release": {"asked for", "redis", ">=2.0.0-0", "2.0.0-rc.1"},
		"last chart":  {"the last entry of the index", "shop", "*", "0.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := opened(t, store, source.Target{Repository: source.Repository{URL: server.URL}, Chart: c.chart, Revision: c.revision})
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			got, err := fs.ReadFile(tree, "values.yaml")
			if err != nil || string(got) != "version: "+c.want+"\n" || tree.Revision() != c.want {
				t.Errorf("%s: got %q of %s, %v; want %s", c.reason, got, tree.Revision(), err, c.want)
			}
			if err := fstest.TestFS(tree, "Chart.yaml", "templates/service.yaml"); err != nil {
				t.Error(err)
			}
		})
	}
	if n := server.IndexReads.Load(); n != 1 {
		t.Errorf("the index was transferred %d times although it did not change", n)
	}
	for name, c := range map[string]struct{ chart, revision, words string }{
		"no chart":      {"nothing", "1.0.0", "no chart of this name among 2"},
		"no version":    {"redis", "7.x", "none of its 4 versions is 7.x"},
		"no constraint": {"redis", "latest", "no constraint"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := opened(t, store, source.Target{Repository: source.Repository{URL: server.URL}, Chart: c.chart, Revision: c.revision})
			var failed *source.Error
			if !errors.As(err, &failed) || failed.Reason != source.NoRevision || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), server.URL) {
				t.Errorf("got error %v; want %q and the repository in it", err, c.words)
			}
		})
	}
}

func TestHelmRepositoryChanges(t *testing.T) {
	server := sourcetest.NewHelmRepository(t)
	server.Publish(t, "redis", "1.0.0")
	store := chartStore(t)
	target := source.Target{Repository: source.Repository{URL: server.URL}, Chart: "redis", Revision: "1.x"}
	before, err := store.Version(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened(t, store, target); err != nil {
		t.Fatal(err)
	}
	server.Mu.Lock()
	server.Index = ""
	server.Mu.Unlock()
	server.Publish(t, "redis", "1.1.0")
	if got, err := store.Locate(t.Context(), target); err != nil || got != "1.1.0" {
		t.Errorf("the new version is not seen: %s, %v", got, err)
	}
	if after, err := store.Version(t.Context(), target); err != nil || after == before {
		t.Errorf("a changed index is no new version: %s, %v", after, err)
	}
	// What is deployed is needed though nobody offers it any more.
	for _, gone := range []string{"not in the index", "no server"} {
		if gone == "no server" {
			server.Close()
		}
		tree, err := store.Open(t.Context(), target, "1.0.0")
		if err != nil || tree.Revision() != "1.0.0" {
			t.Errorf("%s: %v", gone, err)
		}
	}
	if _, err := store.Open(t.Context(), target, "9.9.9"); err == nil {
		t.Error("a version that never was is opened")
	}
}

func TestHelmCredentials(t *testing.T) {
	index, charts := sourcetest.NewHelmRepository(t), sourcetest.NewHelmRepository(t)
	for _, s := range []*sourcetest.HelmRepository{index, charts} {
		s.Authorized = basic("me", password)
	}
	index.Publish(t, "redis", "1.0.0")
	charts.Publish(t, "redis", "1.0.0")
	index.Index = strings.Replace(index.Index, "- charts/", "- "+charts.URL+"/charts/", 1)
	target := source.Target{Repository: source.Repository{URL: index.URL}, Chart: "redis", Revision: "1.0.0"}
	expect := func(reason source.Reason) {
		t.Helper()
		_, err := opened(t, chartStore(t), target)
		var failed *source.Error
		if !errors.As(err, &failed) || failed.Reason != reason || strings.Contains(err.Error(), password) {
			t.Errorf("got error %v; want reason %s", err, reason)
		}
	}
	expect(source.Unauthenticated)
	target.Repository.Credentials = source.Credentials{Username: "me", Password: password}
	// The chart lies on another host, which gets no login unasked.
	expect(source.Unauthenticated)
	target.PassCredentials = true
	if _, err := opened(t, chartStore(t), target); err != nil {
		t.Error(err)
	}
}

func TestHelmRepositoryMisbehaves(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		spoil  func(s *sourcetest.HelmRepository)
		words  string
	}{
		"other content": {"the chart is not what the index says", func(s *sourcetest.HelmRepository) { s.Charts["charts/redis-1.0.0.tgz"] = []byte("other") }, "digest"},
		"no chart":      {"the index names a file that is not there", func(s *sourcetest.HelmRepository) { clear(s.Charts) }, "404"},
		"other scheme":  {"the index must not lead to the disk", func(s *sourcetest.HelmRepository) { s.Index = strings.Replace(s.Index, "charts/", "file:///etc/", 1) }, "not https://"},
		"html":          {"a login page in the place of the index", func(s *sourcetest.HelmRepository) { s.Index = "<html>\n" }, "no chart of this name"},
		"broken":        {"an index that is no YAML", func(s *sourcetest.HelmRepository) { s.Index += "  redis:\n  - [\n" }, "cannot be read"},
		"flow":          {"an index that cannot be streamed", func(s *sourcetest.HelmRepository) { s.Index = "entries: {redis: []}\n" }, "as a block"},
		"no archive": {"a chart that is no archive", func(s *sourcetest.HelmRepository) {
			s.Charts["charts/redis-1.0.0.tgz"] = []byte("x")
			s.Index = withoutDigests(s.Index)
		}, "archive"},
	} {
		t.Run(name, func(t *testing.T) {
			server := sourcetest.NewHelmRepository(t)
			server.Publish(t, "redis", "1.0.0")
			c.spoil(server)
			_, err := opened(t, chartStore(t), source.Target{Repository: source.Repository{URL: server.URL}, Chart: "redis", Revision: "1.0.0"})
			if err == nil || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), server.URL) {
				t.Errorf("%s: got error %v; want %q and the repository in it", c.reason, err, c.words)
			}
		})
	}
}

func withoutDigests(index string) string {
	var lines []string
	for line := range strings.SplitSeq(index, "\n") {
		if !strings.Contains(line, "digest:") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func TestIndexInJSON(t *testing.T) {
	server := sourcetest.NewHelmRepository(t)
	server.Publish(t, "redis", "1.0.0")
	server.Index = `{"apiVersion":"v1","generated":{"by":["x"]},"entries":{"a":[],"none":null,"redis" : [{"version":"1.0.0","urls":["charts/redis-1.0.0.tgz"]}],"z":[]},"after":1}`
	if _, err := opened(t, chartStore(t), source.Target{Repository: source.Repository{URL: server.URL}, Chart: "redis", Revision: "1.0.0"}); err != nil {
		t.Error(err)
	}
}

func TestArchivesThatMeanHarm(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		files  map[string]string
		read   string
		words  string
	}{
		"parent":        {"zip-slip", map[string]string{"redis/../../etc/passwd": "x"}, "", "leads out of it"},
		"absolute":      {"a place on the disk", map[string]string{"/etc/passwd": "x"}, "", "absolute name"},
		"backslashes":   {"zip-slip for another system", map[string]string{`redis\..\..\x`: "x"}, "", "leads out of it"},
		"link out":      {"a link that leads out", map[string]string{"redis/values.yaml": "-> ../../etc/passwd"}, "values.yaml", "leads out"},
		"absolute link": {"a link to the disk", map[string]string{"redis/values.yaml": "-> /etc/passwd"}, "values.yaml", "leads out"},
		"below a file":  {"a file that is a directory", map[string]string{"redis/a": "x", "redis/a/b": "y"}, "", "below a file"},
		"large file":    {"a bomb", map[string]string{"redis/values.yaml": strings.Repeat("0", 33<<20)}, "", "larger than 32 MiB"},
		"large in all":  {"a bomb of many", map[string]string{"redis/1": strings.Repeat("0", 30<<20), "redis/2": strings.Repeat("1", 30<<20), "redis/3": strings.Repeat("2", 30<<20), "redis/4": strings.Repeat("3", 30<<20), "redis/5": strings.Repeat("4", 30<<20)}, "", "when it is unpacked"},
	} {
		t.Run(name, func(t *testing.T) {
			server := sourcetest.NewHelmRepository(t)
			server.Publish(t, "redis", "1.0.0")
			server.Index = withoutDigests(server.Index)
			server.Charts["charts/redis-1.0.0.tgz"] = sourcetest.Tarball(t, c.files)
			tree, err := opened(t, chartStore(t), source.Target{Repository: source.Repository{URL: server.URL}, Chart: "redis", Revision: "1.0.0"})
			if err == nil && c.read != "" {
				_, err = tree.ReadFile(c.read)
			}
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: got error %v; want %q in it", c.reason, err, c.words)
			}
		})
	}
}

func TestChartsInARegistry(t *testing.T) {
	host := sourcetest.Registry(t, "")
	for _, v := range []string{"1.9.0", "1.10.0", "2.0.0+build.7"} {
		sourcetest.Push(t, host+"/charts/redis", strings.ReplaceAll(v, "+", "_"), map[string][]byte{sourcetest.ChartLayer: sourcetest.Chart(t, "redis", v), "application/vnd.cncf.helm.chart.provenance.v1.prov": []byte("sig")})
	}
	store := chartStore(t)
	for name, c := range map[string]struct{ url, revision, want string }{
		"without scheme": {host + "/charts", "1.x", "1.10.0"},
		"with scheme":    {"oci://" + host + "/charts", "1.9.0", "1.9.0"},
		"with build":     {host + "/charts", ">=2.0.0", "2.0.0+build.7"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := opened(t, store, source.Target{Repository: source.Repository{URL: c.url, PlainHTTP: true}, Chart: "redis", Revision: c.revision})
			if err != nil {
				t.Fatal(err)
			}
			got, err := fs.ReadFile(tree, "values.yaml")
			if err != nil || string(got) != "version: "+c.want+"\n" || tree.Revision() != c.want {
				t.Errorf("got %q of %s, %v; want %s", got, tree.Revision(), err, c.want)
			}
		})
	}
	for name, c := range map[string]struct {
		chart, revision, words string
		reason                 source.Reason
	}{
		"no version": {"redis", "9.x", "none of its 3 versions", source.NoRevision},
		"no chart":   {"nothing", "1.x", "the registry", source.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := opened(t, store, source.Target{Repository: source.Repository{URL: host + "/charts", PlainHTTP: true}, Chart: c.chart, Revision: c.revision})
			var failed *source.Error
			if !errors.As(err, &failed) || failed.Reason != c.reason || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), c.chart) {
				t.Errorf("got error %v; want reason %s and %q", err, c.reason, c.words)
			}
		})
	}
}

func TestArtifacts(t *testing.T) {
	host := sourcetest.Registry(t, "")
	url := "oci://" + host + "/acme/deploy"
	first := sourcetest.Push(t, host+"/acme/deploy", "1.0.0", map[string][]byte{sourcetest.PlainLayer: sourcetest.Tarball(t, map[string]string{"base/x.yaml": "1", "link": "-> base/x.yaml"})})
	second := sourcetest.Push(t, host+"/acme/deploy", "latest", map[string][]byte{sourcetest.PlainLayer: sourcetest.Tarball(t, map[string]string{"base/x.yaml": "2"})})
	sourcetest.Push(t, host+"/acme/deploy", "two", map[string][]byte{sourcetest.PlainLayer: sourcetest.Tarball(t, nil), sourcetest.ChartLayer: sourcetest.Chart(t, "a", "1.0.0")})
	repo := source.Repository{URL: url, PlainHTTP: true}
	store := chartStore(t)
	for name, c := range map[string]struct{ revision, digest, content string }{
		"tag": {"1.0.0", first, "1"}, "constraint": {"1.x", first, "1"}, "nothing": {"", second, "2"}, "digest": {first, first, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := opened(t, store, source.Target{Repository: repo, Revision: c.revision})
			if err != nil {
				t.Fatal(err)
			}
			got, err := fs.ReadFile(tree, "base/x.yaml")
			if err != nil || string(got) != c.content || tree.Revision() != c.digest {
				t.Errorf("got %q of %s, %v; want %q of %s", got, tree.Revision(), err, c.content, c.digest)
			}
		})
	}
	_, err := opened(t, store, source.Target{Repository: repo, Revision: "two"})
	if err == nil || !strings.Contains(err.Error(), "exactly one layer") || !strings.Contains(err.Error(), url) {
		t.Errorf("an artifact with two contents: %v", err)
	}
}

func TestRegistryCredentials(t *testing.T) {
	host := sourcetest.Registry(t, basic("me", password))
	target := source.Target{Repository: source.Repository{URL: "oci://" + host + "/x", PlainHTTP: true}, Revision: "1"}
	_, err := opened(t, chartStore(t), target)
	var failed *source.Error
	if !errors.As(err, &failed) || failed.Reason != source.Unauthenticated || !strings.Contains(err.Error(), "wavetrain repo add") {
		t.Errorf("without a login: %v", err)
	}
	target.Repository.Credentials = source.Credentials{Username: "me", Password: password}
	_, err = opened(t, chartStore(t), target)
	if !errors.As(err, &failed) || failed.Reason != source.NotFound && failed.Reason != source.NoRevision {
		t.Errorf("with the login the registry is empty: %v", err)
	}
}

func TestDependenciesAreFetched(t *testing.T) {
	server := sourcetest.NewHelmRepository(t)
	server.Publish(t, "redis", "1.1.0", "1.0.0")
	host := sourcetest.Registry(t, "")
	sourcetest.Push(t, host+"/charts/queue", "3.0.0", map[string][]byte{sourcetest.ChartLayer: sourcetest.Chart(t, "queue", "3.0.0")})
	repo := gittest.New(t, map[string]string{
		"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies:\n" +
			"- {name: redis, version: 1.x, repository: '" + server.URL + "'}\n" +
			"- {name: queue, version: ^3, repository: 'oci://" + host + "/charts'}\n" +
			"- {name: base, version: 1.x, repository: 'file://../base'}\n" +
			"- {name: here, version: 1.x, repository: 'https://nowhere.invalid'}\n",
		"shop/Chart.lock":             "dependencies:\n- {name: redis, version: 1.0.0, repository: '" + server.URL + "'}\n",
		"shop/charts/here/Chart.yaml": "name: here\nversion: 1.0.0\n",
		"base/Chart.yaml":             "name: base\nversion: 1.0.0\ndependencies:\n- {name: redis, version: 1.1.0, repository: '" + server.URL + "'}\n",
		"named/Chart.yaml":            "name: named\nversion: 1.0.0\ndependencies:\n- {name: redis, version: 1.1.0, repository: '@stable'}\n",
		"absent/Chart.yaml":           "name: absent\nversion: 1.0.0\ndependencies:\n- {name: redis, version: 7.x, repository: '" + server.URL + "'}\n",
	})
	store := newStore(t, source.Options{IndexTTL: time.Nanosecond})
	with := source.Repository{URL: repo.URL, Related: func(_ context.Context, url string) (source.Repository, error) {
		return source.Repository{URL: url, PlainHTTP: true}, nil
	}}
	named := with
	named.Named = func(_ context.Context, name string) (source.Repository, bool, error) {
		return source.Repository{URL: server.URL}, name == "stable", nil
	}
	if tree, err := opened(t, store, source.Target{Repository: named, Charts: "named"}); err != nil {
		t.Error(err)
	} else if _, err := fs.Stat(tree, "named/charts/redis-1.1.0/Chart.yaml"); err != nil {
		t.Error(err)
	}
	tree, err := opened(t, store, source.Target{Repository: with, Charts: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"shop/charts/redis-1.0.0/values.yaml": "version: 1.0.0\n", // the lock file wins over the range
		"shop/charts/queue-3.0.0/values.yaml": "version: 3.0.0\n",
		"base/charts/redis-1.1.0/values.yaml": "version: 1.1.0\n",
		"shop/charts/here/Chart.yaml":         "name: here\nversion: 1.0.0\n",
	} {
		if got, err := fs.ReadFile(tree, name); err != nil || string(got) != want {
			t.Errorf("%s = %q, %v; want %q", name, got, err, want)
		}
	}
	if err := fstest.TestFS(tree, "shop/Chart.yaml", "shop/charts/redis-1.0.0/Chart.yaml", "shop/charts/here/Chart.yaml"); err != nil {
		t.Error(err)
	}
	before := tree.ObjectID("shop/charts")
	again, err := opened(t, store, source.Target{Repository: with, Charts: "shop"})
	if err != nil || again.ObjectID("shop/charts") != before || before == "" {
		t.Errorf("the same dependencies have another id: %v", err)
	}
	sourcetest.Push(t, host+"/charts/queue", "3.1.0", map[string][]byte{sourcetest.ChartLayer: sourcetest.Chart(t, "queue", "3.1.0")})
	later, err := opened(t, store, source.Target{Repository: with, Charts: "shop"})
	if err != nil || later.ObjectID("shop/charts") == before {
		t.Errorf("a new version of a dependency without a lock is not seen: %v", err)
	}
	for dir, words := range map[string]string{"named": `"@stable"`, "absent": "none of its 2 versions is 7.x"} {
		_, err := opened(t, store, source.Target{Repository: with, Charts: dir})
		if err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), dir+"/Chart.yaml: dependency redis") {
			t.Errorf("%s: got error %v; want %q and the file in it", dir, err, words)
		}
	}
	if status := repo.Git("status", "--porcelain"); status != "" {
		t.Errorf("the repository was written to:\n%s", status)
	}
}

// What a lock file means that does not fit, or fits twice.
func TestLockFiles(t *testing.T) {
	server := sourcetest.NewHelmRepository(t)
	server.Publish(t, "redis", "2.1.0", "2.0.0", "1.1.0", "1.0.0")
	depends := func(name string, versions ...string) string {
		text := "dependencies:\n"
		for i, v := range versions {
			text += fmt.Sprintf("- {name: %s, version: '%s', repository: '%s/', alias: a%d}\n", name, v, server.URL, i)
		}
		return text
	}
	chart := func(name, more string) string { return "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n" + more }
	repo := gittest.New(t, map[string]string{
		"stale/Chart.yaml":       chart("stale", depends("redis", "2.x")),
		"stale/Chart.lock":       depends("redis", "1.0.0"),
		"twice/Chart.yaml":       chart("twice", depends("redis", "1.x", "2.x")),
		"twice/Chart.lock":       depends("redis", "1.0.0", "2.0.0"),
		"partly/Chart.yaml":      chart("partly", depends("redis", "1.x")),
		"partly/Chart.lock":      depends("other", "1.0.0"),
		"gone/Chart.yaml":        chart("gone", depends("redis", "1.x")),
		"gone/Chart.lock":        depends("redis", "1.0.9"),
		"old/Chart.yaml":         "apiVersion: v1\nname: old\nversion: 0.1.0\n",
		"old/requirements.yaml":  depends("redis", "1.x"),
		"old/requirements.lock":  depends("redis", "1.0.0"),
		"odd/Chart.yaml":         chart("odd", "dependencies: [\n"),
		"circle/Chart.yaml":      chart("circle", "dependencies:\n- {name: other, version: '*', repository: 'file://../other'}\n"),
		"other/Chart.yaml":       chart("other", "dependencies:\n- {name: circle, version: '*', repository: 'file://../circle'}\n"),
		"outside/Chart.yaml":     chart("outside", "dependencies:\n- {name: x, version: '*', repository: 'file://../../../etc'}\n"),
		"scheme/Chart.yaml":      chart("scheme", "dependencies:\n- {name: x, version: '*', repository: 'ftp://x.invalid'}\n"),
		"vendored/Chart.yaml":    chart("vendored", depends("redis", "1.x")),
		"vendored/charts/x.text": "redis",
	})
	store := newStore(t, source.Options{IndexTTL: time.Hour})
	open := func(dir string) (source.Tree, error) {
		return opened(t, store, source.Target{Repository: source.Repository{URL: repo.URL}, Charts: dir})
	}
	for dir, want := range map[string][]string{
		"twice": {"redis-1.0.0", "redis-2.0.0"}, "partly": {"redis-1.1.0"}, "old": {"redis-1.0.0"}, "circle": nil, "vendored": {"redis-1.1.0", "x.text"},
	} {
		tree, err := open(dir)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		entries, err := fs.ReadDir(tree, dir+"/charts")
		if err != nil && len(want) > 0 {
			t.Errorf("%s: %v", dir, err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
	for dir, words := range map[string]string{
		"stale":  `stale/Chart.yaml: dependency redis is locked at 1.0.0 in Chart.lock, which "2.x" does not allow: run ` + "`helm dependency update`",
		"gone":   "gone/Chart.yaml: dependency redis: find chart",
		"odd":    "read dependencies in odd/Chart.yaml",
		"scheme": "scheme/Chart.yaml: dependency x",
	} {
		if _, err := open(dir); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got error %v; want %q in it", dir, err, words)
		}
	}
	// That there is no such chart is for the rendering to say; nothing outside is read.
	if tree, err := open("outside"); err != nil {
		t.Error(err)
	} else if _, err := fs.Stat(tree, "../etc"); err == nil {
		t.Error("something outside of the repository was read")
	}
}
