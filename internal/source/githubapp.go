// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
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

// appTokens keeps tokens of GitHub Apps until they expire.
type appTokens struct {
	clock clock.PassiveClock
	store *Store

	mu     sync.Mutex
	tokens map[string]appToken
}

type appToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (t *appTokens) get(ctx context.Context, repo Repository, app GitHubApp) (string, error) {
	sum := sha256.Sum256([]byte(strings.Join([]string{app.ID, app.InstallationID, app.BaseURL, app.PrivateKey}, "\x00")))
	key := hex.EncodeToString(sum[:])
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.tokens[key]; ok && t.clock.Now().Before(known.ExpiresAt.Add(-tokenMargin)) {
		return known.Token, nil
	}
	token, err := t.fetch(ctx, repo, app)
	if err != nil {
		return "", err
	}
	t.tokens[key] = token
	return token.Token, nil
}

func (t *appTokens) fetch(ctx context.Context, repo Repository, app GitHubApp) (appToken, error) {
	op := "get a token of GitHub App " + app.ID + " for"
	fail := func(reason Reason, detail, hint string, err error) error {
		return &Error{Op: op, URL: repo.Display(), Reason: reason, Detail: detail, Hint: hint, Err: err}
	}
	if app.ID == "" || app.InstallationID == "" {
		return appToken{}, fail(Unauthenticated, "githubAppID or githubAppInstallationID is missing", "complete its repository Secret", nil)
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
	address := base + "/app/installations/" + app.InstallationID + "/access_tokens"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
	if err != nil {
		return appToken{}, fail(Other, "githubAppEnterpriseBaseURL is no URL", "correct its repository Secret", nil)
	}
	req.Header.Set("Authorization", "Bearer "+signed)
	req.Header.Set("Accept", "application/vnd.github+json")
	client, err := t.store.httpClient(repo.Credentials, base)
	if err != nil {
		return appToken{}, err
	}
	res, err := client.Do(req)
	if err != nil {
		return appToken{}, fail(Unavailable, httpTrouble(err), "it is asked again later", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return appToken{}, fail(Unavailable, httpTrouble(err), "it is asked again later", err)
	}
	if res.StatusCode != http.StatusCreated {
		return appToken{}, fail(reasonOfStatus(res.StatusCode), fmt.Sprintf("%s answers %s", Host(base), res.Status),
			"check githubAppID, githubAppInstallationID and githubAppPrivateKey in its repository Secret", nil)
	}
	var token appToken
	if err := json.Unmarshal(body, &token); err != nil || token.Token == "" {
		return appToken{}, fail(Unavailable, Host(base)+" does not answer as GitHub's API", "check githubAppEnterpriseBaseURL", nil)
	}
	return token, nil
}
