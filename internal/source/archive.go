// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
)

// Limits of an archive. They are far above what people deliver, and far below
// what would hurt.
const (
	maxPacked   = 64 << 20
	maxUnpacked = 128 << 20
	maxMember   = 32 << 20
	maxMembers  = 20_000
)

// archive is an unpacked tarball in memory. Objects have ids as in git: equal
// content, equal id.
type archive struct {
	blobs map[string][]byte
	trees map[string]*listing
	root  string
	total int
}

func (a *archive) read(id string) (kind string, data []byte, err error) {
	data, ok := a.blobs[id]
	if !ok {
		return "", nil, fmt.Errorf("the archive has no object %s: %w", id, errMissingObject)
	}
	// Who reads a file may do with the bytes what they like.
	return "blob", bytes.Clone(data), nil
}

func (a *archive) size(id string) (int64, error) {
	data, ok := a.blobs[id]
	if !ok {
		return 0, fmt.Errorf("the archive has no object %s: %w", id, errMissingObject)
	}
	return int64(len(data)), nil
}

func (a *archive) tree(id string) (*listing, error) {
	entries, ok := a.trees[id]
	if !ok {
		return nil, fmt.Errorf("the archive has no directory %s: %w", id, errMissingObject)
	}
	return entries, nil
}

// open makes a tree of the archive, which has a list of its own of what is read.
func (a *archive) open(display, revision string) *Snapshot {
	return &Snapshot{
		URL: display, Commit: revision, objects: a, root: entry{mode: modeTree, name: ".", id: a.root}, reads: map[string]string{},
	}
}

// folder is a directory while the archive is read.
type folder struct {
	files   map[string]entry
	folders map[string]*folder
}

func newFolder() *folder { return &folder{files: map[string]entry{}, folders: map[string]*folder{}} }

// unpack reads a tarball, compressed or not. With strip the first element of every
// path is left out, as it is in the archive of a chart. No member can leave the
// archive: there is no disk to write to, and names and links that lead out are
// refused.
func unpack(data []byte, strip bool) (*archive, error) {
	plain, err := decompress(data)
	if err != nil {
		return nil, err
	}
	a := &archive{blobs: map[string][]byte{}, trees: map[string]*listing{}}
	top := newFolder()
	members := tar.NewReader(plain)
	for count := 0; ; count++ {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the archive cannot be read: %w", err)
		}
		if count >= maxMembers {
			return nil, fmt.Errorf("the archive has more than %d files", maxMembers)
		}
		if err := a.add(top, header, members, strip); err != nil {
			return nil, err
		}
	}
	a.root = a.store(top)
	return a, nil
}

func decompress(data []byte) (io.Reader, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return bytes.NewReader(data), nil
	}
	plain, err := gzip.NewReader(bufio.NewReader(bytes.NewReader(data)))
	if err != nil {
		return nil, fmt.Errorf("the archive cannot be read: %w", err)
	}
	return plain, nil
}

func (a *archive) add(top *folder, header *tar.Header, content io.Reader, strip bool) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := memberName(header.Name)
	if err != nil {
		return err
	}
	if strip {
		if _, name, _ = strings.Cut(name, "/"); name == "" {
			return nil
		}
	}
	if name == "." {
		return nil
	}
	e := entry{name: path.Base(name)}
	switch header.Typeflag {
	case tar.TypeDir:
		_, err := top.descend(name)
		return err
	case tar.TypeReg:
		e.mode = "100644"
		if header.Mode&0o111 != 0 {
			e.mode = modeExecutable
		}
		var data []byte
		if data, err = a.member(header, name, content); err == nil {
			e.id = a.keep(data)
		}
	case tar.TypeSymlink:
		e.mode, e.id = modeSymlink, a.keep([]byte(header.Linkname))
	default:
		err = fmt.Errorf("%s in the archive is neither a file, a directory nor a symbolic link", name)
	}
	if err != nil {
		return err
	}
	at, err := top.descend(path.Dir(name))
	if err != nil {
		return err
	}
	if _, taken := at.folders[e.name]; taken {
		return fmt.Errorf("%s in the archive is both a file and a directory", name)
	}
	at.files[e.name] = e
	return nil
}

