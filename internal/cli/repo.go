// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/internal/controller"
	"github.com/wavetrain/wavetrain/internal/source"
)

func newRepoCmd(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "repo",
		Aliases: []string{"repository", "repos"},
		Short:   "Give access to repositories, and see which there is",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRepoAddCmd(s), newRepoListCmd(s), newRepoGetCmd(s), newRepoRmCmd(s), newRepoTestCmd(s))
	return cmd
}

func newRepoListCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the repositories and templates that Secrets describe",
		Long:    "List the repositories and templates that Secrets describe. Nothing that is secret is shown, in no format.",
		Example: `  wavetrain repo list
  wavetrain repo list -o wide`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			c, err := k.client()
			if err != nil {
				return err
			}
			list, err := controller.KnownRepositories(cmd.Context(), c, k.namespace)
			if err != nil {
				return err
			}
			return printRepos(s, &out, list)
		},
	}
	k.addFlags(cmd.Flags())
	out.addFlag(cmd, "wide", "json", "yaml")
	return cmd
}

func newRepoGetCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var out output
	cmd := &cobra.Command{
		Use:   "get URL",
		Short: "Show what Secrets say of a repository",
		Long: `Show what Secrets say of a repository: its own ones, or else the template that is for it.

Exit codes: 0 shown, 1 no Secret is about it, 2 wrong usage.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRepos(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			c, err := k.client()
			if err != nil {
				return err
			}
			list, err := reposFor(cmd.Context(), c, k.namespace, args[0])
			if err != nil {
				return err
			}
			return printRepos(s, &out, list)
		},
	}
	k.addFlags(cmd.Flags())
	out.addFlag(cmd, "wide", "json", "yaml")
	return cmd
}

func newRepoRmCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var project string
	var template bool
	cmd := &cobra.Command{
		Use:     "rm URL...",
		Aliases: []string{"remove", "delete"},
		Short:   "Delete the Secret of a repository",
		Long: `Delete the Secret of a repository, or with --template that of a template. Applications of the
repository keep what they have; what they need anew cannot be read without access.`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeRepos(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := k.client()
			if err != nil {
				return err
			}
			for _, url := range args {
				list, err := reposOf(cmd.Context(), c, k.namespace, url, project, template)
				if err != nil {
					return err
				}
				if len(list) > 1 {
					return fmt.Errorf("%d Secrets are about %s: choose one with --project, or delete it by its name", len(list), url)
				}
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: list[0].Secret}}
				if err := c.Delete(cmd.Context(), secret); err != nil {
					return fmt.Errorf("delete Secret %s: %w", list[0].Secret, err)
				}
				fmt.Fprintf(s.Out, "%s removed\n", url)
			}
			return nil
		},
	}
	k.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&project, "project", "", "the Secret that is for this project")
	cmd.Flags().BoolVar(&template, "template", false, "the template with this URL")
	return cmd
}

func newRepoTestCmd(s Streams) *cobra.Command {
	k := newKube(s)
	var project, kind string
	cmd := &cobra.Command{
		Use:   "test URL",
		Short: "Find out whether a repository can be read, and if not, why",
		Long: `Find out whether a repository can be read, from this machine, with what the Secrets and
ConfigMaps of the control namespace say of it: credentials, certificates, host keys, proxy.

Exit codes: 0 it can be read, 1 it cannot, 2 wrong usage.`,
		Example: `  wavetrain repo test https://git.example.com/acme/deploy
  wavetrain repo test https://charts.example.com --project shop`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRepos(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRepoURL(args[0], kind); err != nil {
				return err
			}
			c, err := k.client()
			if err != nil {
				return err
			}
			repo, err := controller.FindRepository(cmd.Context(), c, k.namespace, args[0], project)
			if err != nil {
				return err
			}
			if kind != "" {
				repo.Kind = source.Kind(kind)
			}
			return testRepo(cmd.Context(), s, repo)
		},
	}
	k.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&project, "project", "", "with what Applications of this project may use")
	cmd.Flags().StringVar(&kind, "type", "", "git, helm or oci (default what its Secret says, or else git)")
	completeRepoType(cmd)
	return cmd
}

func repoTypes() []string {
	return []string{string(source.Git), string(source.Helm), string(source.OCI)}
}

