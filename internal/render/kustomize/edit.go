// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/render/tree"
)

// edit makes the changes that the source's options ask for, as "kustomize
// edit" would make them in the file.
func edit(k *types.Kustomization, in Input, s *snapshot) error {
	o := in.Options
	if o.NamePrefix != "" {
		k.NamePrefix = o.NamePrefix
	}
	if o.NameSuffix != "" {
		k.NameSuffix = o.NameSuffix
	}
	if o.Namespace != "" {
		k.Namespace = o.Namespace
	}
	for _, text := range o.Images {
		image, err := parseImage(in.Expand(text))
		if err != nil {
			return err
		}
		setImage(k, image)
	}
	for _, r := range o.Replicas {
		if err := setReplicas(k, r); err != nil {
			return err
		}
	}
	if err := addLabels(k, o); err != nil {
		return err
	}
	if err := addAnnotations(k, in); err != nil {
		return err
	}
	for _, p := range o.Patches {
		k.Patches = append(k.Patches, patchOf(p))
	}
	return addComponents(k, in, s)
}

// parseImage reads "[OLD=]NEW[:TAG|@DIGEST]".
func parseImage(text string) (types.Image, error) {
	name, replacement, renamed := strings.Cut(text, "=")
	if !renamed {
		replacement = name
	}
	image := types.Image{}
	if at := strings.IndexByte(replacement, '@'); at >= 0 {
		replacement, image.Digest = replacement[:at], replacement[at+1:]
	} else if colon := strings.LastIndexByte(replacement, ':'); colon > strings.LastIndexByte(replacement, '/') {
		replacement, image.NewTag = replacement[:colon], replacement[colon+1:]
	}
	if renamed {
		image.Name, image.NewName = name, replacement
	} else {
		image.Name = replacement
	}
	if image.Name == "" || (image == types.Image{Name: image.Name}) {
		return image, fmt.Errorf("kustomize.images: %q is not of the form [OLD=]NEW[:TAG|@DIGEST]", text)
	}
	return image, nil
}

// setImage replaces the entry of the image, keeping a new name it has.
func setImage(k *types.Kustomization, image types.Image) {
	for i, have := range k.Images {
		if have.Name == image.Name {
			if image.NewName == "" {
				image.NewName = have.NewName
			}
			k.Images[i] = image
			return
		}
	}
	k.Images = append(k.Images, image)
}

func setReplicas(k *types.Kustomization, r v1alpha1.KustomizeReplica) error {
	count := int64(r.Count.IntVal)
	if r.Count.Type == intstr.String {
		parsed, err := strconv.ParseInt(r.Count.StrVal, 10, 64)
		if err != nil {
			return fmt.Errorf("kustomize.replicas: %s: %q is not a number", r.Name, r.Count.StrVal)
		}
		count = parsed
	}
	for i := range k.Replicas {
		if k.Replicas[i].Name == r.Name {
			k.Replicas[i].Count = count
			return nil
		}
	}
	k.Replicas = append(k.Replicas, types.Replica{Name: r.Name, Count: count})
	return nil
}

func addLabels(k *types.Kustomization, o v1alpha1.ApplicationSourceKustomize) error {
	if len(o.CommonLabels) == 0 {
		return nil
	}
	if o.LabelWithoutSelector {
		k.Labels = append(k.Labels, types.Label{Pairs: o.CommonLabels, IncludeTemplates: o.LabelIncludeTemplates})
		return nil
	}
	//nolint:staticcheck // "kustomize edit add label" writes this field, and so Argo CD does
	have := &k.CommonLabels
	merged, err := addPairs(*have, o.CommonLabels, o.ForceCommonLabels, "Label")
	*have = merged
	return err
}

func addAnnotations(k *types.Kustomization, in Input) error {
	annotations := in.Options.CommonAnnotations
	if in.Options.CommonAnnotationsEnvsubst {
		annotations = maps.Clone(annotations)
		for key, value := range annotations {
			annotations[key] = in.Expand(value)
		}
	}
	merged, err := addPairs(k.CommonAnnotations, annotations, in.Options.ForceCommonAnnotations, "Annotation")
	k.CommonAnnotations = merged
	return err
}

func addPairs(have, add map[string]string, force bool, what string) (map[string]string, error) {
	if len(add) == 0 {
		return have, nil
	}
	merged := maps.Clone(have)
	if merged == nil {
		merged = map[string]string{}
	}
	for _, key := range slices.Sorted(maps.Keys(add)) {
		if _, set := have[key]; set && !force {
			return nil, fmt.Errorf("kustomize.common%[1]ss: the kustomization sets %[2]s already (set forceCommon%[1]ss to replace it)", what, key)
		}
		merged[key] = add[key]
	}
	return merged, nil
}

func patchOf(p v1alpha1.KustomizePatch) types.Patch {
	patch := types.Patch{Path: p.Path, Patch: p.Patch, Options: patchOptions(p.Options)}
	if t := p.Target; t != nil {
		patch.Target = &types.Selector{
			ResId:              resid.ResId{Gvk: resid.Gvk{Group: t.Group, Version: t.Version, Kind: t.Kind}, Name: t.Name, Namespace: t.Namespace},
			AnnotationSelector: t.AnnotationSelector,
			LabelSelector:      t.LabelSelector,
		}
	}
	return patch
}

func patchOptions(options map[string]bool) *types.PatchArgs {
	if len(options) == 0 {
		return nil
	}
	return &types.PatchArgs{AllowNameChange: options["allowNameChange"], AllowKindChange: options["allowKindChange"]}
}

// addComponents adds components and reads their directories.
func addComponents(k *types.Kustomization, in Input, s *snapshot) error {
	for _, c := range in.Options.Components {
		full, err := tree.Resolve(in.Path, c)
		if err != nil {
			return fmt.Errorf("kustomize.components: %w", err)
		}
		if _, err := fs.Stat(in.Files, full); err != nil {
			if in.Options.IgnoreMissingComponents {
				continue
			}
			return fmt.Errorf("kustomize.components: %s does not exist (set ignoreMissingComponents if it need not)", c)
		}
		if err := s.add(full); err != nil {
			return err
		}
		if !slices.Contains(k.Components, c) {
			k.Components = append(k.Components, c)
		}
	}
	return nil
}
