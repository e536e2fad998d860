// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/cluster"
	"github.com/wavetrain/wavetrain/internal/rollout"
)

// Labels and values of Argo CD's Secrets.
const (
	SecretTypeLabel   = "argocd.argoproj.io/secret-type" //nolint:gosec // a label, no secret
	secretTypeCluster = "cluster"
)

// errNoCluster is the error when an Application's destination names no cluster
// that is known.
var errNoCluster = errors.New("spec.destination")

// destinations opens each destination cluster once and keeps it open.
type destinations struct {
	// home is the cluster that the Applications live on.
	home  *rest.Config
	codec *cluster.Codec
	// secrets reads the cluster Secrets of the control namespace.
	secrets   client.Reader
	namespace string
	// changed is told of every change on any destination.
	changed func(on *destination, c cluster.Change)
	// served is told when a destination may have come to serve something else.
	served func(server string)
	// refused is told when a kind may not be read on a destination.
	refused func(server string, r cluster.Refusal)
	// told are the settings of now; nil as long as there are none.
	told func() *compiled
	// writes is how many calls the operations on one cluster make at once.
	writes int

	mu   sync.Mutex
	open map[string]*destination
}

// registration is how a cluster is known: its address, its name, the only project
// that it is for, empty for all, and the part of it that the credentials are for.
type registration struct {
	server, name, project string
	// namespaces are the only ones, with commas between; empty for all.
	namespaces    string
	clusterScoped bool
}

// destination is one open cluster.
type destination struct {
	*cluster.Cluster
	// Server is the address that Applications give.
	Server string
	// known is how it was registered when it was opened.
	known registration

	fingerprint string
	stop        context.CancelFunc
	// queue bounds what the operations on the cluster ask of it at once.
	queue *rollout.Queue
	// told are the settings that are in force on the connection.
	told *compiled
	// updates are those that wake nobody.
	updates atomic.Pointer[updates]
}

func newDestinations(home *rest.Config, codec *cluster.Codec, secrets client.Reader, namespace string, told func() *compiled, changed func(*destination, cluster.Change)) *destinations {
	return &destinations{home: home, codec: codec, secrets: secrets, namespace: namespace, told: told, changed: changed, open: map[string]*destination{}}
}

// get returns the cluster that dest names. ctx bounds the look-up; life is how
// long the cluster stays open. The error says which clusters there are when none
// matches.
func (d *destinations) get(ctx, life context.Context, dest v1alpha1.ApplicationDestination) (*destination, error) {
	known, cfg, err := d.config(ctx, dest)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	fingerprint := cfg.Host + "\x00" + cfg.BearerToken + "\x00" + string(cfg.CAData) + "\x00" + string(cfg.CertData)
	server := known.server
	if opened, ok := d.open[server]; ok {
		if opened.fingerprint == fingerprint && opened.known == known {
			opened.tell(d.told())
			return opened, nil
		}
		// The Secret has changed: what is open may use outdated credentials.
		opened.stop()
	}
	c, err := cluster.New(cfg, cluster.Options{
		Codec: d.codec, Reach: known.reach(),
		ServedChanged: func() { d.served(server) }, Refused: func(r cluster.Refusal) { d.refused(server, r) },
	})
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", server, err)
	}
	runCtx, stop := context.WithCancel(life)
	opened := &destination{Cluster: c, Server: server, known: known, fingerprint: fingerprint, stop: stop, queue: rollout.NewQueue(d.writes)}
	opened.tell(d.told())
	c.Subscribe(func(change cluster.Change) { d.changed(opened, change) })
	go func() {
		// Start ends with its context; what goes wrong meanwhile shows in every
		// call on the cluster, on the Application it concerns.
		_ = c.Start(runCtx)
	}()
	d.open[server] = opened
	return opened, nil
}

// rest has every open cluster give back what only work needs.
func (d *destinations) rest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, opened := range d.open {
		opened.Rest()
	}
}

// has reports whether a connection is still the one that is used.
func (d *destinations) has(dest *destination) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[dest.Server] == dest
}

