// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package gittest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// SSHKey is a key pair of a client or a server.
type SSHKey struct {
	// Private is the key in OpenSSH's format, Public a line of authorized_keys.
	Private, Public string

	signer ssh.Signer
}

// NewSSHKey makes a key pair.
func NewSSHKey(t testing.TB) SSHKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "test")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return SSHKey{
		Private: string(pem.EncodeToMemory(block)),
		Public:  strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))),
		signer:  signer,
	}
}

// Fingerprint names the key.
func (k SSHKey) Fingerprint() string { return ssh.FingerprintSHA256(k.signer.PublicKey()) }

// ServeSSH serves the repository by SSH to who has the client's key, and returns
// its URL and the server's line for known_hosts.
func (r *Repository) ServeSSH(client SSHKey) (url, knownHost string) {
	r.t.Helper()
	host := NewSSHKey(r.t)
	conf := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(client.signer.PublicKey().Marshal()) {
			return nil, errors.New("unknown key")
		}
		return &ssh.Permissions{}, nil
	}}
	conf.AddHostKey(host.signer)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.serveSSH(conn, conf)
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("ssh://git@127.0.0.1:%s/repo.git", port), fmt.Sprintf("[127.0.0.1]:%s %s", port, host.Public)
}

// serveSSH answers the sessions of one connection, whatever goes wrong with it is
// what the client sees.
func (r *Repository) serveSSH(conn net.Conn, conf *ssh.ServerConfig) {
	server, channels, requests, err := ssh.NewServerConn(conn, conf)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go r.session(channel, requests)
	}
}

func (r *Repository) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer func() { _ = channel.Close() }()
	env := Env()
	for req := range requests {
		switch req.Type {
		case "env":
			var pair struct{ Name, Value string }
			if ssh.Unmarshal(req.Payload, &pair) == nil && pair.Name == "GIT_PROTOCOL" {
				env = append(env, "GIT_PROTOCOL="+pair.Value)
			}
			_ = req.Reply(true, nil)
		case "exec":
			var command struct{ Line string }
			if ssh.Unmarshal(req.Payload, &command) != nil || !strings.HasPrefix(command.Line, "git-upload-pack ") {
				_ = req.Reply(false, nil)
				return
			}
			_ = req.Reply(true, nil)
			status := struct{ Status uint32 }{r.uploadPack(channel, env)}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
			return
		default:
			_ = req.Reply(false, nil)
		}
	}
}

func (r *Repository) uploadPack(channel ssh.Channel, env []string) uint32 {
	cmd := exec.Command("git", "-c", "safe.directory=*", "upload-pack", r.mirror.GitDir)
	cmd.Env = append(slices.Clone(env), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	if err := cmd.Start(); err != nil {
		return 1
	}
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := channel.Read(buf)
			if _, errWrite := stdin.Write(buf[:n]); err != nil || errWrite != nil {
				_ = stdin.Close()
				return
			}
		}
	}()
	if err := cmd.Wait(); err != nil {
		return 1
	}
	return 0
}
