// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// block is a piece of a page that is meant literally.
type block struct {
	file, language, text string
	line                 int
}

// blocksOf are the fenced blocks of a page, and its code spans as blocks without a
// language.
func blocksOf(file string, page []byte) []block {
	var blocks []block
	var open *block
	fence := ""
	spans := regexp.MustCompile("`([^`]+)`")
	lines := bufio.NewScanner(bytes.NewReader(page))
	lines.Buffer(nil, len(page)+1)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case open != nil && strings.TrimSpace(line) == fence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(trimmed, "```"):
			language := strings.TrimLeft(trimmed, "`")
			fence = strings.TrimSuffix(trimmed, language)
			open = &block{file: file, language: strings.TrimSpace(language), line: n + 1}
		default:
			for _, m := range spans.FindAllStringSubmatch(line, -1) {
				blocks = append(blocks, block{file: file, text: m[1], line: n})
			}
		}
	}
	return blocks
}

// documented are all blocks of the documentation.
func documented(t *testing.T) []block {
	t.Helper()
	var blocks []block
	for _, root := range []string{"../../docs", "../../README.md", "../../examples", "../../conformance/README.md"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			page, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			blocks = append(blocks, blocksOf(path, page)...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return blocks
}

// TestDocumentedCommandsExist holds every command line of the documentation against
// the commands and flags that there are.
func TestDocumentedCommandsExist(t *testing.T) {
	found := 0
	for _, b := range documented(t) {
		for i, line := range strings.Split(joined(b.text), "\n") {
			for _, words := range commandsIn(line) {
				found++
				if problem := unknownIn(words); problem != "" {
					t.Errorf("%s:%d: wavetrain %s: %s", b.file, b.line+i, strings.Join(words, " "), problem)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d commands were found in the documentation", found)
	}
}

// joined puts lines together that a backslash continues.
func joined(text string) string { return strings.ReplaceAll(text, "\\\n", " ") }

// commandsIn are the words behind each "wavetrain" of a line that stands where a
// command does.
func commandsIn(line string) [][]string {
	var list [][]string
	for _, at := range regexp.MustCompile(`(^|[\s;&|('"])wavetrain `).FindAllStringIndex(line, -1) {
		if words := shellWords(line[at[1]:]); len(words) > 0 && regexp.MustCompile(`^[a-z-]+$`).MatchString(words[0]) {
			list = append(list, words)
		}
	}
	return list
}

// shellWords takes the words of one command, up to where another begins or its
// output goes elsewhere.
func shellWords(text string) []string {
	var words []string
	var word strings.Builder
	quote, in := rune(0), false
	flush := func() {
		if in {
			words = append(words, word.String())
		}
		word.Reset()
		in = false
	}
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ' || r == '\t':
			flush()
		case strings.ContainsRune("|>;&)#<", r):
			flush()
			return words
		default:
			word.WriteRune(r)
			in = true
		}
	}
	flush()
	return words
}

// unknownIn says what of a command line there is not.
func unknownIn(words []string) string {
	root := newRootCmd("v0.0.0-test", Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }})
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	if cmd == root {
		return "there is no such command"
	}
	for _, word := range rest {
		switch {
		case word == "--" || word == "-":
			return ""
		case word == "--help" || word == "-h" || word == "-…":
		case strings.HasPrefix(word, "--"):
			name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			if flagOf(cmd, func(f *pflag.FlagSet) *pflag.Flag { return f.Lookup(name) }) == nil {
				return fmt.Sprintf("%q has no flag --%s", cmd.CommandPath(), name)
			}
		case strings.HasPrefix(word, "-"):
			if flagOf(cmd, func(f *pflag.FlagSet) *pflag.Flag { return f.ShorthandLookup(word[1:2]) }) == nil {
				return fmt.Sprintf("%q has no flag %s", cmd.CommandPath(), word[:2])
			}
		case cmd.HasSubCommands() && regexp.MustCompile(`^[a-z-]+$`).MatchString(word):
			return fmt.Sprintf("%q has no command %q", cmd.CommandPath(), word)
		}
	}
	return ""
}

func flagOf(cmd *cobra.Command, look func(*pflag.FlagSet) *pflag.Flag) *pflag.Flag {
	if f := look(cmd.Flags()); f != nil {
		return f
	}
	return look(cmd.InheritedFlags())
}

// TestDocumentedYAMLParses reads every block of YAML in the documentation.
func TestDocumentedYAMLParses(t *testing.T) {
	found := 0
	for _, b := range documented(t) {
		if b.language != "yaml" && b.language != "yml" {
			continue
		}
		found++
		decoder := yaml.NewDecoder(strings.NewReader(b.text))
		for {
			var document any
			err := decoder.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s:%d: %v", b.file, b.line, err)
				break
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d blocks of YAML were found in the documentation", found)
	}
}

// A test of the test: it has to find what is wrong.
func TestDocumentationTestFinds(t *testing.T) {
	for line, want := range map[string]string{
		"wavetrain plan --base main -o markdown > plan.md": "",
		"- run: wavetrain verify . -o sarif":               "",
		"wavetrain frobnicate":                             "there is no such command",
		"wavetrain plan --unheard-of":                      "has no flag --unheard-of",
		"wavetrain app frobnicate NAME":                    "has no command",
		"x && wavetrain verify -Z":                         "has no flag -Z",
	} {
		problem := ""
		for _, words := range commandsIn(line) {
			problem += unknownIn(words)
		}
		if want == "" && problem != "" || !strings.Contains(problem, want) || len(commandsIn(line)) != 1 {
			t.Errorf("%q: %q, want %q", line, problem, want)
		}
	}
}
