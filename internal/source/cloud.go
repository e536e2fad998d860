// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/oauth2/jwt"
)

// AzureIdentity reads Azure DevOps and Azure Container Registry in the name of a
// service principal, or of the workload that we are.
type AzureIdentity struct {
	// TenantID, ClientID and ClientSecret are those of a service principal.
	TenantID, ClientID, ClientSecret string
	// Authority gives out the tokens; empty is Microsoft's.
	Authority string
	// Workload takes tenant, client and proof from what Kubernetes was told to give
	// the Pod; the environment names them.
	Workload bool
}

const (
	azureAuthority = "https://login.microsoftonline.com"
	// Whom a token is for: Azure DevOps has no name, only this id.
	azureDevOps   = "499b84ac-1321-427f-aa17-267ca6975798/.default"
	azureRegistry = "https://containerregistry.azure.net/.default"
	// azureRegistryUser is the user of a registry that a token stands for.
	azureRegistryUser = "00000000-0000-0000-0000-000000000000"
	googleScope       = "https://www.googleapis.com/auth/cloud-platform"
	// googleRegistryUser is the same for Google's.
	googleRegistryUser = "oauth2accesstoken"
	clientAssertion    = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
)

// identity turns an identity that is no login yet into one.
func (s *Store) identity(ctx context.Context, repo Repository, creds Credentials) (Credentials, error) {
	registry := repo.Kind == OCI || repo.Kind == Helm || strings.HasPrefix(repo.URL, "oci://")
	switch {
	case creds.GitHubApp != nil:
		token, err := s.tokens.get(ctx, repo, *creds.GitHubApp)
		if err != nil {
			return creds, err
		}
		creds.Username, creds.Password = "x-access-token", token
	case creds.GoogleKey != "":
		user, token, err := s.googleToken(ctx, repo, creds)
		if err != nil {
			return creds, err
		}
		if creds.Username, creds.Password = user, token; registry {
			creds.Username = googleRegistryUser
		}
	case creds.Azure != nil && registry:
		token, err := s.azureRegistryToken(ctx, repo, creds)
		if err != nil {
			return creds, err
		}
		creds.Username, creds.Password = azureRegistryUser, token
	case creds.Azure != nil:
		token, err := s.azureToken(ctx, repo, creds, azureDevOps)
		if err != nil {
			return creds, err
		}
		creds.BearerToken = token
	}
	return creds, nil
}

// googleToken is the name of a service account, and a token that proves it.
func (s *Store) googleToken(ctx context.Context, repo Repository, creds Credentials) (user, token string, err error) {
	const field = "gcpServiceAccountKey"
	op := "get a token of Google for"
	var key struct {
		Type       string `json:"type"`
		Email      string `json:"client_email"`
		PrivateKey string `json:"private_key"`
		KeyID      string `json:"private_key_id"`
		TokenURL   string `json:"token_uri"`
	}
	err = json.Unmarshal([]byte(creds.GoogleKey), &key)
	if err != nil || key.Type != "service_account" || key.Email == "" || key.PrivateKey == "" || key.TokenURL == "" {
		return "", "", &Error{
			Op: op, URL: repo.Display(), Reason: Unauthenticated, Detail: field + " is no key of a service account in JSON", Hint: "correct its repository Secret",
		}
	}
	conf := jwt.Config{Email: key.Email, PrivateKey: []byte(key.PrivateKey), PrivateKeyID: key.KeyID, Scopes: []string{googleScope}, TokenURL: key.TokenURL}
	token, err = s.cloudToken(ctx, repo, creds, cloud{
		op: op, field: field, address: key.TokenURL, key: creds.GoogleKey,
		ask: func(ctx context.Context) (*oauth2.Token, error) { return conf.TokenSource(ctx).Token() },
	})
	return key.Email, token, err
}

// azureToken is a token for a service of Azure.
func (s *Store) azureToken(ctx context.Context, repo Repository, creds Credentials, scope string) (string, error) {
	id, field, op := *creds.Azure, "azureServicePrincipalClientSecret", "get a token of Azure for"
	conf := clientcredentials.Config{Scopes: []string{scope}, AuthStyle: oauth2.AuthStyleInParams}
	if id.Workload {
		field = "useAzureWorkloadIdentity"
		proof, err := os.ReadFile(s.environment("AZURE_FEDERATED_TOKEN_FILE"))
		id.TenantID, id.ClientID, id.Authority = s.environment("AZURE_TENANT_ID"), s.environment("AZURE_CLIENT_ID"), s.environment("AZURE_AUTHORITY_HOST")
		if err != nil || id.TenantID == "" || id.ClientID == "" {
			return "", &Error{
				Op: op, URL: repo.Display(), Reason: Unauthenticated, Err: err,
				Detail: "its repository Secret says " + field + ", but this process has no AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED_TOKEN_FILE that can be read",
				Hint:   "give the controller's Pod and ServiceAccount the label and annotations of Azure Workload Identity",
			}
		}
		conf.EndpointParams = url.Values{"client_assertion_type": {clientAssertion}, "client_assertion": {strings.TrimSpace(string(proof))}}
	}
	authority := strings.TrimSuffix(id.Authority, "/")
	if authority == "" {
		authority = azureAuthority
	}
	conf.ClientID, conf.ClientSecret, conf.TokenURL = id.ClientID, id.ClientSecret, authority+"/"+url.PathEscape(id.TenantID)+"/oauth2/v2.0/token"
	return s.cloudToken(ctx, repo, creds, cloud{
		op: op, field: field, address: conf.TokenURL, key: strings.Join([]string{id.TenantID, id.ClientID, id.ClientSecret, conf.TokenURL, scope}, "\x00"),
		ask: conf.Token,
	})
}

