// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"github.com/wavetrain/wavetrain/internal/webhook"
)

func mac(secret, body string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(body))
	return hex.EncodeToString(h.Sum(nil))
}

// The bodies have the shape of the providers' documentation, cut to what is read
// and a little of what is not.
const (
	github = `{"ref":"refs/heads/main","before":"1","after":"2","repository":{"name":"deploy","html_url":"https://github.com/acme/deploy","clone_url":"https://github.com/acme/deploy.git","ssh_url":"git@github.com:acme/deploy.git","git_url":"git://github.com/acme/deploy.git","default_branch":"main"},"commits":[{"modified":["a"]}]}`
	gitlab = `{"object_kind":"push","event_name":"push","ref":"refs/heads/main","project":{"web_url":"https://gitlab.example.test/acme/deploy","git_http_url":"https://gitlab.example.test/acme/deploy.git","git_ssh_url":"git@gitlab.example.test:acme/deploy.git","default_branch":"main"}}`
	cloud  = `{"push":{"changes":[{"new":{"type":"branch","name":"main"},"old":{"type":"branch","name":"main"}},{"new":null,"old":{"type":"tag","name":"v1"}}]},"repository":{"full_name":"acme/deploy","links":{"html":{"href":"https://bitbucket.org/acme/deploy"}}}}`
	server = `{"eventKey":"repo:refs_changed","changes":[{"ref":{"id":"refs/heads/main","displayId":"main","type":"BRANCH"}}],"repository":{"slug":"deploy","links":{"clone":[{"href":"ssh://git@git.example.test:7999/acme/deploy.git","name":"ssh"},{"href":"https://git.example.test/scm/acme/deploy.git","name":"http"}]}}}`
	ghcr   = `{"action":"published","package":{"name":"charts/shop","namespace":"acme","package_type":"CONTAINER","owner":{"login":"acme","type":"Organization"},"package_version":{"version":"sha256:1f","container_metadata":{"tag":{"name":"1.2.0","digest":"sha256:1f"}},"package_url":"ghcr.io/acme/charts/shop:1.2.0"}},"repository":{"html_url":"https://github.com/acme/deploy","clone_url":"https://github.com/acme/deploy.git"}}`
	harbor = `{"type":"PUSH_ARTIFACT","occur_at":1586922308,"operator":"admin","event_data":{"resources":[{"digest":"sha256:8a9e","tag":"1.2.0","resource_url":"hub.example.test:8443/charts/shop:1.2.0"}],"repository":{"date_created":1586922308,"name":"shop","namespace":"charts","repo_full_name":"charts/shop","repo_type":"private"}}}`
	events = `{"specversion":"1.0","type":"harbor.artifact.pushed","source":"/projects/1/webhook/policies/15","datacontenttype":"application/json","data":{"resources":[{"digest":"sha256:8a9e","tag":"1.2.0","resource_url":"hub.example.test:8443/charts/shop@sha256:8a9e"}],"repository":{"name":"shop","repo_full_name":"charts/shop"}},"operator":"admin"}`
	azure  = `{"eventType":"git.push","resource":{"refUpdates":[{"name":"refs/heads/main"}],"repository":{"remoteUrl":"https://dev.azure.com/acme/shop/_git/deploy","defaultBranch":"refs/heads/main"}}}`
)

