// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Secrets authenticate the providers' requests. A provider whose secret is empty
// is believed, as in Argo CD: the worst that it can do is to have a repository
// looked at.
type Secrets struct {
	GitHub, GitLab, Gogs           string
	BitbucketUUID, BitbucketServer string
	AzureUsername, AzurePassword   string
	// Harbor is the whole value of the header Authorization. Without it Harbor is not
	// listened to.
	Harbor string
}

var (
	// ErrUnknown is returned for a request that no provider sends.
	ErrUnknown = errors.New("the request is none of a known Git server")
	// ErrRefused is returned for a request that its secret does not authenticate.
	ErrRefused = errors.New("the request is not authenticated")
)

// Read understands a request by its headers and body. The push is nil for events
// that change no ref, such as a ping.
func Read(header func(name string) string, body []byte, secrets Secrets) (*Push, error) {
	for _, p := range providers() {
		if header(p.mark) == "" || p.deaf != nil && p.deaf(secrets) {
			continue
		}
		if !p.authentic(header, body, secrets) {
			return nil, fmt.Errorf("%s: %w", p.name, ErrRefused)
		}
		event := header(p.mark)
		if !p.wanted(event) {
			return nil, nil
		}
		payload, err := unwrap(header("Content-Type"), body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		read := p.read
		if p.mark == markGitHub && event != eventPush {
			read = readPackage
		}
		push, err := read(payload)
		if err != nil {
			return nil, fmt.Errorf("%s: the body cannot be read: %w", p.name, err)
		}
		if push != nil {
			push.Provider = p.name
		}
		return push, nil
	}
	return nil, ErrUnknown
}

// provider is one kind of Git server.
type provider struct {
	name string
	// mark is the header that only its requests have; its value is the event.
	mark      string
	authentic func(header func(string) string, body []byte, s Secrets) bool
	wanted    func(event string) bool
	read      func(body []byte) (*Push, error)
	// deaf tells that its requests are not listened to; may be nil.
	deaf func(Secrets) bool
}

const (
	markGitHub = "X-GitHub-Event"
	eventPush  = "push"
)

// providers are tried in this order: Gitea sends the marks of Gogs and GitHub, too,
// and Bitbucket Cloud that of Bitbucket Server.
func providers() []provider {
	return []provider{
		{"Azure DevOps", "X-Vss-Activityid", azureAuthentic, always, readAzure, nil},
		{"Gogs", "X-Gogs-Event", signed("X-Gogs-Signature", "", func(s Secrets) string { return s.Gogs }), events(eventPush, "create", "delete"), readGitHub, nil},
		{"GitHub", markGitHub, signed("X-Hub-Signature-256", "sha256=", func(s Secrets) string { return s.GitHub }), events(eventPush, "package", "registry_package"), readGitHub, nil},
		{"GitLab", "X-Gitlab-Event", gitLabAuthentic, events("Push Hook", "Tag Push Hook", "System Hook"), readGitLab, nil},
		{"Bitbucket", "X-Hook-UUID", bitbucketAuthentic, always, readBitbucket, nil},
		{"Bitbucket Server", "X-Event-Key", signed("X-Hub-Signature", "sha256=", func(s Secrets) string { return s.BitbucketServer }), events("repo:refs_changed"), readBitbucketServer, nil},
		{"Harbor", harborMark, harborAuthentic, always, readHarbor, func(s Secrets) bool { return s.Harbor == "" }},
	}
}

func always(string) bool { return true }

func events(names ...string) func(string) bool {
	return func(event string) bool { return slices.Contains(names, event) }
}

// signed checks an HMAC of the body in hexadecimal.
func signed(header, prefix string, secret func(Secrets) string) func(func(string) string, []byte, Secrets) bool {
	return func(get func(string) string, body []byte, s Secrets) bool {
		key := secret(s)
		if key == "" {
			return true
		}
		text, ok := strings.CutPrefix(get(header), prefix)
		given, err := hex.DecodeString(text)
		if !ok || err != nil {
			return false
		}
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write(body)
		return hmac.Equal(given, mac.Sum(nil))
	}
}

func gitLabAuthentic(header func(string) string, _ []byte, s Secrets) bool {
	return s.GitLab == "" || equal(header("X-Gitlab-Token"), s.GitLab)
}

func bitbucketAuthentic(header func(string) string, _ []byte, s Secrets) bool {
	return s.BitbucketUUID == "" || equal(strings.Trim(header("X-Hook-UUID"), "{}"), strings.Trim(s.BitbucketUUID, "{}"))
}

func azureAuthentic(header func(string) string, _ []byte, s Secrets) bool {
	if s.AzureUsername == "" && s.AzurePassword == "" {
		return true
	}
	want := base64.StdEncoding.EncodeToString([]byte(s.AzureUsername + ":" + s.AzurePassword))
	return equal(header("Authorization"), "Basic "+want)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// unwrap takes the payload out of a form, in which some servers send it.
func unwrap(contentType string, body []byte) ([]byte, error) {
	if !strings.HasPrefix(contentType, "application/x-www-form-urlencoded") {
		return body, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("the form cannot be read: %w", err)
	}
	return []byte(form.Get("payload")), nil
}

// readGitHub reads the events of GitHub, Gitea and Gogs.
func readGitHub(body []byte) (*Push, error) {
	var event struct {
		Ref        string `json:"ref"`
		RefType    string `json:"ref_type"`
		Repository struct {
			HTMLURL  string `json:"html_url"`
			CloneURL string `json:"clone_url"`
			SSHURL   string `json:"ssh_url"`
			GitURL   string `json:"git_url"`
		} `json:"repository"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	r := event.Repository
	return push([]string{event.Ref}, r.HTMLURL, r.CloneURL, r.SSHURL, r.GitURL)
}

func readGitLab(body []byte) (*Push, error) {
	var event struct {
		EventName string `json:"event_name"`
		Ref       string `json:"ref"`
		Project   struct {
			WebURL string `json:"web_url"`
			HTTP   string `json:"git_http_url"`
			SSH    string `json:"git_ssh_url"`
		} `json:"project"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	switch event.EventName {
	case "push", "tag_push", "repository_update", "":
	default:
		return nil, nil // a system hook about a user, a key, a project
	}
	return push([]string{event.Ref}, event.Project.WebURL, event.Project.HTTP, event.Project.SSH)
}

func readBitbucket(body []byte) (*Push, error) {
	var event struct {
		Push *struct {
			Changes []struct {
				New, Old *struct{ Type, Name string }
			} `json:"changes"`
		} `json:"push"`
		Repository struct {
			FullName string `json:"full_name"`
			Links    struct {
				HTML struct{ Href string } `json:"html"`
			} `json:"links"`
		} `json:"repository"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	if event.Push == nil {
		return nil, nil
	}
	var refs []string
	for _, c := range event.Push.Changes {
		at := c.New
		if at == nil {
			at = c.Old
		}
		if at == nil {
			continue
		}
		kind := "refs/heads/"
		if at.Type == "tag" {
			kind = "refs/tags/"
		}
		refs = append(refs, kind+at.Name)
	}
	urls := []string{event.Repository.Links.HTML.Href}
	if event.Repository.FullName != "" {
		urls = append(urls, "https://bitbucket.org/"+event.Repository.FullName)
	}
	return push(refs, urls...)
}

func readBitbucketServer(body []byte) (*Push, error) {
	var event struct {
		Changes []struct {
			Ref struct{ ID string } `json:"ref"`
		} `json:"changes"`
		Repository struct {
			Links struct {
				Clone []struct{ Href string } `json:"clone"`
			} `json:"links"`
		} `json:"repository"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	var refs, urls []string
	for _, c := range event.Changes {
		refs = append(refs, c.Ref.ID)
	}
	for _, link := range event.Repository.Links.Clone {
		urls = append(urls, link.Href)
	}
	return push(refs, urls...)
}

func readAzure(body []byte) (*Push, error) {
	var event struct {
		EventType string `json:"eventType"`
		Resource  struct {
			RefUpdates []struct{ Name string } `json:"refUpdates"`
			Repository struct {
				RemoteURL string `json:"remoteUrl"`
			} `json:"repository"`
		} `json:"resource"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	if event.EventType != "git.push" {
		return nil, nil
	}
	var refs []string
	for _, u := range event.Resource.RefUpdates {
		refs = append(refs, u.Name)
	}
	return push(refs, event.Resource.Repository.RemoteURL)
}

// push leaves out what a server does not say.
func push(refs []string, urls ...string) (*Push, error) {
	p := &Push{}
	for _, ref := range refs {
		if ref != "" {
			p.Refs = append(p.Refs, ref)
		}
	}
	for _, u := range urls {
		if place(u) != "" {
			p.URLs = append(p.URLs, u)
		}
	}
	if len(p.URLs) == 0 {
		return nil, errors.New("it names no repository")
	}
	return p, nil
}