// azureRegistryToken is what Azure Container Registry gives for a token of Azure.
func (s *Store) azureRegistryToken(ctx context.Context, repo Repository, creds Credentials) (string, error) {
	token, err := s.azureToken(ctx, repo, creds, azureRegistry)
	if err != nil {
		return "", err
	}
	host := Host("oci://" + strings.TrimPrefix(strings.TrimPrefix(repo.fetchURL(), "oci://"), "https://"))
	scheme := "https://"
	if repo.PlainHTTP {
		scheme = "http://"
	}
	address := scheme + host + "/oauth2/exchange"
	return s.cloudToken(ctx, repo, creds, cloud{
		op: "get a token of the registry of", field: "the role of the Azure identity, AcrPull", address: address, key: host + "\x00" + token,
		ask: func(ctx context.Context) (*oauth2.Token, error) {
			return exchange(ctx, address, url.Values{"grant_type": {"access_token"}, "service": {host}, "access_token": {token}})
		},
	})
}

// exchange asks a registry for a token of its own, which is good for hours.
func exchange(ctx context.Context, address string, form url.Values) (*oauth2.Token, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client, ok := ctx.Value(oauth2.HTTPClient).(*http.Client)
	if !ok {
		return nil, errors.New("no client to ask with")
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Token string `json:"refresh_token"`
	}
	if res.StatusCode != http.StatusOK {
		return nil, &oauth2.RetrieveError{Response: res}
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, res.Body, 1<<20)).Decode(&answer); err != nil || answer.Token == "" {
		return nil, fmt.Errorf("%s does not answer as Azure Container Registry", Host(address))
	}
	return &oauth2.Token{AccessToken: answer.Token}, nil
}

// cloud is a question for a token.
type cloud struct {
	op string
	// field is what to correct when it is refused.
	field, address string
	// key tells tokens apart.
	key string
	ask func(ctx context.Context) (*oauth2.Token, error)
}

// shortToken is how long a token is used whose end nobody tells.
const shortToken = time.Hour

func (s *Store) cloudToken(ctx context.Context, repo Repository, creds Credentials, c cloud) (string, error) {
	return s.tokens.remember(c.key, func() (appToken, error) {
		// Certificates for the repository are not those of who gives out tokens.
		client, err := s.httpClient(Credentials{Proxy: creds.Proxy, NoProxy: creds.NoProxy}, c.address)
		if err != nil {
			return appToken{}, err
		}
		client.Timeout = s.opts.Timeout
		token, err := c.ask(context.WithValue(ctx, oauth2.HTTPClient, client))
		if err == nil {
			until := token.Expiry
			if until.IsZero() {
				until = s.opts.Clock.Now().Add(shortToken)
			}
			return appToken{Token: token.AccessToken, ExpiresAt: until}, nil
		}
		// What a token was asked for with is in no error of the library but the answer's text,
		// which is not shown.
		e := &Error{Op: c.op, URL: repo.Display(), Reason: Unauthenticated, Detail: c.field + " cannot be used", Hint: "correct its repository Secret"}
		if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			e.Detail = fmt.Sprintf("%s answers %s", Host(c.address), answer.Response.Status)
			if e.Reason = reasonOfStatus(answer.Response.StatusCode); e.Reason == Other {
				e.Reason = Unauthenticated
			}
			if e.Hint = "check " + c.field + " in its repository Secret"; e.Reason.passing() {
				e.Hint = advice(repo, e.Reason)
			}
		} else if _, ok := errors.AsType[*url.Error](err); ok {
			if e.Reason, e.Detail = httpTrouble(ctx, err); e.Reason == Unavailable {
				e.Hint = advice(repo, Unavailable)
			}
		}
		return appToken{}, s.pausing(e, c.address)
	})
}

// environment is a variable of the environment that we were given.
func (s *Store) environment(name string) string {
	for _, pair := range s.opts.Env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}
