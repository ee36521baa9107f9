package strictfs

import (
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/fsblob"
)

// sector is the unit in bytes in which unflushed writes survive or not.
const sector = 512

// node is a folder or a file, in its present and in its durable state.
type node struct {
	made lethe.Time

	// Of a folder; names is nil for a file.
	names   map[string]*node
	durable map[string]*node
	changes []change // since the last flush, in order

	// Of a file.
	data   []byte
	synced []byte
	writes []write // since the last flush, in order
}

// change is a name given (node) or taken away (nil).
type change struct {
	name string
	node *node
}

// write is at most a sector.
type write struct {
	offset int64
	data   []byte
}

func newDir() *node { return &node{names: map[string]*node{}, durable: map[string]*node{}} }

func (n *node) isDir() bool { return n.names != nil }

func (n *node) walk(path string) (*node, error) {
	if path == "" {
		return n, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if !n.isDir() {
			return nil, syscall.ENOTDIR
		}
		next, ok := n.names[name]
		if !ok {
			return nil, syscall.ENOENT
		}
		n = next
	}
	return n, nil
}

func (n *node) link(name string, to *node) error {
	if !n.isDir() {
		return syscall.ENOTDIR
	}
	if _, ok := n.names[name]; ok {
		return syscall.EEXIST
	}
	n.names[name] = to
	n.changes = append(n.changes, change{name, to})
	return nil
}

func (n *node) unlink(name string) error {
	there, ok := n.names[name]
	switch {
	case !ok:
		return syscall.ENOENT
	case there.isDir():
		return syscall.EISDIR
	}
	delete(n.names, name)
	n.changes = append(n.changes, change{name, nil})
	return nil
}

func (n *node) write(offset int64, p []byte) {
	for part := range slices.Chunk(slices.Clone(p), sector) {
		w := write{offset, part}
		n.data = w.apply(n.data)
		n.writes = append(n.writes, w)
		offset += int64(len(part))
	}
}

func (w write) apply(data []byte) []byte {
	if end := int(w.offset) + len(w.data); end > len(data) {
		data = append(data, make([]byte, end-len(data))...)
	}
	copy(data[w.offset:], w.data)
	return data
}

// sync makes the folder's names or the file's bytes durable.
func (n *node) sync() {
	if n.isDir() {
		n.durable, n.changes = maps.Clone(n.names), nil
		return
	}
	n.synced, n.writes = slices.Clone(n.data), nil
}

func (n *node) syncTree() {
	n.sync()
	for _, child := range n.names {
		child.syncTree()
	}
}

// crash returns what may be on the disk: what was flushed, and other changes that
// keep accepts, in a fixed order. A file with two names stays one.
func (n *node) crash(keep func() bool, seen map[*node]*node) *node {
	if was, ok := seen[n]; ok {
		return was
	}
	c := &node{made: n.made}
	seen[n] = c
	if !n.isDir() {
		c.data = slices.Clone(n.synced)
		for _, w := range n.writes {
			if keep() {
				c.data = w.apply(c.data)
			}
		}
		c.sync()
		return c
	}
	names := maps.Clone(n.durable)
	for _, ch := range n.changes {
		switch {
		case !keep():
		case ch.node == nil:
			delete(names, ch.name)
		default:
			names[ch.name] = ch.node
		}
	}
	c.names = map[string]*node{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c.names[name] = names[name].crash(keep, seen)
	}
	c.sync()
	return c
}

func (n *node) entry(name string) fsblob.Entry {
	return fsblob.Entry{
		Name: name, Size: int64(len(n.data)), ModTime: n.made, Dir: n.isDir(), Regular: !n.isDir(),
	}
}

func splitPath(path string) (folder, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

func joinPath(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}