func TestRead(t *testing.T) {
	secrets := webhook.Secrets{
		GitHub: "hub", GitLab: "lab", Gogs: "gogs", BitbucketUUID: "{7-7}", BitbucketServer: "bucket", AzureUsername: "u", AzurePassword: "p",
	}
	form := "payload=" + url.QueryEscape(github)
	for name, c := range map[string]struct {
		body   string
		header map[string]string
		spoil  string
		repo   string
		refs   []string
	}{
		"github":           {github, map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + mac("hub", github)}, "X-Hub-Signature-256", "git@github.com:acme/deploy.git", []string{"refs/heads/main"}},
		"github form":      {form, map[string]string{"X-GitHub-Event": "push", "Content-Type": "application/x-www-form-urlencoded", "X-Hub-Signature-256": "sha256=" + mac("hub", form)}, "X-Hub-Signature-256", "https://github.com/acme/deploy", []string{"refs/heads/main"}},
		"gitlab":           {gitlab, map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": "lab"}, "X-Gitlab-Token", "ssh://git@gitlab.example.test:2222/acme/deploy.git", []string{"refs/heads/main"}},
		"gitea":            {strings.ReplaceAll(github, "github.com", "gitea.example.test"), map[string]string{"X-Gogs-Event": "push", "X-GitHub-Event": "push", "X-Gogs-Signature": mac("gogs", strings.ReplaceAll(github, "github.com", "gitea.example.test"))}, "X-Gogs-Signature", "https://gitea.example.test/acme/deploy", []string{"refs/heads/main"}},
		"bitbucket":        {cloud, map[string]string{"X-Hook-UUID": "7-7", "X-Event-Key": "repo:push"}, "X-Hook-UUID", "git@bitbucket.org:acme/deploy.git", []string{"refs/heads/main", "refs/tags/v1"}},
		"bitbucket server": {server, map[string]string{"X-Event-Key": "repo:refs_changed", "X-Hub-Signature": "sha256=" + mac("bucket", server)}, "X-Hub-Signature", "https://git.example.test/scm/acme/deploy", []string{"refs/heads/main"}},
		"azure":            {azure, map[string]string{"X-Vss-Activityid": "1", "Authorization": "Basic dTpw"}, "Authorization", "git@ssh.dev.azure.com:v3/acme/shop/deploy", []string{"refs/heads/main"}},
	} {
		t.Run(name, func(t *testing.T) {
			header := func(name string) string { return c.header[name] }
			push, err := webhook.Read(header, []byte(c.body), secrets)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.refs, push.Refs); diff != "" {
				t.Errorf("refs (-want +got):\n%s", diff)
			}
			if !push.Concerns(c.repo) || push.Concerns(c.repo+"2") || push.Concerns("https://elsewhere.test/acme/deploy") {
				t.Errorf("a push to %v is taken for one to another repository than %s", push.URLs, c.repo)
			}
			if _, err := webhook.Read(header, []byte(c.body), webhook.Secrets{}); err != nil {
				t.Errorf("without a secret: %v", err)
			}
			c.header[c.spoil] += "0"
			if _, err := webhook.Read(header, []byte(c.body), secrets); !errors.Is(err, webhook.ErrRefused) {
				t.Errorf("with a wrong %s: %v", c.spoil, err)
			}
			c.header[c.spoil] = ""
			if push, err := webhook.Read(header, []byte(c.body), secrets); err == nil && push != nil {
				t.Errorf("without %s the push is believed", c.spoil)
			}
		})
	}
}

