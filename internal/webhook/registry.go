// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"strings"
)

// readPackage reads GitHub's events about packages: of those that are containers,
// and charts and artifacts are to GitHub, the place in its registry.
func readPackage(body []byte) (*Push, error) {
	type container struct {
		Name      string `json:"name"`
		Type      string `json:"package_type"`
		Ecosystem string `json:"ecosystem"`
		Namespace string `json:"namespace"`
		Owner     struct {
			Login string `json:"login"`
		} `json:"owner"`
		Version struct {
			Metadata struct {
				Tag struct{ Name string } `json:"tag"`
			} `json:"container_metadata"`
		} `json:"package_version"`
	}
	var event struct {
		Package         container `json:"package"`
		RegistryPackage container `json:"registry_package"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	p := event.Package
	if p.Name == "" {
		p = event.RegistryPackage
	}
	if !strings.EqualFold(p.Type, "container") && !strings.EqualFold(p.Ecosystem, "container") {
		return nil, nil
	}
	owner := p.Owner.Login
	if owner == "" {
		owner = p.Namespace
	}
	if owner == "" || p.Name == "" {
		return push(nil)
	}
	return artifact([]string{p.Version.Metadata.Tag.Name}, "ghcr.io/"+owner+"/"+p.Name)
}

// harborEvent is what Harbor says of artifacts.
type harborEvent struct {
	Resources []struct {
		Tag string `json:"tag"`
		URL string `json:"resource_url"`
	} `json:"resources"`
}

// readHarbor reads Harbor's events, in its own form or that of CloudEvents.
func readHarbor(body []byte) (*Push, error) {
	var event struct {
		Type string      `json:"type"`
		Own  harborEvent `json:"event_data"`
		Data harborEvent `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	switch event.Type {
	case "PUSH_ARTIFACT", "DELETE_ARTIFACT":
	case "harbor.artifact.pushed", "harbor.artifact.deleted":
		event.Own = event.Data
	default:
		return nil, nil
	}
	var tags, places []string
	for _, r := range event.Own.Resources {
		tags = append(tags, r.Tag)
		places = append(places, withoutTag(r.URL))
	}
	return artifact(tags, places...)
}

// withoutTag takes tag and digest off the name of an artifact.
func withoutTag(name string) string {
	name, _, _ = strings.Cut(name, "@")
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name = name[:i]
	}
	return name
}

// artifact is a push to places of a registry.
func artifact(tags []string, places ...string) (*Push, error) {
	urls := make([]string, len(places))
	for i, at := range places {
		if at != "" {
			urls[i] = "oci://" + at
		}
	}
	p, err := push(tags, urls...)
	if p != nil {
		p.Artifact = true
	}
	return p, err
}

// harborMark is the header that Harbor's requests carry what authenticates them in.
const harborMark = "Authorization"

// harborAuthentic compares the header with the text that Harbor was told to send. An
// installation without one does not listen to Harbor, as in Argo CD: nothing else
// tells its requests from those of others.
func harborAuthentic(header func(string) string, _ []byte, s Secrets) bool {
	return s.Harbor != "" && equal(header(harborMark), s.Harbor)
}
