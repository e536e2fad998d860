// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// logs is the log file of a control plane.
type logs struct {
	file   *os.File
	logger logr.Logger
}

// openLog sends everything Kubernetes logs, and what we log, to a file. Kubernetes' logging is global to the process.
func openLog(path string, verbosity int) (*logs, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	set := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(set)
	if err := set.Set("v", strconv.Itoa(verbosity)); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("set verbosity %d: %w", verbosity, err)
	}
	// slog's levels grow the other way round: -1 is verbosity 1.
	handler := slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.Level(-verbosity)})
	klog.SetSlogLogger(slog.New(handler))
	// Warnings for whoever uses a deprecated API are meant for people, not for controllers.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	return &logs{file: file, logger: logr.FromSlogHandler(handler)}, nil
}

func (l *logs) close() {
	klog.Flush()
	_ = l.file.Close()
}
