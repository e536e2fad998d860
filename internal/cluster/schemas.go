// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"net/url"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"github.com/wavetrain/wavetrain/internal/diff"
)

// schemas holds what the API server publishes about fields, by group version. A
// document is fetched when somebody first asks about one of its kinds, and looked
// at again only after a CustomResourceDefinition or APIService of the group
// changed; its address holds a hash, so that what did not change is not fetched.
type schemas struct {
	client func(context.Context) openapi.ClientWithContext

	mu    sync.Mutex
	known map[schema.GroupVersion]*published
}

// published is the document of a group version.
type published struct {
	// reading serialises requests for it.
	reading sync.Mutex
	// edition of the group that the document was looked at in, -1 before that; hash
	// identifies the document.
	edition int
	hash    string
	schema  *diff.Schema
}

func newSchemas(client func(context.Context) openapi.ClientWithContext) *schemas {
	return &schemas{client: client, known: map[schema.GroupVersion]*published{}}
}

// Schema returns what is published about the fields of the kinds of a group
// version, nil if that is not known: nothing is published, it cannot be read, or
// definitions of the group have just changed. Whoever asks then has to ask the
// API server about objects.
func (c *Cluster) Schema(ctx context.Context, gv schema.GroupVersion) *diff.Schema {
	edition, settled := c.catalog.definitions(gv.Group)
	if !settled {
		return nil
	}
	c.schemas.mu.Lock()
	p := c.schemas.known[gv]
	if p == nil {
		p = &published{edition: -1}
		c.schemas.known[gv] = p
	}
	c.schemas.mu.Unlock()
	p.reading.Lock()
	defer p.reading.Unlock()
	if p.edition == edition {
		return p.schema
	}
	if err := p.read(ctx, c.schemas.client(ctx), gv); err != nil {
		return nil
	}
	p.edition = edition
	return p.schema
}

func (p *published) read(ctx context.Context, client openapi.ClientWithContext, gv schema.GroupVersion) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	paths, err := client.PathsWithContext(ctx)
	if err != nil {
		return err
	}
	name := "apis/" + gv.String()
	if gv.Group == "" {
		name = "api/" + gv.Version
	}
	document, ok := paths[name]
	if !ok {
		p.schema, p.hash = nil, ""
		return nil
	}
	hash := hashOf(document.ServerRelativeURL())
	if hash != "" && hash == p.hash {
		return nil
	}
	data, err := document.SchemaWithContext(ctx, runtime.ContentTypeJSON)
	if err != nil {
		return err
	}
	if p.schema, err = diff.ReadSchema(data); err != nil {
		// It stays unreadable until it changes.
		p.schema = nil
	}
	p.hash = hash
	return nil
}

func hashOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Query().Get("hash")
}

// definitions counts the changes of what defines kinds of a group, and tells whether
// the last of them is long enough ago for the server to have published it.
func (c *catalog) definitions(group string) (n int, settled bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	at, ok := c.stirred[group]
	return c.editions[group], !ok || c.clock.Since(at) >= settling
}
