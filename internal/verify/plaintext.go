// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// credential recognises credentials by their form or by the name of their field.
type credential struct {
	forms []form
}

type form struct {
	name    string
	pattern *regexp.Regexp
}

func newCredential() credential {
	list := []struct{ name, pattern string }{
		{"a private key", `-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----`},
		{"an AWS access key", `\b(AKIA|ASIA)[0-9A-Z]{16}\b`},
		{"a GitHub token", `\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})`},
		{"a GitLab token", `\bglpat-[A-Za-z0-9_-]{20,}`},
		{"a Slack token", `\bxox[abprs]-[A-Za-z0-9-]{10,}`},
		{"a Google API key", `\bAIza[0-9A-Za-z_-]{35}\b`},
		{"a Stripe key", `\b[sr]k_live_[0-9A-Za-z]{16,}`},
		{"an OpenAI key", `\bsk-(proj-)?[A-Za-z0-9_-]{32,}`},
		{"an Anthropic key", `\bsk-ant-[A-Za-z0-9_-]{20,}`},
		{"an npm token", `\bnpm_[A-Za-z0-9]{36}\b`},
		{"a SendGrid key", `\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`},
		{"a Vault token", `\bhvs\.[A-Za-z0-9_-]{20,}`},
		{"a JSON Web Token", `\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`},
	}
	c := credential{forms: make([]form, len(list))}
	for i, f := range list {
		c.forms[i] = form{f.name, regexp.MustCompile(f.pattern)}
	}
	return c
}

// judge says what a value is, empty for nothing to hide. The value itself is in no
// answer.
func (c credential) judge(name, value string) (what string, severity diag.Severity) {
	for _, f := range c.forms {
		if m := f.pattern.FindString(value); m != "" && (f.name == "a private key" || !placeholder(m)) {
			return f.name, diag.Error
		}
	}
	if user := urlPassword(value); user != "" {
		return "a URL with the password of " + user, diag.Error
	}
	if dockerAuth(value) {
		return "the login of an image registry", diag.Error
	}
	if !namesSecret(name) || placeholder(value) || nameLike(value) || strings.ContainsAny(value, " \n") {
		return "", ""
	}
	if len(value) >= 16 && entropy(value) >= 3.5 && classes(value) >= 2 {
		return "what looks like a credential", diag.Error
	}
	return "a value in clear", diag.Warning
}

// urlPassword returns the user of a URL that has a password.
func urlPassword(value string) string {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return ""
	}
	authority, _, _ := strings.Cut(rest, "/")
	login, _, ok := cutLast(authority, "@")
	if !ok {
		return ""
	}
	user, password, ok := strings.Cut(login, ":")
	if !ok || password == "" || placeholder(password) || strings.ContainsAny(login, " \n\t") {
		return ""
	}
	if user == "" {
		user = "nobody"
	}
	return user
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// dockerAuth reports whether a text is a dockerconfigjson with a login.
func dockerAuth(value string) bool {
	if !strings.Contains(value, `"auths"`) {
		return false
	}
	var config struct {
		Auths map[string]struct{ Auth, Password string }
	}
	if json.Unmarshal([]byte(value), &config) != nil {
		return false
	}
	for _, login := range config.Auths {
		if login.Auth != "" && !placeholder(login.Auth) || login.Password != "" && !placeholder(login.Password) {
			return true
		}
	}
	return false
}

// nameLike reports whether a value reads as the name of something: words of
// letters of one case. Credentials are referred to by such names.
func nameLike(value string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("-_./:", r) })
	for _, w := range words {
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" && strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return false
		}
	}
	return true
}

// namesSecret reports whether a field is named as one that holds a credential. Of
// a path the last part counts.
func namesSecret(name string) bool {
	_, name, _ = cutLast("."+name, ".")
	flat := strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
	for _, suffix := range []string{"ref", "name", "file", "path", "key_id", "keyid", "keys", "enabled", "policy", "length", "url", "mount", "type"} {
		if strings.HasSuffix(flat, suffix) {
			return false
		}
	}
	if strings.HasPrefix(flat, "existing") {
		return false
	}
	for _, word := range []string{"password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey", "masterkey", "authtoken", "accesstoken", "clientsecret", "encryptionkey"} {
		if strings.Contains(flat, word) {
			return true
		}
	}
	return flat == "token" || flat == "secret" || strings.HasSuffix(flat, "token") && !strings.HasSuffix(flat, "mounttoken")
}

