// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

// DefaultLimit is how large a request may be unless told otherwise.
const DefaultLimit = 50 << 20

// Handler answers the requests of Git servers.
type Handler struct {
	// Secrets returns what authenticates them now.
	Secrets func(context.Context) (Secrets, error)
	// Deliver is told of each push. It must not take long: the server waits.
	Deliver func(context.Context, Push) error
	// Refused is told why a request was not taken; may be nil.
	Refused func(reason error, from string)
	// Limit returns how large a request may be; DefaultLimit if it is nil or says zero.
	Limit func(context.Context) int64
	// Memory bounds what the requests that are read at a moment may take together;
	// may be nil.
	Memory *semaphore.Weighted
}

// NewMemory bounds requests to a few of the largest, and thousands of usual ones.
func NewMemory() *semaphore.Weighted { return semaphore.NewWeighted(memory) }

const memory = 4 * DefaultLimit

// reserve sets memory aside for a request.
func (h Handler) reserve(r *http.Request, limit int64) (release func(), ok bool) {
	if h.Memory == nil {
		return func() {}, true
	}
	size := r.ContentLength
	if size < 0 || size > limit {
		size = limit
	}
	size = min(size, memory)
	if !h.Memory.TryAcquire(size) {
		return nil, false
	}
	return func() { h.Memory.Release(size) }, true
}

// ServeHTTP implements http.Handler: 200 if the request was understood, 400 if not,
// 401 if it is not authenticated, 405 for other methods than POST, 503 if it should
// come again.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "a Git server posts here", http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	limit := int64(DefaultLimit)
	if h.Limit != nil {
		limit = cmp.Or(h.Limit(ctx), limit)
	}
	release, ok := h.reserve(r, limit)
	if !ok {
		h.refuse(w, r, http.StatusServiceUnavailable, errors.New("too many requests at once: come again"))
		return
	}
	defer release()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		reason := errors.New("the body cannot be read to its end")
		if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
			reason = fmt.Errorf("the body is larger than %d MiB (webhook.maxPayloadSizeMB in the ConfigMap argocd-cm)", large.Limit>>20)
		}
		h.refuse(w, r, http.StatusBadRequest, reason)
		return
	}
	secrets, err := h.Secrets(ctx)
	if err != nil {
		// Why is for the log: whoever posts is not authenticated yet.
		h.note(r, err)
		http.Error(w, "the secrets of webhooks cannot be read", http.StatusServiceUnavailable)
		return
	}
	push, err := Read(r.Header.Get, body, secrets)
	switch {
	case errors.Is(err, ErrRefused):
		h.refuse(w, r, http.StatusUnauthorized, err)
		return
	case err != nil:
		h.refuse(w, r, http.StatusBadRequest, err)
		return
	case push == nil:
		w.WriteHeader(http.StatusOK)
		return
	}
	if err := h.Deliver(ctx, *push); err != nil {
		h.note(r, err)
		http.Error(w, "the push cannot be taken now", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (h Handler) refuse(w http.ResponseWriter, r *http.Request, code int, reason error) {
	h.note(r, reason)
	http.Error(w, reason.Error(), code)
}

func (h Handler) note(r *http.Request, reason error) {
	if h.Refused != nil {
		h.Refused(reason, r.RemoteAddr)
	}
}