func TestRegistries(t *testing.T) {
	secrets := webhook.Secrets{GitHub: "hub", Harbor: "Bearer h4rb0r"}
	for name, c := range map[string]struct {
		body   string
		header map[string]string
		spoil  string
		host   string
	}{
		"ghcr":     {ghcr, map[string]string{"X-GitHub-Event": "package", "X-Hub-Signature-256": "sha256=" + mac("hub", ghcr)}, "X-Hub-Signature-256", "ghcr.io/acme"},
		"ghcr old": {strings.Replace(ghcr, `"package"`, `"registry_package"`, 1), map[string]string{"X-GitHub-Event": "registry_package", "X-Hub-Signature-256": "sha256=" + mac("hub", strings.Replace(ghcr, `"package"`, `"registry_package"`, 1))}, "X-Hub-Signature-256", "ghcr.io/acme"},
		"harbor":   {harbor, map[string]string{"Authorization": "Bearer h4rb0r"}, "Authorization", "hub.example.test:8443"},
		"events":   {events, map[string]string{"Authorization": "Bearer h4rb0r", "Content-Type": "application/cloudevents+json"}, "Authorization", "hub.example.test:8443"},
	} {
		t.Run(name, func(t *testing.T) {
			header := func(name string) string { return c.header[name] }
			push, err := webhook.Read(header, []byte(c.body), secrets)
			if err != nil || push == nil {
				t.Fatalf("got %v, %v", push, err)
			}
			for _, source := range []struct {
				reason, repository, chart string
				want                      bool
			}{
				{"a chart, as Argo CD writes it", c.host + "/charts", "shop", true},
				{"a chart, with scheme", "oci://" + c.host + "/charts", "shop", true},
				{"an artifact", "oci://" + c.host + "/charts/shop", "", true},
				{"another chart", c.host + "/charts", "store", false},
				{"the repository of the packages' sources", "https://github.com/acme/deploy", "", false},
				{"a Helm repository on that host", "https://" + c.host + "/charts", "shop", false},
			} {
				if got := push.ConcernsSource(source.repository, source.chart); got != source.want {
					t.Errorf("%s: concerned is %v", source.reason, got)
				}
			}
			c.header[c.spoil] += "0"
			if _, err := webhook.Read(header, []byte(c.body), secrets); !errors.Is(err, webhook.ErrRefused) {
				t.Errorf("with a wrong %s: %v", c.spoil, err)
			}
		})
	}
	// Nothing but its secret tells a request of Harbor from any other.
	_, err := webhook.Read(func(string) string { return "" }, []byte(harbor), secrets)
	if !errors.Is(err, webhook.ErrUnknown) {
		t.Errorf("without the header: %v", err)
	}
	for _, given := range []string{"", "Bearer h4rb0r"} {
		_, err := webhook.Read(func(name string) string { return map[string]string{"Authorization": given}[name] }, []byte(harbor), webhook.Secrets{})
		if !errors.Is(err, webhook.ErrUnknown) {
			t.Errorf("an installation without a secret: %v", err)
		}
	}
}

func TestAzureByItsOlderNames(t *testing.T) {
	body := strings.Replace(azure, "https://dev.azure.com/acme/", "https://acme.visualstudio.com/DefaultCollection/", 1)
	for _, sent := range []string{azure, body} {
		push, err := webhook.Read(func(h string) string { return map[string]string{"X-Vss-Activityid": "1"}[h] }, []byte(sent), webhook.Secrets{})
		if err != nil {
			t.Fatal(err)
		}
		for _, repository := range []string{
			"https://dev.azure.com/acme/shop/_git/deploy", "https://acme@dev.azure.com/acme/shop/_git/deploy", "https://acme.visualstudio.com/shop/_git/deploy",
			"git@ssh.dev.azure.com:v3/acme/shop/deploy", "acme@vs-ssh.visualstudio.com:v3/acme/shop/deploy",
		} {
			if !push.Concerns(repository) {
				t.Errorf("a push to %v is not taken for one to %s", push.URLs, repository)
			}
		}
		if push.Concerns("https://other.visualstudio.com/shop/_git/deploy") {
			t.Errorf("a push to %v is taken for one to another organisation", push.URLs)
		}
	}
}

