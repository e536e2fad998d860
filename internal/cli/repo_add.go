// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/controller"
)

// repoFlags are the flags of `repo add`.
type repoFlags struct {
	values map[string]*string
	files  map[string]fileFlag
	on     map[string]*bool

	passwordStdin, bearerStdin bool
	azureStdin                 bool
	template, upsert, skipTest bool
}

// fileFlag is a flag that names a file.
type fileFlag struct {
	flag string
	name *string
}

func newRepoAddCmd(s Streams) *cobra.Command {
	k := newKube(s)
	f := repoFlags{values: map[string]*string{}, files: map[string]fileFlag{}, on: map[string]*bool{}}
	cmd := &cobra.Command{
		Use:   "add URL",
		Short: "Give access to a repository",
		Long: `Give access to a repository: a Secret in Argo CD's form is written to the control namespace,
once the repository could be read with it. With --template it is for all repositories whose
URL begins so, and nothing can be tried.

Secrets are read from standard input or files, never from arguments, which everybody on the
machine can see.

Exit codes: 0 written, 1 the repository cannot be read or there is such a Secret already,
2 wrong usage.`,
		Example: `  # A token, from the clipboard or a password manager
  pass git/deploy | wavetrain repo add https://git.example.com/acme/deploy --username robot --password-stdin

  # A deploy key, for one project
  wavetrain repo add git@git.example.com:acme/deploy.git --ssh-private-key-path ./id --project shop

  # All repositories of an organisation, by a GitHub App
  wavetrain repo add https://github.com/acme --template --github-app-id 1 --github-app-private-key-path key.pem

  # Charts in Azure's registry, as the controller's Pod, which this machine is not
  wavetrain repo add oci://acme.azurecr.io/charts --use-azure-workload-identity --skip-test

  # A Helm repository
  wavetrain repo add https://charts.example.com --type helm --name example`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := f.data(args[0], s.In)
			if err != nil {
				return err
			}
			c, err := k.client()
			if err != nil {
				return err
			}
			return addRepo(cmd.Context(), s, c, k.namespace, data, f)
		},
	}
	k.addFlags(cmd.Flags())
	f.addFlags(cmd)
	return cmd
}

func (f *repoFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	for _, v := range []struct{ flag, key, help string }{
		{"type", "type", "git, helm or oci"},
		{"name", "name", "a name for people"},
		{"project", "project", "only this project's Applications may use it"},
		{"username", "username", "user for HTTPS"},
		{"proxy", "proxy", "proxy to reach it through: http, https or socks5"},
		{"no-proxy", "noProxy", "hosts that are reached without the proxy, separated by commas"},
		{"github-app-id", "githubAppID", "id of a GitHub App"},
		{"github-app-installation-id", "githubAppInstallationID", "id of the App's installation (default: that of the repository)"},
		{"azure-service-principal-tenant-id", "azureServicePrincipalTenantId", "tenant of an Azure service principal"},
		{"azure-service-principal-client-id", "azureServicePrincipalClientId", "id of the service principal"},
		{"azure-active-directory-endpoint", "azureActiveDirectoryEndpoint", "who gives out its tokens (default: https://login.microsoftonline.com)"},
		{"github-app-enterprise-base-url", "githubAppEnterpriseBaseUrl", "API of a GitHub Enterprise server, https://HOST/api/v3"},
	} {
		f.values[v.key] = flags.String(v.flag, "", v.help)
	}
	for _, v := range []struct{ flag, key, help string }{
		{"ssh-private-key-path", "sshPrivateKey", "file with a private key without a passphrase"},
		{"tls-client-cert-path", "tlsClientCertData", "file with a client certificate (PEM)"},
		{"tls-client-cert-key-path", "tlsClientCertKey", "file with its key (PEM)"},
		{"github-app-private-key-path", "githubAppPrivateKey", "file with the App's private key (PEM)"},
		{"gcp-service-account-key-path", "gcpServiceAccountKey", "file with the key of a Google service account (JSON)"},
	} {
		f.files[v.key] = fileFlag{v.flag, flags.String(v.flag, "", v.help)}
	}
	for _, v := range []struct{ flag, key, help string }{
		{"insecure-skip-server-verification", "insecure", "do not verify the server's certificate or host key"},
		{"enable-lfs", "enableLfs", "fetch files that Git LFS keeps"},
		{"enable-oci", "enableOCI", "the Helm repository is an OCI registry"},
		{"use-azure-workload-identity", "useAzureWorkloadIdentity", "in the name of the controller's Pod, by Azure Workload Identity"},
		{"insecure-oci-force-http", "insecureOCIForceHttp", "speak to the OCI registry without TLS"},
	} {
		f.on[v.key] = flags.Bool(v.flag, false, v.help)
	}
	flags.BoolVar(&f.passwordStdin, "password-stdin", false, "read the password or token from standard input")
	flags.BoolVar(&f.bearerStdin, "bearer-token-stdin", false, "read a bearer token from standard input")
	flags.BoolVar(&f.azureStdin, "azure-service-principal-client-secret-stdin", false, "read the secret of the service principal from standard input")
	flags.BoolVar(&f.template, "template", false, "for all repositories whose URL begins so")
	flags.BoolVar(&f.upsert, "upsert", false, "replace a Secret that is there")
	flags.BoolVar(&f.skipTest, "skip-test", false, "do not try to read the repository")
	cmd.MarkFlagsMutuallyExclusive("password-stdin", "bearer-token-stdin", "azure-service-principal-client-secret-stdin")
	cmd.MarkFlagsRequiredTogether("tls-client-cert-path", "tls-client-cert-key-path")
	cmd.MarkFlagsRequiredTogether("github-app-id", "github-app-private-key-path")
	cmd.MarkFlagsRequiredTogether("azure-service-principal-tenant-id", "azure-service-principal-client-id", "azure-service-principal-client-secret-stdin")
	completeRepoType(cmd)
}