// placeholder reports whether a value stands for one that is put in elsewhere.
func placeholder(value string) bool {
	v := strings.ToLower(strings.TrimSpace(value))
	if v == "" || v == "true" || v == "false" || v == "null" || strings.HasPrefix(v, "<") || strings.HasPrefix(v, "vault:") || strings.HasPrefix(v, "ref+") ||
		strings.HasPrefix(v, "enc[") || strings.Contains(v, "${") || strings.Contains(v, "$(") || strings.Contains(v, "{{") {
		return true
	}
	for _, word := range []string{"changeme", "change-me", "change_me", "replace", "example", "placeholder", "dummy", "redacted", "your-", "your_", "xxxx", "****", "todo"} {
		if strings.Contains(v, word) {
			return true
		}
	}
	return strings.Count(v, v[:1]) == len(v)
}

// entropy is Shannon's, in bits for each character.
func entropy(s string) float64 {
	counts := map[rune]int{}
	total := 0
	for _, r := range s {
		counts[r]++
		total++
	}
	var bits float64
	for _, n := range counts {
		p := float64(n) / float64(total)
		bits -= p * math.Log2(p)
	}
	return bits
}

// classes counts the kinds of characters: small and capital letters, digits, others.
func classes(s string) int {
	var lower, upper, digit, other bool
	for _, r := range s {
		switch {
		case unicode.IsLower(r):
			lower = true
		case unicode.IsUpper(r):
			upper = true
		case unicode.IsDigit(r):
			digit = true
		default:
			other = true
		}
	}
	n := 0
	for _, is := range []bool{lower, upper, digit, other} {
		if is {
			n++
		}
	}
	return n
}

// plaintext finds credentials in rendered Secrets. Values that are different in
// every rendering were made by it and stand in no file.
func plaintext(w *world) {
	c := newCredential()
	made := map[manifest.Key]bool{}
	for _, u := range w.in.Unstable {
		made[u.Object] = true
	}
	for _, s := range slices.Concat(w.stages, w.fails, w.deletion) {
		if s.Key.Group != "" || s.Key.Kind != "Secret" || s.Object == nil || made[s.Key] {
			continue
		}
		values := entries(s.Object.Unstructured)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			what, severity := c.judge(name, values[name])
			if what == "" {
				continue
			}
			if byChart(s) {
				// Charts make passwords and certificates up; those that a value file
				// brings are found there.
				severity = diag.Warning
			}
			w.add(s, problem("plaintext-secret", severity, "data["+name+"]",
				fmt.Sprintf("%s holds %s under %s, and whoever reads the repository has it", s.Key.Short(), what, name),
				"let an ExternalSecret or a SealedSecret bring it, and change the credential: it stays in the history"))
		}
	}
}

// byChart reports whether a chart made the object, here or before it was
// committed.
func byChart(s *stage) bool {
	labels := s.Object.GetLabels()
	return s.Object.Provenance.Chart != "" || labels["app.kubernetes.io/managed-by"] == "Helm" || labels["heritage"] == "Helm"
}

// Plaintext finds credentials in a file of values: path is the file's name for
// findings. Files that are no YAML are read by the forms of credentials alone.
func Plaintext(path string, data []byte) []Finding {
	c := newCredential()
	var found []Finding
	report := func(name, value string, line int) {
		what, severity := c.judge(name, value)
		if what == "" {
			return
		}
		f := problem("plaintext-secret", severity, name, fmt.Sprintf("%s holds %s", name, what),
			"let an ExternalSecret bring it, and change the credential: it stays in the history")
		if name == "" {
			f.Message = "the file holds " + what
		}
		f.At = manifest.Provenance{File: path, Line: line}
		found = append(found, f)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil || root.Kind == 0 {
		for i, line := range strings.Split(string(data), "\n") {
			report("", line, i+1)
		}
		return found
	}
	walkScalars(&root, "", 0, report)
	return found
}

// maxNesting bounds how deep a document is followed.
const maxNesting = 100

func walkScalars(n *yaml.Node, name string, depth int, report func(name, value string, line int)) {
	if depth > maxNesting {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if name != "" {
				key = name + "." + key
			}
			walkScalars(n.Content[i+1], key, depth+1, report)
		}
	case yaml.ScalarNode:
		report(name, n.Value, n.Line)
	default:
		// An alias is reported where its anchor stands.
		for _, child := range n.Content {
			walkScalars(child, name, depth+1, report)
		}
	}
}