func TestEventsThatAreNoPush(t *testing.T) {
	for name, c := range map[string]struct{ header, event, body string }{
		"ping":   {"X-GitHub-Event", "ping", `{"zen":"x"}`},
		"npm":    {"X-GitHub-Event", "package", `{"package":{"name":"x","package_type":"npm","owner":{"login":"acme"}}}`},
		"scan":   {"Authorization", "s", `{"type":"SCANNING_COMPLETED"}`},
		"user":   {"X-Gitlab-Event", "System Hook", `{"event_name":"user_create"}`},
		"issue":  {"X-Hook-UUID", "7", `{"issue":{}}`},
		"build":  {"X-Vss-Activityid", "7", `{"eventType":"build.complete"}`},
		"server": {"X-Event-Key", "diagnostics:ping", `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			push, err := webhook.Read(func(h string) string { return map[string]string{c.header: c.event}[h] }, []byte(c.body), webhook.Secrets{Harbor: "s"})
			if push != nil || err != nil {
				t.Errorf("got %v, %v; want nothing", push, err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, body := range []string{github, gitlab, cloud, server, azure, ghcr, harbor, events, "{}", "null", "[]"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, mark := range []string{"X-Vss-Activityid", "X-Gogs-Event", "X-GitHub-Event", "X-Gitlab-Event", "X-Hook-UUID", "X-Event-Key", "Authorization"} {
			event := map[string]string{"X-Gitlab-Event": "Push Hook", "X-Event-Key": "repo:refs_changed"}[mark]
			if event == "" {
				event = "push"
			}
			push, err := webhook.Read(func(h string) string { return map[string]string{mark: event}[h] }, []byte(body), webhook.Secrets{Harbor: event})
			if err == nil && push != nil && len(push.URLs) == 0 {
				t.Errorf("%s: a push without a repository", mark)
			}
		}
	})
}

func TestHandler(t *testing.T) {
	var delivered []webhook.Push
	var failing, secretsFail error
	handler := webhook.Handler{
		Secrets: func(context.Context) (webhook.Secrets, error) { return webhook.Secrets{GitHub: "hub"}, secretsFail },
		Deliver: func(_ context.Context, p webhook.Push) error { delivered = append(delivered, p); return failing },
		Limit:   func(context.Context) int64 { return 4096 },
	}
	request := func(method, body string, header map[string]string) int {
		r := httptest.NewRequest(method, "/api/webhook", strings.NewReader(body))
		for name, value := range header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	good := map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + mac("hub", github)}
	for _, c := range []struct {
		reason, method, body string
		header               map[string]string
		code, delivered      int
	}{
		{"a push", http.MethodPost, github, good, http.StatusOK, 1},
		{"a ping", http.MethodPost, "{}", map[string]string{"X-GitHub-Event": "ping", "X-Hub-Signature-256": "sha256=" + mac("hub", "{}")}, http.StatusOK, 0},
		{"another method", http.MethodGet, "", nil, http.StatusMethodNotAllowed, 0},
		{"nobody we know", http.MethodPost, "{}", nil, http.StatusBadRequest, 0},
		{"a wrong signature", http.MethodPost, github + " ", good, http.StatusUnauthorized, 0},
		{"too large", http.MethodPost, strings.Repeat(" ", 5000), good, http.StatusBadRequest, 0},
		{"no JSON", http.MethodPost, "x", map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + mac("hub", "x")}, http.StatusBadRequest, 0},
	} {
		delivered = nil
		if code := request(c.method, c.body, c.header); code != c.code || len(delivered) != c.delivered {
			t.Errorf("%s: code %d, %d pushes; want %d, %d", c.reason, code, len(delivered), c.code, c.delivered)
		}
	}
	failing = errors.New("not now")
	if code := request(http.MethodPost, github, good); code != http.StatusServiceUnavailable {
		t.Errorf("when it cannot be delivered: code %d", code)
	}
	failing, secretsFail = nil, errors.New("forbidden")
	delivered = nil
	if code := request(http.MethodPost, github, good); code != http.StatusServiceUnavailable || len(delivered) > 0 {
		t.Errorf("a request that cannot be authenticated: code %d, %d pushes", code, len(delivered))
	}
}

// Requests that are read hold memory: beyond a bound they have to come again, and
// what was given out comes back.
func TestRequestsAtOnce(t *testing.T) {
	reading, goOn := make(chan struct{}), make(chan struct{})
	handler := webhook.Handler{
		Secrets: func(context.Context) (webhook.Secrets, error) { return webhook.Secrets{}, nil },
		Deliver: func(context.Context, webhook.Push) error {
			reading <- struct{}{}
			<-goOn
			return nil
		},
		Memory: semaphore.NewWeighted(int64(len(github))),
	}
	post := func() int {
		r := httptest.NewRequest(http.MethodPost, "/api/webhook", strings.NewReader(github))
		r.Header.Set("X-Github-Event", "push")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	first := make(chan int)
	go func() { first <- post() }()
	<-reading
	if code := post(); code != http.StatusServiceUnavailable {
		t.Errorf("a request too many: code %d", code)
	}
	close(goOn)
	if code := <-first; code != http.StatusOK {
		t.Errorf("the first request: code %d", code)
	}
	go func() { first <- post() }()
	<-reading
	if code := <-first; code != http.StatusOK {
		t.Errorf("a request afterwards: code %d", code)
	}
}
