// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/manifest"
	"github.com/wavetrain/wavetrain/internal/why"
)

// objectArgument is an object as it is written on the command line.
type objectArgument struct{ kind, group, namespace, name string }

// parseObjectArgument reads KIND/NAME or KIND/NAMESPACE/NAME.
func parseObjectArgument(text string) (objectArgument, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return objectArgument{}, usageError("%q is no object: write KIND/NAME or KIND/NAMESPACE/NAME", text)
	}
	o := objectArgument{name: parts[len(parts)-1]}
	o.kind, o.group, _ = strings.Cut(parts[0], ".")
	if len(parts) == 3 {
		o.namespace = parts[1]
	}
	return o, nil
}

// objectOf finds the object of an Application that an argument names. What the
// Application does not list, such as a Pod, is looked for in its namespace.
func objectOf(app *v1alpha1.Application, text string) (manifest.Key, error) {
	o, err := parseObjectArgument(text)
	if err != nil {
		return manifest.Key{}, err
	}
	for _, r := range app.Status.Resources {
		if strings.EqualFold(r.Kind, o.kind) && r.Name == o.name && (o.group == "" || r.Group == o.group) && (o.namespace == "" || r.Namespace == o.namespace) {
			return manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}, nil
		}
	}
	groups := map[string]string{"Pod": "", "ReplicaSet": "apps", "Job": "batch", "Secret": "", "ConfigMap": "", "PersistentVolumeClaim": "", "ServiceAccount": ""}
	for kind, group := range groups {
		if !strings.EqualFold(kind, o.kind) {
			continue
		}
		if o.namespace == "" {
			o.namespace = app.Spec.Destination.Namespace
		}
		return manifest.Key{Group: group, Kind: kind, Namespace: o.namespace, Name: o.name}, nil
	}
	return manifest.Key{}, fmt.Errorf("application %q has no %s: `wavetrain app get %s` lists its objects", app.Name, text, argument(client.ObjectKeyFromObject(app)))
}

// findObject answers for an object in the cluster of the kubeconfig. What is no
// object, because the first word is no kind, may be the name of an Application.
func findObject(ctx context.Context, s Streams, k *kube, text string) (answer why.Answer, isObject bool, err error) {
	o, err := parseObjectArgument(text)
	if err != nil {
		return why.Answer{}, false, err
	}
	c, err := k.client()
	if err != nil {
		return why.Answer{}, false, err
	}
	gvk, namespaced, err := k.kindOf(c, o)
	if err != nil {
		if o.kind != strings.ToLower(o.kind) {
			return why.Answer{}, true, err
		}
		return why.Answer{}, false, nil
	}
	var apps v1alpha1.ApplicationList
	if err := c.List(ctx, &apps); err != nil {
		return why.Answer{}, true, fmt.Errorf("list Applications: %w", err)
	}
	key := manifest.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.namespace, Name: o.name}
	if namespaced && o.namespace == "" {
		if key.Namespace, err = namespaceOf(ctx, c, gvk, o.name, apps.Items); err != nil {
			return why.Answer{}, true, err
		}
	}
	app := managerOf(ctx, c, gvk, key, apps.Items)
	if app == nil {
		// It belongs to no Application; any of this cluster connects to it.
		app = &v1alpha1.Application{Spec: v1alpha1.ApplicationSpec{Destination: v1alpha1.ApplicationDestination{Server: inCluster}}}
	}
	e, _, end, err := s.explainer(ctx, k, c, app)
	if err != nil {
		return why.Answer{}, true, err
	}
	defer end()
	answer, err = e.Object(ctx, key)
	return belongsTo(answer, app, key), true, err
}

// inCluster is the address of the cluster that the controller runs on.
const inCluster = "https://kubernetes.default.svc"

// belongsTo adds what the Application says of its object.
func belongsTo(answer why.Answer, app *v1alpha1.Application, key manifest.Key) why.Answer {
	answer.App = app.Name
	missing := len(answer.Chains) > 0 && len(answer.Chains[0]) > 0 && answer.Chains[0][0].State == why.Missing
	if told := why.Standing(app, key, missing); told != "" {
		answer.Obstacles = append(answer.Obstacles, fmt.Sprintf("Application/%s: %s is %s", app.Name, key.Short(), told))
		answer.Waits = true
	}
	return answer
}

// kindOf finds the kind that a word stands for, as kubectl does.
func (k *kube) kindOf(c client.Client, o objectArgument) (gvk schema.GroupVersionKind, namespaced bool, err error) {
	cfg, err := k.restConfig()
	if err != nil {
		return gvk, false, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return gvk, false, err
	}
	mapper := restmapper.NewShortcutExpander(c.RESTMapper(), disco, nil)
	gvk, err = mapper.KindFor(schema.GroupVersionResource{Group: o.group, Resource: strings.ToLower(o.kind)})
	if err != nil {
		return gvk, false, fmt.Errorf("the cluster serves no kind %q: %w", o.kind, err)
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return gvk, false, err
	}
	return gvk, mapping.Scope.Name() == "namespace", nil
}

// namespaceOf finds the namespace of an object among those that Applications
// deliver to.
func namespaceOf(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, name string, apps []v1alpha1.Application) (string, error) {
	var known, found []string
	add := func(namespace string) {
		if namespace != "" && !slices.Contains(known, namespace) {
			known = append(known, namespace)
		}
	}
	for i := range apps {
		add(apps[i].Spec.Destination.Namespace)
		for _, r := range apps[i].Status.Resources {
			if add(r.Namespace); r.Kind == gvk.Kind && r.Group == gvk.Group && r.Name == name && !slices.Contains(found, r.Namespace) {
				found = append(found, r.Namespace)
			}
		}
	}
	add("default")
	for _, namespace := range known {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u)
		if err == nil && !slices.Contains(found, namespace) {
			found = append(found, namespace)
		}
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no %s/%s in the namespaces of Applications (%s): write %s/NAMESPACE/%s", gvk.Kind, name, strings.Join(known, ", "), gvk.Kind, name)
	case 1:
		return found[0], nil
	}
	return "", usageError("%s/%s is in the namespaces %s: write %s/NAMESPACE/%s", gvk.Kind, name, strings.Join(found, ", "), gvk.Kind, name)
}

// maxOwners bounds how far owners are followed.
const maxOwners = 5

// managerOf is the Application that an object, or one of its owners, belongs to.
func managerOf(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, key manifest.Key, apps []v1alpha1.Application) *v1alpha1.Application {
	for range maxOwners {
		for i := range apps {
			if lists(&apps[i], key) {
				return &apps[i]
			}
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		if err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, u); err != nil {
			return nil
		}
		owners := u.GetOwnerReferences()
		if len(owners) == 0 {
			return nil
		}
		gvk = schema.FromAPIVersionAndKind(owners[0].APIVersion, owners[0].Kind)
		key = manifest.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: owners[0].Name}
	}
	return nil
}

func lists(app *v1alpha1.Application, key manifest.Key) bool {
	return slices.ContainsFunc(app.Status.Resources, func(r v1alpha1.ResourceStatus) bool {
		return manifest.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name} == key
	})
}

// completeWhy completes Applications, then the objects of the Application.
func completeWhy(k *kube) cobra.CompletionFunc {
	apps := completeApps(k)
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return apps(cmd, args, toComplete)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		_, app, err := k.application(ctx, args[0])
		if err != nil || len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var objects []cobra.Completion
		for _, r := range app.Status.Resources {
			objects = append(objects, r.Kind+"/"+r.Name)
		}
		return objects, cobra.ShellCompDirectiveNoFileComp
	}
}
