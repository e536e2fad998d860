// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/wavetrain/wavetrain/internal/gitserver/gittest"
	"github.com/wavetrain/wavetrain/internal/source"
	"github.com/wavetrain/wavetrain/internal/source/sourcetest"
)

const cloudToken = "cl0ud-t0ken"

// gives answers a request for a token.
func gives(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{name: cloudToken, "expires_in": 3600, "token_type": "Bearer"})
}

// The exchange of RFC 7523: the service account signs who it is, and gets a token.
func TestGoogleServiceAccount(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	var login *httptest.Server
	login = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var claims struct {
			jwt.RegisteredClaims
			Scope string `json:"scope"`
		}
		_, err := jwt.ParseWithClaims(r.PostFormValue("assertion"), &claims, func(*jwt.Token) (any, error) { return &key.PublicKey, nil }, jwt.WithAudience(login.URL+"/token"))
		if err != nil || r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || claims.Issuer != "robot@shop.example.test" || claims.Scope == "" {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		gives(w, "access_token")
	}))
	t.Cleanup(login.Close)
	account := func(email string) string {
		data, err := json.Marshal(map[string]string{
			"type": "service_account", "client_email": email, "private_key_id": "1", "token_uri": login.URL + "/token",
			"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	with := func(url, key string) source.Repository {
		return source.Repository{URL: url, Known: true, Credentials: source.Credentials{GoogleKey: key}}
	}
	repo := gittest.New(t, map[string]string{"x": "1"})
	url := serve(t, guarded(repo, basic("robot@shop.example.test", cloudToken)))
	store := newStore(t, source.Options{})
	readsX(t, store, with(url, account("robot@shop.example.test")), "1")
	readsX(t, store, with(url, account("robot@shop.example.test")), "1")
	if n := asked.Load(); n != 1 {
		t.Errorf("%d tokens were asked for where one is valid", n)
	}
	refused(t, store, with(url, account("stranger@shop.example.test")), source.Unauthenticated, url, "answers 400", "gcpServiceAccountKey")
	refused(t, store, with(url, "no JSON"), source.Unauthenticated, url, "gcpServiceAccountKey is no key of a service account")
	refused(t, store, with(url, strings.Replace(account("x"), "PRIVATE KEY", "NOTHING", 2)), source.Unauthenticated, url, "gcpServiceAccountKey")

	// Google's registries want another name for the same token.
	registry := with("oci://"+sourcetest.Registry(t, basic("oauth2accesstoken", cloudToken))+"/x", account("robot@shop.example.test"))
	registry.PlainHTTP = true
	if _, err := store.Check(t.Context(), registry); err != nil {
		t.Error(err)
	}
}

func TestAzureIdentities(t *testing.T) {
	proof := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(proof, []byte("pr00f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forPrincipal := r.PostFormValue("client_secret") == "s3cret"
		forWorkload := r.PostFormValue("client_assertion") == "pr00f" && r.PostFormValue("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
		if r.URL.Path != "/tenant/oauth2/v2.0/token" || r.PostFormValue("grant_type") != "client_credentials" || r.PostFormValue("client_id") != "client" ||
			!strings.HasSuffix(r.PostFormValue("scope"), "/.default") || forPrincipal == forWorkload {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		gives(w, "access_token")
	}))
	t.Cleanup(login.Close)
	principal := &source.AzureIdentity{TenantID: "tenant", ClientID: "client", ClientSecret: "s3cret", Authority: login.URL}
	workload := &source.AzureIdentity{Workload: true}
	dir := t.TempDir()
	env := append(gittest.Env(), "AZURE_TENANT_ID=tenant", "AZURE_CLIENT_ID=client", "AZURE_FEDERATED_TOKEN_FILE="+proof, "AZURE_AUTHORITY_HOST="+login.URL+"/")
	inPod, err := source.NewStore(source.Options{Dir: dir, Env: env, RefsTTL: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inPod.Close)
	repo := gittest.New(t, map[string]string{"x": "1"})
	git := serve(t, guarded(repo, "Bearer "+cloudToken))
	with := func(id *source.AzureIdentity) source.Repository {
		return source.Repository{URL: git, Known: true, Credentials: source.Credentials{Azure: id}}
	}
	readsX(t, newStore(t, source.Options{}), with(principal), "1")
	readsX(t, inPod, with(workload), "1")
	wrong := *principal
	wrong.ClientSecret = password
	refused(t, newStore(t, source.Options{}), with(&wrong), source.Unauthenticated, git, "answers 401", "azureServicePrincipalClientSecret")
	refused(t, newStore(t, source.Options{}), with(workload), source.Unauthenticated, git, "useAzureWorkloadIdentity", "AZURE_FEDERATED_TOKEN_FILE")

	// A registry gives a token of its own for that of Azure.
	const user = "00000000-0000-0000-0000-000000000000"
	behind, err := url.Parse("http://" + sourcetest.Registry(t, basic(user, "registry's")))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth2/exchange", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("grant_type") != "access_token" || r.PostFormValue("access_token") != cloudToken || r.PostFormValue("service") != r.Host {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, `{"refresh_token":"registry's"}`)
	})
	mux.Handle("/", httputil.NewSingleHostReverseProxy(behind))
	registry := httptest.NewServer(mux)
	t.Cleanup(registry.Close)
	for name, store := range map[string]*source.Store{"principal": newStore(t, source.Options{}), "workload": inPod} {
		id := map[string]*source.AzureIdentity{"principal": principal, "workload": workload}[name]
		at := source.Repository{URL: strings.Replace(registry.URL, "http://", "oci://", 1) + "/x", Kind: source.OCI, PlainHTTP: true, Credentials: source.Credentials{Azure: id}}
		if _, err := store.Check(t.Context(), at); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
