// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
)

// control answers the process that started the control plane: each line on standard input is a request, a word and a
// number of the caller's choice, and is answered by one line of JSON that repeats the number.
type control struct {
	out    io.Writer
	reload atomic.Pointer[func() error]
}

// attach makes requests possible, once there is something to control.
func (c *control) attach(reload func() error) { c.reload.Store(&reload) }

// serve answers requests until the input ends, which is what happens when the other process is gone.
func (c *control) serve(in io.Reader) {
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		word, id, _ := strings.Cut(strings.TrimSpace(scanner.Text()), " ")
		answer := struct {
			Reply string `json:"reply"`
			Error string `json:"error,omitempty"`
		}{Reply: id}
		if err := c.handle(word); err != nil {
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

func (c *control) handle(word string) error {
	if word != "reload" {
		return fmt.Errorf("unknown request %q: use reload", word)
	}
	reload := c.reload.Load()
	if reload == nil {
		return errors.New("not ready yet")
	}
	return (*reload)()
}