// tell puts settings in force. The caller holds the lock of the destinations.
func (d *destination) tell(told *compiled) {
	if told == nil || told == d.told {
		return
	}
	d.told = told
	d.updates.Store(newUpdates(told.Updates, told.health.Judge))
	d.Track(told.Tracking)
	d.Exclude(func(gk schema.GroupKind) bool { return told.Filter.Excludes(d.Server, gk) })
}

// config finds the cluster and the connection for dest.
func (d *destinations) config(ctx context.Context, dest v1alpha1.ApplicationDestination) (registration, *rest.Config, error) {
	switch {
	case dest.Server != "" && dest.Name != "":
		return registration{}, nil, fmt.Errorf("%w has both server %q and name %q: give one of them", errNoCluster, dest.Server, dest.Name)
	case dest.Server == "" && dest.Name == "":
		return registration{}, nil, fmt.Errorf("%w has neither server nor name: give one of them, for example server: %s", errNoCluster, v1alpha1.InClusterServer)
	}
	server := strings.TrimSuffix(dest.Server, "/")
	home := server == v1alpha1.InClusterServer || dest.Name == v1alpha1.InClusterName
	var secrets corev1.SecretList
	if err := d.secrets.List(ctx, &secrets, client.InNamespace(d.namespace), client.MatchingLabels{SecretTypeLabel: secretTypeCluster}); err != nil {
		return registration{}, nil, fmt.Errorf("list cluster Secrets: %w", err)
	}
	var known []string
	for i := range secrets.Items {
		data := secrets.Items[i].Data
		name, address := string(data["name"]), strings.TrimSuffix(string(data["server"]), "/")
		if (dest.Name != "" && dest.Name == name) || (server != "" && server == address) || home && address == v1alpha1.InClusterServer {
			cfg, err := secretConfig(address, data["config"])
			if err != nil {
				return registration{}, nil, fmt.Errorf("cluster Secret %s/%s: %w", d.namespace, secrets.Items[i].Name, err)
			}
			if address == v1alpha1.InClusterServer && cfg.BearerToken == "" && cfg.Username == "" {
				// What the Secret says of the cluster counts, the connection is our own.
				cfg = d.home
			}
			namespaces, clusterScoped := readReach(data)
			return registration{server: address, name: name, project: string(data["project"]), namespaces: namespaces, clusterScoped: clusterScoped}, cfg, nil
		}
		known = append(known, name+" ("+address+")")
	}
	if home {
		return registration{server: v1alpha1.InClusterServer, name: v1alpha1.InClusterName}, d.home, nil
	}
	slices.Sort(known)
	hint := "no cluster is registered"
	if len(known) > 0 {
		hint = "registered are " + strings.Join(known, ", ")
	}
	return registration{}, nil, fmt.Errorf("%w: there is no cluster %q: %s; register it with a Secret labelled %s: %s", errNoCluster, dest.Server+dest.Name, hint, SecretTypeLabel, secretTypeCluster)
}

// secretConfig reads the key "config" of a cluster Secret.
func secretConfig(server string, raw []byte) (*rest.Config, error) {
	var c struct {
		BearerToken     string `json:"bearerToken"`
		Username        string `json:"username"`
		Password        string `json:"password"`
		TLSClientConfig struct {
			Insecure   bool   `json:"insecure"`
			ServerName string `json:"serverName"`
			CAData     []byte `json:"caData"`
			CertData   []byte `json:"certData"`
			KeyData    []byte `json:"keyData"`
		} `json:"tlsClientConfig"`
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("read config: %w", err)
		}
	}
	return &rest.Config{
		Host: server, BearerToken: c.BearerToken, Username: c.Username, Password: c.Password,
		TLSClientConfig: rest.TLSClientConfig{
			Insecure: c.TLSClientConfig.Insecure, ServerName: c.TLSClientConfig.ServerName,
			CAData: c.TLSClientConfig.CAData, CertData: c.TLSClientConfig.CertData, KeyData: c.TLSClientConfig.KeyData,
		},
	}, nil
}
