// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Node is a sort of nodes, so that it can be told without a cluster which Pods find
// none.
type Node struct {
	Name string `yaml:"name"`
	// Cluster is the destination's name or address; empty for all.
	Cluster string            `yaml:"cluster"`
	Labels  map[string]string `yaml:"labels"`
	// Taints are as kubectl writes them: "key=value:NoSchedule".
	Taints []string `yaml:"taints"`
	// CPU and Memory are what one such node has for Pods.
	CPU    string `yaml:"cpu"`
	Memory string `yaml:"memory"`
	// Line at which the entry stands.
	Line int `yaml:"-"`
}

// UnmarshalYAML implements yaml.Unmarshaler; it keeps the line.
func (n *Node) UnmarshalYAML(node *yaml.Node) error {
	type plain Node
	if err := strict(node, (*plain)(n), "name", "cluster", "labels", "taints", "cpu", "memory"); err != nil {
		return err
	}
	n.Line = node.Line
	return nil
}

// check says what is wrong with the entry.
func (n Node) check() error {
	if n.Name == "" {
		return errors.New("an entry needs a name")
	}
	for _, text := range n.Taints {
		if _, _, _, err := Taint(text); err != nil {
			return err
		}
	}
	for _, text := range []string{n.CPU, n.Memory} {
		if _, err := resource.ParseQuantity(text); text != "" && err != nil {
			return fmt.Errorf("%q is no quantity such as 8 or 32Gi", text)
		}
	}
	return nil
}

// Taint reads "key=value:effect"; the value may be left out.
func Taint(text string) (key, value, effect string, err error) {
	rest, effect, ok := strings.Cut(text, ":")
	key, value, _ = strings.Cut(rest, "=")
	switch effect {
	case "NoSchedule", "NoExecute", "PreferNoSchedule":
	default:
		ok = false
	}
	if !ok || key == "" {
		return "", "", "", fmt.Errorf("%q is no taint: write key=value:NoSchedule", text)
	}
	return key, value, effect, nil
}
