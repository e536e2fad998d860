// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	releasev1alpha1 "github.com/wavetrain/wavetrain/api/release/v1alpha1"
	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/controller"
)

// kube are the flags that choose a cluster and a namespace, named as kubectl
// names them.
type kube struct {
	kubeconfig, context string
	// namespace is the control namespace, appNamespace the one of the Applications
	// if that is another.
	namespace, appNamespace string
	allNamespaces           bool
	env                     func(string) string
}

func newKube(s Streams) *kube { return &kube{env: s.Env} }

// addClusterFlags adds the flags that choose a cluster alone.
func (k *kube) addClusterFlags(flags *pflag.FlagSet) {
	flags.StringVar(&k.kubeconfig, "kubeconfig", "", "kubeconfig file to use (default $KUBECONFIG, then ~/.kube/config, then in-cluster)")
	flags.StringVar(&k.context, "context", "", "context of the kubeconfig to use")
}

func (k *kube) addFlags(flags *pflag.FlagSet) {
	k.addClusterFlags(flags)
	flags.StringVarP(&k.namespace, "namespace", "n", controller.DefaultNamespace, "control namespace: the one of the projects, the settings and the Applications")
}

// addAppFlags adds the flags of commands about Applications.
func (k *kube) addAppFlags(flags *pflag.FlagSet) {
	k.addFlags(flags)
	flags.StringVarP(&k.appNamespace, "app-namespace", "N", "", "namespace of the Application if it is not --namespace; NAMESPACE/NAME says the same")
}

// apps is the namespace of the Applications.
func (k *kube) apps() string {
	if k.appNamespace != "" {
		return k.appNamespace
	}
	return k.namespace
}

// app reads the name of an Application: NAME, or NAMESPACE/NAME.
func (k *kube) app(arg string) (types.NamespacedName, error) {
	namespace, name, qualified := strings.Cut(arg, "/")
	switch {
	case !qualified:
		return types.NamespacedName{Namespace: k.apps(), Name: arg}, nil
	case namespace == "" || name == "" || strings.Contains(name, "/"):
		return types.NamespacedName{}, usageError("%q is no name of an Application: give NAME or NAMESPACE/NAME", arg)
	case k.appNamespace != "" && k.appNamespace != namespace:
		return types.NamespacedName{}, usageError("%q and --app-namespace %s name two namespaces: give one of them", arg, k.appNamespace)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// argument is what names an Application on the command line, whatever the flags
// are.
func argument(name types.NamespacedName) string {
	if name.Namespace == controller.DefaultNamespace {
		return name.Name
	}
	return name.String()
}

func (k *kube) addAllNamespaces(flags *pflag.FlagSet) {
	flags.BoolVarP(&k.allNamespaces, "all-namespaces", "A", false, "Applications of all namespaces")
}

// scope limits a list to the chosen namespace.
func (k *kube) scope() []client.ListOption {
	if k.allNamespaces {
		return nil
	}
	return []client.ListOption{client.InNamespace(k.apps())}
}

func (k *kube) restConfig() (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: k.kubeconfig, WarnIfAllMissing: false}
	if k.kubeconfig == "" {
		if list := k.env("KUBECONFIG"); list != "" {
			rules.Precedence = splitPathList(list)
		} else if home := k.env("HOME"); home != "" {
			rules.Precedence = []string{home + "/.kube/config"}
		}
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: k.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("choose a cluster: %w; give --kubeconfig or set KUBECONFIG", err)
	}
	cfg.QPS = -1
	return cfg, nil
}

func (k *kube) client() (client.WithWatch, error) {
	cfg, err := k.restConfig()
	if err != nil {
		return nil, err
	}
	s, err := apiScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: s})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cfg.Host, err)
	}
	return c, nil
}

// apiScheme knows Kubernetes' own kinds and ours.
func apiScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme, releasev1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}
