// SPDX-License-Identifier: Apache-2.0

// Package versions compares versions of a site as trees: Merkle trees of files, the edit script from one to
// another (WD-Diff of Chen, Bhowmick and Nejdl), and the degrees of change read off the script. Package
// evolution computes the same numbers without trees, and is compared with them here.
package versions

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"mirrord/evolution"
)

// Digest stands for a file's contents: equal digests, equal contents. The first 16 bytes of a SHA-256 will
// do.
type Digest [16]byte

// File is a file of a version.
type File struct {
	Path   string
	Digest Digest
	Size   int64 // bytes; it does not tell contents apart
}

// ErrOrder says that paths do not come in ascending order, each once.
var ErrOrder = errors.New("paths are not in ascending order")

// HashedTree is a version: its files and, implied by them, its directories. Every directory has the hash of
// all that lies below it, so that equal subtrees are known to be equal without a look inside. A tree never
// changes. The nil tree and the zero one are empty.
type HashedTree struct{ root node }

// node is a directory.
type node struct {
	name  string
	hash  Digest
	files []leaf  // by name
	dirs  []*node // by name as if it ended in a slash: the order in which paths come
	nf    int     // files of the subtree
	nd    int     // directories of the subtree, this one among them
}

type leaf struct {
	name   string
	digest Digest
	size   int64
}

// NewTree makes a tree of files in ascending order of their paths (as bytes), in linear time.
func NewTree(files iter.Seq[File]) (*HashedTree, error) {
	var b builder
	for f := range files {
		if err := b.add(f); err != nil {
			return nil, err
		}
	}
	return b.tree(), nil
}

// TreeOf makes a tree of files in any order.
func TreeOf(files []File) (*HashedTree, error) {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b File) int {
		return strings.Compare(a.Path, b.Path)
	})
	return NewTree(slices.Values(sorted))
}

// builder keeps the directories of the last path open.
type builder struct {
	open []*node
	ends []int // for each open directory, where its path ends in last; 0 for the root
	last string
	buf  []byte
}

func (b *builder) add(f File) error {
	if b.open == nil {
		b.open, b.ends = []*node{{}}, []int{0}
	} else if f.Path <= b.last {
		return fmt.Errorf("tree: %q after %q: %w", f.Path, b.last, ErrOrder)
	}
	if f.Path == "" {
		return fmt.Errorf("tree: path %q: %w: it is empty", f.Path, evolution.ErrBadPath)
	}
	keep := len(b.open)
	for ; keep > 1; keep-- { // an open directory that is not on the path ends here
		end := b.ends[keep-1]
		if len(f.Path) > end && f.Path[end] == '/' && f.Path[:end] == b.last[:end] {
			break
		}
	}
	b.close(keep)
	from := b.ends[keep-1]
	if from > 0 {
		from++
	}
	for {
		i := strings.IndexByte(f.Path[from:], '/')
		if i < 0 {
			break
		}
		name := f.Path[from : from+i]
		if err := checkName(name); err != nil {
			return fmt.Errorf("tree: path %q: %w", f.Path, err)
		}
		b.open, b.ends = append(b.open, &node{name: name}), append(b.ends, from+i)
		from += i + 1
	}
	name := f.Path[from:]
	if err := checkName(name); err != nil {
		return fmt.Errorf("tree: path %q: %w", f.Path, err)
	}
	top := b.open[len(b.open)-1]
	top.files = append(top.files, leaf{name, f.Digest, f.Size})
	b.last = f.Path
	return nil
}

// close finishes the open directories from a place on.
func (b *builder) close(from int) {
	for i := len(b.open) - 1; i >= from; i-- {
		n, up := b.open[i], b.open[i-1]
		b.buf = n.seal(b.buf)
		up.dirs = append(up.dirs, n)
	}
	b.open, b.ends = b.open[:from], b.ends[:from]
}

