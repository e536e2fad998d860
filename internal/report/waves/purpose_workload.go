// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxCommand is how many characters of a command a cell holds.
const maxCommand = 60

// workloadPurpose is the command of what runs once, and role and image of what
// runs on.
func workloadPurpose(u *unstructured.Unstructured, spec map[string]any) string {
	containers := list(spec, "containers")
	if len(containers) == 0 {
		return ""
	}
	main := containers[0]
	image := shortImage(text(main, "image"))
	switch u.GetKind() {
	case "Job", "CronJob", "Pod":
		if c := command(main); c != "" {
			return c
		}
		return image
	}
	role := u.GetLabels()["app.kubernetes.io/component"]
	if role == "" {
		role = text(u.Object, "spec", "template", "metadata", "labels", "app.kubernetes.io/component")
	}
	if role == "" {
		return image
	}
	return role + " (" + image + ")"
}

// shortImage leaves registry and digest out: "redis:8.2.1".
func shortImage(image string) string {
	image, _, _ = strings.Cut(image, "@")
	return path.Base(image)
}

// command is what a container runs. Of a script handed to a shell it is the
// first line that does something.
func command(container any) string {
	words := append(texts(list(container, "command")), texts(list(container, "args"))...)
	if len(words) == 0 {
		return ""
	}
	if script, ok := shellScript(words); ok {
		return shorten(firstStep(script))
	}
	return shorten(strings.Join(words, " "))
}

// shellScript takes the script out of ["sh", "-ec", "script"].
func shellScript(words []string) (string, bool) {
	shells := []string{"sh", "bash", "ash", "dash"}
	if len(words) < 3 || !slices.Contains(shells, path.Base(words[0])) {
		return "", false
	}
	for i, w := range words[1 : len(words)-1] {
		if strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.HasSuffix(w, "c") {
			return words[i+2], true
		}
	}
	return "", false
}

// firstStep finds the first line of a script that is more than a preliminary.
func firstStep(script string) string {
	preliminaries := []string{"", "set", "echo", "export", "if", "then", "else", "elif", "fi", "exit", "for", "while", "until", "do", "done", "{", "}", ".", "source"}
	lines := strings.Split(script, "\n")
	for _, line := range lines {
		line = strings.TrimSpace(line)
		first, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(first, "#") || slices.Contains(preliminaries, first) {
			continue
		}
		return strings.TrimSpace(strings.TrimSuffix(line, "\\"))
	}
	return strings.TrimSpace(lines[0])
}

func shorten(s string) string {
	s = oneLine(s)
	if runes := []rune(s); len(runes) > maxCommand {
		return strings.TrimSpace(string(runes[:maxCommand-1])) + "…"
	}
	return s
}
