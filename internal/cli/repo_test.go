// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/sandbox/sandboxtest"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

func TestRepo(t *testing.T) {
	const token = "s3cr3t-t0ken"
	env := sandboxtest.Start(t, sandboxtest.Options{})
	namespace := env.Namespace(t)
	repo := gittest.New(t, map[string]string{"x": "1"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("robot:"+token)) {
			w.Header().Set("WWW-Authenticate", "Basic realm=git")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		repo.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	url := server.URL + "/repo.git"
	charts := sourcetest.NewHelmRepository(t)
	charts.Publish(t, "cache", "1.0.0")

	wavetrain := func(stdin string, args ...string) (code int, out, said string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), "v0.0.0-test", append([]string{args[0], args[1], "-n", namespace}, args[2:]...), Streams{
			In: strings.NewReader(stdin), Out: &stdout, Err: &stderr, Environ: append(gittest.Env(), "HOME=/nonexistent"),
			Env: func(name string) string { return map[string]string{"KUBECONFIG": env.Kubeconfig}[name] },
		})
		if both := stdout.String() + stderr.String(); strings.Contains(both, token) {
			t.Errorf("wavetrain %v shows the token:\n%s", args, both)
		}
		return code, stdout.String(), stderr.String()
	}
	expect := func(wantCode int, words, stdin string, args ...string) string {
		t.Helper()
		code, out, said := wavetrain(stdin, args...)
		if code != wantCode || !strings.Contains(out+said, words) {
			t.Errorf("wavetrain %v: code %d\n%s%s; want %d and %q", args, code, out, said, wantCode, words)
		}
		return out
	}

	expect(exitFailed, "401", "", "repo", "test", url)
	expect(exitFailed, "nothing was written", "wrong\n", "repo", "add", url, "--username", "robot", "--password-stdin")
	expect(exitOK, "No repositories found", "", "repo", "list")
	expect(exitUsage, "standard input is empty", "", "repo", "add", url, "--username", "robot", "--password-stdin")
	expect(exitUsage, "holds a login", "", "repo", "add", strings.Replace(url, "http://", "http://a:b@", 1))
	expect(exitUsage, "--type", "", "repo", "add", url, "--type", "svn")
	expect(exitUsage, "--ssh-private-key-path: open nothing: no such file", "", "repo", "add", url, "--ssh-private-key-path", "nothing")
	expect(exitUsage, `"deploy" is no URL of a repository: write https://HOST/PATH`, "", "repo", "add", "deploy")
	expect(exitUsage, `"deploy" is no URL of a repository`, "", "repo", "test", "deploy")
	expect(exitUsage, "--type", "", "repo", "test", url, "--type", "svn")
	expect(exitFailed, "the server cannot be reached: try again later\n", "", "repo", "test", "http://127.0.0.1:1/x.git")
	expect(exitOK, "a Helm repository with 1 charts", "", "repo", "test", charts.URL, "--type", "helm")
	if got := expect(exitOK, "", "", "repo", "list", "-o", "json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("an empty list is %q", got)
	}
	if code, _, said := wavetrain("", "repo", "add", charts.URL, "--skip-test", "-n", "nowhere"); code != exitFailed || said != "error: there is no namespace \"nowhere\": choose one with -n\n" {
		t.Errorf("a namespace that is not there: code %d, %q", code, said)
	}

	expect(exitOK, "1 branches and 0 tags", token+"\n", "repo", "add", url, "--username", "robot", "--password-stdin")
	expect(exitOK, "can be read with its Secret", "", "repo", "test", url)
	expect(exitFailed, "--upsert", token+"\n", "repo", "add", url, "--username", "robot", "--password-stdin")
	expect(exitOK, "written", token+"\n", "repo", "add", url, "--username", "robot", "--password-stdin", "--upsert", "--name", "deploy")
	expect(exitOK, "1 charts", "", "repo", "add", charts.URL, "--type", "helm")
	expect(exitOK, "written", token, "repo", "add", "https://git.example.test/acme", "--template", "--bearer-token-stdin", "--project", "shop")

	expect(exitOK, "bearer token", "", "repo", "get", "https://git.example.test/acme/deploy")
	expect(exitFailed, "no Secret", "", "repo", "get", "https://git.example.test.elsewhere.test/acme/deploy")
	expect(exitOK, "written", "s3cr3t-t0ken", "repo", "add", "oci://azure.example.test/x", "--skip-test", "--azure-service-principal-tenant-id", "t",
		"--azure-service-principal-client-id", "c", "--azure-service-principal-client-secret-stdin")
	expect(exitOK, "Azure service principal", "", "repo", "get", "azure.example.test/x")
	expect(exitOK, "removed", "", "repo", "rm", "oci://azure.example.test/x")

	table := expect(exitOK, "CREDENTIALS", "", "repo", "list", "-o", "wide")
	for _, words := range []string{url, "password", "deploy", charts.URL, "https://git.example.test/acme*", "bearer token", "shop"} {
		if !strings.Contains(table, words) {
			t.Errorf("the list lacks %q:\n%s", words, table)
		}
	}
	var list []controller.KnownRepository
	if err := json.Unmarshal([]byte(expect(exitOK, "", "", "repo", "get", url, "-o", "json")), &list); err != nil || len(list) != 1 || list[0].Name != "deploy" {
		t.Errorf("get: %v, %v", list, err)
	}

	c, err := client.New(env.Config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	var secrets corev1.SecretList
	if err := c.List(t.Context(), &secrets, client.InNamespace(namespace), client.MatchingLabels{controller.SecretTypeLabel: controller.SecretTypeRepository}); err != nil || len(secrets.Items) != 2 {
		t.Errorf("%d Secrets, %v; want 2", len(secrets.Items), err)
	}
	for i := range secrets.Items {
		if s := secrets.Items[i]; string(s.Data["url"]) == url && (string(s.Data["password"]) != token || string(s.Data["username"]) != "robot") {
			t.Errorf("the Secret holds %q", s.Data)
		}
	}

	expect(exitOK, "removed", "", "repo", "rm", url)
	expect(exitFailed, "no Secret", "", "repo", "rm", url)
	expect(exitFailed, "401", "", "repo", "test", url)
}
