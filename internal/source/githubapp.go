// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// GitHubApp is an installation of a GitHub App, which reads in the place of a
// user.
type GitHubApp struct {
	ID, InstallationID string
	PrivateKey         string
	// BaseURL of the API of a GitHub Enterprise server. Empty is github.com's.
	BaseURL string
}

// gitHubAPI is where github.com's API is.
const gitHubAPI = "https://api.github.com"

// tokenMargin is how long before its end a token is not used any more.
const tokenMargin = 2 * time.Minute

// appTokens keeps tokens of GitHub Apps and clouds until they expire.
type appTokens struct {
	clock clock.PassiveClock
	store *Store
	asks  singleflight.Group

	mu     sync.Mutex
	tokens map[string]appToken
}

type appToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (t *appTokens) get(ctx context.Context, repo Repository, app GitHubApp) (string, error) {
	parts := []string{app.ID, app.InstallationID, app.BaseURL, app.PrivateKey}
	if app.InstallationID == "" {
		parts = append(parts, pathOf(repo.URL))
	}
	return t.remember(strings.Join(parts, "\x00"), func() (appToken, error) { return t.fetch(ctx, repo, app) })
}

// remember asks for a token unless there is one that is good for a while.
func (t *appTokens) remember(key string, ask func() (appToken, error)) (string, error) {
	key = sha256Hex([]byte(key))
	value, err, _ := t.asks.Do(key, func() (any, error) {
		t.mu.Lock()
		known, ok := t.tokens[key]
		t.mu.Unlock()
		if ok && t.clock.Now().Before(known.ExpiresAt.Add(-tokenMargin)) {
			return known.Token, nil
		}
		token, err := ask()
		if err != nil {
			return "", err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		maps.DeleteFunc(t.tokens, func(_ string, old appToken) bool { return t.clock.Now().After(old.ExpiresAt) })
		t.tokens[key] = token
		return token.Token, nil
	})
	token, _ := value.(string)
	return token, err
}

func (t *appTokens) fetch(ctx context.Context, repo Repository, app GitHubApp) (appToken, error) {
	op := "get a token of GitHub App " + app.ID + " for"
	fail := func(reason Reason, detail, hint string, err error) error {
		return &Error{Op: op, URL: repo.Display(), Reason: reason, Detail: detail, Hint: hint, Err: err}
	}
	if app.ID == "" {
		return appToken{}, fail(Unauthenticated, "githubAppID is missing", "complete its repository Secret", nil)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(app.PrivateKey))
	if err != nil {
		return appToken{}, fail(Unauthenticated, "githubAppPrivateKey is no RSA private key in PEM", "correct its repository Secret", nil)
	}
	now := t.clock.Now()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: app.ID,
		// GitHub's clock may be behind ours.
		IssuedAt:  jwt.NewNumericDate(now.Add(-time.Minute)),
		ExpiresAt: jwt.NewNumericDate(now.Add(9 * time.Minute)),
	}).SignedString(key)
	if err != nil {
		return appToken{}, fail(Unauthenticated, "cannot sign with githubAppPrivateKey", "correct its repository Secret", err)
	}
	base := strings.TrimSuffix(app.BaseURL, "/")
	if base == "" {
		base = gitHubAPI
	}
	client, err := t.store.httpClient(repo.Credentials, base)
	if err != nil {
		return appToken{}, err
	}
	ask := func(method, address string, want int) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, method, base+address, http.NoBody)
		if err != nil {
			return nil, fail(Other, "githubAppEnterpriseBaseUrl is no URL", "correct its repository Secret", nil)
		}
		req.Header.Set("Authorization", "Bearer "+signed)
		req.Header.Set("Accept", "application/vnd.github+json")
		res, err := client.Do(req)
		if err != nil {
			reason, detail := httpTrouble(ctx, err)
			return nil, fail(reason, detail, advice(repo, reason), err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		if err != nil {
			reason, detail := httpTrouble(ctx, err)
			return nil, fail(reason, detail, advice(repo, reason), err)
		}
		if res.StatusCode != want {
			return nil, fail(reasonOfStatus(res.StatusCode), fmt.Sprintf("%s answers %s", Host(base), res.Status),
				"check githubAppID, githubAppInstallationID and githubAppPrivateKey in its repository Secret", nil)
		}
		return body, nil
	}
	if app.InstallationID == "" {
		body, err := ask(http.MethodGet, "/repos/"+pathOf(repo.URL)+"/installation", http.StatusOK)
		if err != nil {
			return appToken{}, err
		}
		var installation struct {
			ID int64 `json:"id"`
		}
		if err := json.Unmarshal(body, &installation); err != nil || installation.ID == 0 {
			return appToken{}, fail(Unavailable, Host(base)+" does not answer as GitHub's API", "check githubAppEnterpriseBaseUrl", nil)
		}
		app.InstallationID = strconv.FormatInt(installation.ID, 10)
	}
	body, err := ask(http.MethodPost, "/app/installations/"+url.PathEscape(app.InstallationID)+"/access_tokens", http.StatusCreated)
	if err != nil {
		return appToken{}, err
	}
	var token appToken
	if err := json.Unmarshal(body, &token); err != nil || token.Token == "" {
		return appToken{}, fail(Unavailable, Host(base)+" does not answer as GitHub's API", "check githubAppEnterpriseBaseUrl", nil)
	}
	return token, nil
}

// pathOf is the path of a repository on its host, OWNER/NAME.
func pathOf(raw string) string {
	u, err := url.Parse(NormaliseURL(raw))
	if err != nil {
		return ""
	}
	return strings.Trim(u.EscapedPath(), "/")
}