func (b *builder) tree() *HashedTree {
	if b.open == nil {
		b.open, b.ends = []*node{{}}, []int{0}
	}
	b.close(1)
	b.open[0].seal(b.buf)
	return &HashedTree{*b.open[0]}
}

// seal counts and hashes a directory whose contents are complete. The buffer is for use by the next call; it
// may be nil.
func (n *node) seal(buf []byte) []byte {
	n.nf, n.nd = len(n.files), 1
	buf = buf[:0]
	for i := range n.files {
		f := &n.files[i]
		buf = binary.AppendUvarint(append(buf, 'f'), uint64(len(f.name)))
		buf = append(append(buf, f.name...), f.digest[:]...)
	}
	for _, d := range n.dirs {
		buf = binary.AppendUvarint(append(buf, 'd'), uint64(len(d.name)))
		buf = append(append(buf, d.name...), d.hash[:]...)
		n.nf += d.nf
		n.nd += d.nd
	}
	sum := sha256.Sum256(buf)
	n.hash = Digest(sum[:len(n.hash)])
	return buf
}

// dirOrder is the order of names of directories: as if they ended in a slash.
func dirOrder(a, b string) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	next := func(s string) byte {
		if len(s) > n {
			return s[n]
		}
		return '/'
	}
	if len(a) == len(b) {
		return 0
	}
	// No name has a slash, so that the two next bytes differ.
	return cmp.Compare(next(a), next(b))
}

func (t *HashedTree) top() *node {
	if t == nil || t.root.nd == 0 {
		return &node{nd: 1}
	}
	return &t.root
}

// Len is how many files the tree has.
func (t *HashedTree) Len() int { return t.top().nf }

// Nodes is how many nodes the subtree of a directory has, itself among them; 0 when it is not there.
func (t *HashedTree) Nodes(dir string) int {
	if n := t.find(dir); n != nil {
		return n.nf + n.nd
	}
	return 0
}

// find returns a directory, nil when it is not there.
func (t *HashedTree) find(dir string) *node {
	n := t.top()
	for dir != "" {
		name, rest, _ := strings.Cut(dir, "/")
		i, ok := n.findDir(name)
		if !ok {
			return nil
		}
		n, dir = n.dirs[i], rest
	}
	return n
}

func (n *node) findDir(name string) (int, bool) {
	return slices.BinarySearchFunc(n.dirs, name, func(d *node, name string) int {
		return dirOrder(d.name, name)
	})
}

// Files yields the files in ascending order of their paths.
func (t *HashedTree) Files() iter.Seq[File] {
	return func(yield func(File) bool) { t.top().walk("", yield) }
}

func (n *node) walk(prefix string, yield func(File) bool) bool {
	dirs := n.dirs
	for _, f := range n.files {
		// A directory comes before a file when its name and a slash do.
		for len(dirs) > 0 && dirBeforeFile(dirs[0].name, f.name) {
			if !dirs[0].walk(prefix+dirs[0].name+"/", yield) {
				return false
			}
			dirs = dirs[1:]
		}
		if !yield(File{prefix + f.name, f.digest, f.size}) {
			return false
		}
	}
	for _, d := range dirs {
		if !d.walk(prefix+d.name+"/", yield) {
			return false
		}
	}
	return true
}

func dirBeforeFile(dir, file string) bool {
	n := min(len(dir), len(file))
	if c := strings.Compare(dir[:n], file[:n]); c != 0 || n == len(file) {
		return c < 0
	}
	return '/' < file[n]
}

// DigestOf makes a digest of a string that identifies contents.
func DigestOf(id string) Digest {
	sum := sha256.Sum256([]byte(id))
	return Digest(sum[:16])
}

func checkName(name string) error {
	switch name {
	case "":
		return fmt.Errorf("%w: it has an empty name", evolution.ErrBadPath)
	case ".", "..":
		return fmt.Errorf("%w: it has the name %q", evolution.ErrBadPath, name)
	}
	return nil
}
