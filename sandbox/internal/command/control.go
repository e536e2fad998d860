// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/wavetrain/wavetrain/sandbox/internal/controlplane"
)

// control answers the process that started the control plane: each line on standard input is a request, a word and a
// number of the caller's choice, and is answered by one line of JSON that repeats the number.
type control struct {
	out     io.Writer
	running atomic.Pointer[controlplane.Running]
}

// attach makes requests possible, once there is something to control.
func (c *control) attach(running controlplane.Running) { c.running.Store(&running) }

// serve answers requests until the input ends, which is what happens when the other process is gone.
func (c *control) serve(in io.Reader) {
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		word, id, _ := strings.Cut(strings.TrimSpace(scanner.Text()), " ")
		answer := struct {
			Reply string `json:"reply"`
			Error string `json:"error,omitempty"`
			Value string `json:"value,omitempty"`
		}{Reply: id}
		var err error
		if answer.Value, err = c.handle(word); err != nil {
			answer.Error = err.Error()
		}
		line, err := json.Marshal(answer)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(c.out, "%s\n", line); err != nil {
			return
		}
	}
}

// handle carries out a request: reload reads the rules again, next says how long it takes until the simulation does
// something by itself, and skip=DURATION lets that much of its time pass at once.
func (c *control) handle(word string) (value string, err error) {
	word, argument, _ := strings.Cut(word, "=")
	if !slices.Contains([]string{"reload", "next", "skip"}, word) {
		return "", fmt.Errorf("unknown request %q: use reload, next or skip=DURATION", word)
	}
	running := c.running.Load()
	if running == nil {
		return "", errors.New("not ready yet")
	}
	switch word {
	case "reload":
		return "", running.ReloadRules()
	case "next":
		if in, pending := running.Next(); pending {
			return in.String(), nil
		}
		return "", nil
	}
	d, err := time.ParseDuration(argument)
	if err != nil || d < 0 {
		return "", fmt.Errorf("skip=%s: %q is no duration such as 10s", argument, argument)
	}
	running.Skip(d)
	return "", nil
}