func (a *archive) member(header *tar.Header, name string, content io.Reader) ([]byte, error) {
	if header.Size > maxMember {
		return nil, fmt.Errorf("%s in the archive is larger than %d MiB", name, maxMember>>20)
	}
	data, err := io.ReadAll(io.LimitReader(content, maxMember+1))
	if err != nil {
		return nil, fmt.Errorf("the archive cannot be read: %w", err)
	}
	if a.total += len(data); a.total > maxUnpacked {
		return nil, fmt.Errorf("the archive is larger than %d MiB when it is unpacked", maxUnpacked>>20)
	}
	return data, nil
}

// memberName checks the name of a member.
func memberName(raw string) (string, error) {
	name := strings.ReplaceAll(raw, "\\", "/")
	if path.IsAbs(name) || len(name) > 1 && name[1] == ':' || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("the archive has a file with the absolute name %q", raw)
	}
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", fmt.Errorf("the archive has the file %q, which leads out of it", raw)
	}
	return path.Clean(name), nil
}

// descend returns the folder at a path and makes what is missing.
func (f *folder) descend(name string) (*folder, error) {
	at := f
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if _, taken := at.files[part]; taken {
			return nil, fmt.Errorf("%s in the archive is below a file", name)
		}
		if at.folders[part] == nil {
			at.folders[part] = newFolder()
		}
		at = at.folders[part]
	}
	return at, nil
}

func (a *archive) keep(data []byte) string {
	id := sha256Hex(data)
	a.blobs[id] = data
	return id
}

// store turns a folder into entries, the lowest first.
func (a *archive) store(f *folder) string {
	entries := make([]entry, 0, len(f.files)+len(f.folders))
	for _, e := range f.files {
		entries = append(entries, e)
	}
	for name, sub := range f.folders {
		entries = append(entries, entry{mode: modeTree, name: name, id: a.store(sub)})
	}
	slices.SortFunc(entries, func(x, y entry) int { return strings.Compare(x.name, y.name) })
	var listing bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&listing, "%s %s\x00%s\n", e.mode, e.name, e.id)
	}
	id := "tree-" + sha256Hex(listing.Bytes())
	a.trees[id] = newListing(entries)
	return id
}

// maxArchives bounds what unpacked archives may take of the memory.
const maxArchives = 64 << 20

// archives keeps unpacked archives by digest, those that were used last.
type archives struct {
	mu    sync.Mutex
	known map[string]*archive
	order []string
	size  int
}

// get returns the archive with the digest; data is called when it is not there.
func (c *archives) get(digest string, strip bool, data func() ([]byte, error)) (*archive, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.known[digest]; ok {
		i := slices.Index(c.order, digest)
		c.order = append(slices.Delete(c.order, i, i+1), digest)
		return a, nil
	}
	packed, err := data()
	if err != nil {
		return nil, err
	}
	return c.add(digest, packed, strip)
}

// put unpacks an archive and keeps it.
func (c *archives) put(digest string, packed []byte, strip bool) (*archive, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.known[digest]; ok {
		return a, nil
	}
	return c.add(digest, packed, strip)
}

func (c *archives) add(digest string, packed []byte, strip bool) (*archive, error) {
	a, err := unpack(packed, strip)
	if err != nil {
		return nil, err
	}
	c.known[digest], c.order, c.size = a, append(c.order, digest), c.size+a.total
	for c.size > maxArchives && len(c.order) > 1 {
		oldest := c.order[0]
		c.size -= c.known[oldest].total
		c.order = c.order[1:]
		delete(c.known, oldest)
	}
	return a, nil
}
