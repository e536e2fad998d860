// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// Keys that say something about projects.
const (
	keyGlobalProjects       = "globalProjects"
	keyImpersonation        = "application.sync.impersonation.enabled"
	keyImpersonationEnforce = "application.sync.impersonation.enforced"
)

func projectKeys() []string {
	return []string{keyGlobalProjects, keyImpersonation, keyImpersonationEnforce}
}

// GlobalProject is a project whose lists are added to those of all projects with certain labels.
type GlobalProject struct {
	Name     string
	Selector labels.Selector
}

// Impersonation says whether syncs write as service accounts that projects name.
type Impersonation struct {
	Enabled bool
	// Enforced makes a sync without a matching service account fail; otherwise it writes as the controller.
	Enforced bool
}

// globalProjects reads the list. Such projects protect something: an entry that cannot be read spoils the whole.
func (r *reader) globalProjects() (projects []GlobalProject, broken string) {
	var written []struct {
		ProjectName   string               `json:"projectName"`
		LabelSelector metav1.LabelSelector `json:"labelSelector"`
	}
	if err := yaml.UnmarshalStrict([]byte(r.data[keyGlobalProjects]), &written); err != nil {
		broken = err.Error()
	}
	for i, entry := range written {
		selector, err := metav1.LabelSelectorAsSelector(&entry.LabelSelector)
		switch {
		case entry.ProjectName == "":
			broken = fmt.Sprintf("entry %d has no projectName", i+1)
		case err != nil:
			broken = fmt.Sprintf("labelSelector of project %s: %v", entry.ProjectName, err)
		}
		projects = append(projects, GlobalProject{Name: entry.ProjectName, Selector: selector})
	}
	if broken == "" {
		return projects, ""
	}
	r.problem(keyGlobalProjects, broken)
	return nil, oneLine(broken)
}

func (r *reader) impersonation() Impersonation {
	return Impersonation{Enabled: r.boolean(keyImpersonation, false), Enforced: r.boolean(keyImpersonationEnforce, true)}
}

// boolean reads a key that is true or false. What cannot be read counts as true: such a key protects something.
func (r *reader) boolean(key string, otherwise bool) bool {
	text, ok := r.data[key]
	if !ok || text == "" {
		return otherwise
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		r.problem(key, fmt.Sprintf("%q is neither true nor false; it counts as true", text))
		return true
	}
	return value
}
