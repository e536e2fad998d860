// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Formats of a log.
const (
	logText = "text"
	logJSON = "json"
)

// newLogger makes the log of a long-running command; what Kubernetes' own
// libraries say goes there as well. Verbosity 0 is what an operator wants to
// know, 1 adds what happens to single Applications.
func newLogger(w io.Writer, format string, verbosity int) logr.Logger {
	opts := &slog.HandlerOptions{Level: slog.Level(-verbosity)}
	var handler slog.Handler = slog.NewTextHandler(w, opts)
	if format == logJSON {
		handler = slog.NewJSONHandler(w, opts)
	}
	log := logr.FromSlogHandler(handler)
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	return log
}
