// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// access is what one git command needs to read a remote: environment variables,
// and files that only this user can read and that are gone after the command.
// Nothing of it is ever an argument, which everybody on the machine could see.
type access struct {
	env     []string
	config  [][2]string
	dir     string
	secrets []string
	// relay leads ssh through a proxy; may be nil.
	relay *relay
}

// access prepares the use of the repository's credentials for the URL.
func (s *Store) access(ctx context.Context, repo Repository) (*access, string, error) {
	creds, address := repo.Credentials.withLogin(repo.fetchURL())
	a := &access{secrets: creds.secrets()}
	// Redirects are followed by us, where they stay on the host.
	a.set("http.followRedirects", "false")
	var err error
	switch {
	case isHTTP(address):
		err = s.accessHTTP(ctx, a, repo, creds)
	case isSSH(address):
		err = s.accessSSH(a, creds, address)
	case !strings.Contains(address, "://") && !s.opts.AllowFile:
		err = &Error{
			Op: "read", URL: repo.Display(), Reason: Other, Detail: "this is no URL of a repository",
			Hint: "write https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH",
		}
	}
	if err != nil {
		return nil, "", errors.Join(err, a.close())
	}
	return a, address, nil
}

func (s *Store) accessHTTP(ctx context.Context, a *access, repo Repository, creds Credentials) error {
	header, err := s.authorization(ctx, repo, creds)
	if err != nil {
		return err
	}
	if header != "" {
		a.set("http.extraHeader", "Authorization: "+header)
		_, value, _ := strings.Cut(header, " ")
		a.secrets = append(a.secrets, value)
	}
	if creds.Insecure {
		a.set("http.sslVerify", "false")
	}
	for _, f := range []struct{ name, key, content string }{
		{"authorities.pem", "http.sslCAInfo", creds.Authorities},
		{"client.pem", "http.sslCert", creds.ClientCertificate},
		{"client.key", "http.sslKey", creds.ClientKey},
	} {
		if f.content == "" {
			continue
		}
		name, err := s.privateFile(a, f.name, f.content)
		if err != nil {
			return err
		}
		a.set(f.key, name)
	}
	if creds.Proxy != "" {
		a.env = append(a.env, "http_proxy="+creds.Proxy, "https_proxy="+creds.Proxy, "HTTPS_PROXY="+creds.Proxy,
			"no_proxy="+creds.NoProxy, "NO_PROXY="+creds.NoProxy)
	}
	return nil
}

// authorization is the value of the header of that name, empty for none.
func (s *Store) authorization(ctx context.Context, repo Repository, creds Credentials) (string, error) {
	creds, err := s.identity(ctx, repo, creds)
	if err != nil {
		return "", err
	}
	switch {
	case creds.BearerToken != "":
		return "Bearer " + creds.BearerToken, nil
	case creds.Username != "" || creds.Password != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(creds.Username+":"+creds.Password)), nil
	default:
		return "", nil
	}
}

func (s *Store) accessSSH(a *access, creds Credentials, address string) error {
	command := []string{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"}
	if creds.SSHKey != "" {
		// ssh wants the newline at the end that is easily lost in a Secret.
		name, err := s.privateFile(a, "id", strings.TrimRight(creds.SSHKey, "\n")+"\n")
		if err != nil {
			return err
		}
		command = append(command, "-F", "/dev/null", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-i", quoteShell(name))
	}
	switch {
	case creds.Insecure:
		command = append(command, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null")
	case creds.KnownHosts != nil:
		name, err := s.privateFile(a, "known_hosts", *creds.KnownHosts+"\n")
		if err != nil {
			return err
		}
		command = append(command, "-o", "StrictHostKeyChecking=yes", "-o", "GlobalKnownHostsFile=/dev/null",
			"-o", quoteShell("UserKnownHostsFile="+name))
	default:
		command = append(command, "-o", "StrictHostKeyChecking=yes")
	}
	through, err := relayFor(creds, address)
	if err != nil {
		return err
	}
	if a.relay = through; through != nil {
		command = append(command, through.options()...)
	}
	a.env = append(a.env, "GIT_SSH_COMMAND="+strings.Join(command, " "))
	return nil
}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (s *Store) privateFile(a *access, name, content string) (string, error) {
	if a.dir == "" {
		dir, err := os.MkdirTemp(s.opts.Dir, credentialDirPrefix)
		if err != nil {
			return "", fmt.Errorf("make directory for credentials: %w", err)
		}
		a.dir = dir
	}
	full := filepath.Join(a.dir, name)
	if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("write credentials: %w", err)
	}
	return full, nil
}

func (a *access) set(key, value string) { a.config = append(a.config, [2]string{key, value}) }

// environment is what the git process gets in addition to its own.
func (a *access) environment() []string {
	if a == nil {
		return nil
	}
	env := append([]string{}, a.env...)
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(a.config)))
	for i, kv := range a.config {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, kv[1]))
	}
	return env
}

// proxyTrouble says why the proxy does not let ssh through; "" if it does.
func (a *access) proxyTrouble() string {
	if a == nil || a.relay.trouble() == nil {
		return ""
	}
	return a.censor(fmt.Sprintf("the proxy %s does not let us through: %v", a.relay.proxy.Host, a.relay.trouble()))
}

// censor takes secrets out of what a command has said.
func (a *access) censor(text string) string {
	if a == nil {
		return text
	}
	for _, secret := range a.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

func (a *access) close() error {
	if a == nil {
		return nil
	}
	if a.relay != nil {
		// That the port is closed already is what we want.
		_ = a.relay.close()
		a.relay = nil
	}
	if a.dir == "" {
		return nil
	}
	if err := os.RemoveAll(a.dir); err != nil {
		return fmt.Errorf("delete credentials: %w", err)
	}
	return nil
}