// data is what the Secret holds.
func (f *repoFlags) data(url string, in io.Reader) (map[string][]byte, error) {
	if _, rest, ok := strings.Cut(url, "://"); ok && !strings.HasPrefix(url, "ssh://") && strings.Contains(strings.Split(rest, "/")[0], "@") {
		return nil, usageError("the URL holds a login: give it with --username and --password-stdin")
	}
	if err := checkRepoURL(url, *f.values["type"]); err != nil {
		return nil, err
	}
	data := map[string][]byte{controller.SecretKeyURL: []byte(url), "type": []byte("git")}
	if strings.HasPrefix(url, "oci://") {
		data["type"] = []byte("oci")
	}
	for key, value := range f.values {
		if *value != "" {
			data[key] = []byte(*value)
		}
	}
	for key, file := range f.files {
		if *file.name == "" {
			continue
		}
		content, err := os.ReadFile(*file.name)
		if err != nil {
			return nil, usageError("--%s: %v", file.flag, err)
		}
		data[key] = content
	}
	for key, on := range f.on {
		if *on {
			data[key] = []byte("true")
		}
	}
	for key, on := range map[string]bool{"password": f.passwordStdin, "bearerToken": f.bearerStdin, "azureServicePrincipalClientSecret": f.azureStdin} {
		if !on {
			continue
		}
		secret, err := io.ReadAll(io.LimitReader(in, 64<<10))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		text := strings.TrimRight(string(secret), "\r\n")
		if text == "" {
			return nil, usageError("standard input is empty: a password or token was expected")
		}
		data[key] = []byte(text)
	}
	return data, nil
}

func addRepo(ctx context.Context, s Streams, c client.Client, namespace string, data map[string][]byte, f repoFlags) error {
	kind := controller.SecretTypeRepository
	if f.template {
		kind = controller.SecretTypeTemplate
	}
	url, project := string(data[controller.SecretKeyURL]), string(data["project"])
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: repoSecretName(kind, url, project), Labels: map[string]string{controller.SecretTypeLabel: kind},
		},
		Data: data,
	}
	existing, err := existingRepo(ctx, c, namespace, url, project, f.template)
	if err != nil {
		return err
	}
	if existing != "" {
		if !f.upsert {
			return fmt.Errorf("the Secret %s is about %s already: replace it with --upsert", existing, url)
		}
		secret.Name = existing
	}
	if !f.template && !f.skipTest {
		repo, err := controller.DescribeRepository(ctx, c, namespace, url, data)
		if err != nil {
			return err
		}
		if err := testRepo(ctx, s, repo); err != nil {
			return fmt.Errorf("%w (nothing was written; --skip-test does not try)", err)
		}
	}
	if err := writeRepo(ctx, c, secret); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "Secret %s/%s written\n", namespace, secret.Name)
	return nil
}

// existingRepo is the name of the Secret about the same, empty for none.
func existingRepo(ctx context.Context, c client.Reader, namespace, url, project string, template bool) (string, error) {
	all, err := controller.KnownRepositories(ctx, c, namespace)
	if err != nil {
		return "", err
	}
	for _, r := range all {
		if r.Template == template && r.Project == project && r.FetchURL == "" && controller.SameAddress(r.URL, url) {
			return r.Secret, nil
		}
	}
	return "", nil
}

func writeRepo(ctx context.Context, c client.Client, secret *corev1.Secret) error {
	err := c.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		before := &corev1.Secret{}
		if err = c.Get(ctx, types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}, before); err == nil {
			before.Data, before.Labels = secret.Data, secret.Labels
			err = c.Update(ctx, before)
		}
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no namespace %q: choose one with -n", secret.Namespace)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// repoSecretName is the same for the same repository, so that two who add it do not
// make two Secrets.
func repoSecretName(kind, url, project string) string {
	sum := sha256.Sum256([]byte(url + "\x00" + project))
	prefix := "repo-"
	if kind == controller.SecretTypeTemplate {
		prefix = "creds-"
	}
	return prefix + hex.EncodeToString(sum[:5])
}