func completeRepoType(cmd *cobra.Command) {
	// The flag exists: the caller has made it.
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(repoTypes(), cobra.ShellCompDirectiveNoFileComp))
}

// checkRepoURL refuses what is no address of a repository.
func checkRepoURL(url, kind string) error {
	if kind != "" && !slices.Contains(repoTypes(), kind) {
		return usageError("--type %q is not known: use git, helm or oci", kind)
	}
	if kind == string(source.OCI) || kind == string(source.Helm) || strings.Contains(url, "://") || strings.Contains(url, "@") && strings.Contains(url, ":") {
		return nil
	}
	return usageError("%q is no URL of a repository: write https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH", url)
}

// testRepo asks the repository and says what it has.
func testRepo(ctx context.Context, s Streams, repo source.Repository) error {
	dir, err := os.MkdirTemp("", "wavetrain-repo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := source.NewStore(source.Options{Dir: dir, Env: s.gitEnv()})
	if err != nil {
		return err
	}
	defer store.Close()
	has, err := store.Check(ctx, repo)
	if failed, ok := errors.AsType[*source.Error](err); ok && (failed.Reason == source.Unavailable || failed.Reason == source.RateLimited) {
		// Nobody asks again here.
		once := *failed
		once.Hint = "try again later"
		return &once
	}
	if err != nil {
		return err
	}
	how := "without credentials"
	if repo.Known {
		how = "with its Secret"
	}
	fmt.Fprintf(s.Out, "%s can be read %s: %s\n", repo.Display(), how, has)
	return nil
}

// reposOf finds the Secrets about a URL.
func reposOf(ctx context.Context, c client.Reader, namespace, url, project string, template bool) ([]controller.KnownRepository, error) {
	all, err := controller.KnownRepositories(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(all, func(r controller.KnownRepository) bool {
		return !controller.SameAddress(r.URL, url) || project != "" && r.Project != project || template && !r.Template
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("no Secret in namespace %q is about %s: `wavetrain repo list` shows all", namespace, url)
	}
	return list, nil
}

// reposFor finds the Secrets about a URL, or else the template that is for it.
func reposFor(ctx context.Context, c client.Reader, namespace, url string) ([]controller.KnownRepository, error) {
	list, err := reposOf(ctx, c, namespace, url, "", false)
	if err == nil {
		return list, nil
	}
	all, errList := controller.KnownRepositories(ctx, c, namespace)
	if errList != nil {
		return nil, errList
	}
	var best []controller.KnownRepository
	for _, r := range all {
		switch {
		case !r.IsFor(url) || len(best) > 0 && len(r.URL) < len(best[0].URL):
		case len(best) > 0 && len(r.URL) == len(best[0].URL):
			best = append(best, r) // of several projects
		default:
			best = []controller.KnownRepository{r}
		}
	}
	if len(best) == 0 {
		return nil, err
	}
	return best, nil
}

func printRepos(s Streams, out *output, list []controller.KnownRepository) error {
	if done, err := out.structured(s.Out, list); done {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(s.Err, "No repositories found. Public ones need no Secret.")
		return nil
	}
	header := []string{"TYPE", "URL", "PROJECT", "CREDENTIALS"}
	if out.format == "wide" {
		header = append(header, "NAME", "SECRET", "OPTIONS")
	}
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		url := r.URL
		if r.Template {
			url += "*"
		}
		row := []string{r.Type, url, r.Project, strings.Join(r.Credentials, ", ")}
		if out.format == "wide" {
			row = append(row, r.Name, r.Secret, strings.Join(repoOptions(r), ", "))
		}
		rows = append(rows, row)
	}
	return table(s.Out, header, rows)
}

func repoOptions(r controller.KnownRepository) []string {
	var list []string
	if r.Insecure {
		list = append(list, "insecure")
	}
	if r.LFS {
		list = append(list, "LFS")
	}
	if r.Proxy != "" {
		list = append(list, "proxy "+r.Proxy)
	}
	if r.FetchURL != "" {
		list = append(list, "fetched from "+r.FetchURL)
	}
	return list
}

func completeRepos(k *kube) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, err := k.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, err := controller.KnownRepositories(cmd.Context(), c, k.namespace)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var urls []cobra.Completion
		for _, r := range list {
			urls = append(urls, r.URL)
		}
		return urls, cobra.ShellCompDirectiveNoFileComp
	}
}
