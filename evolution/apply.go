// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ErrScript says that an edit script does not fit the tree: it deletes or updates what is not there, inserts
// what is, or names a file twice.
var ErrScript = errors.New("the edit script does not fit")

// Apply makes the version to which an edit script leads. Edits may come in any order; those of directories
// are not needed and not looked at, since directories come and go with their files. Each file is named by one
// edit at most. The new tree shares with the old one every subtree without an edit; the time is that of the
// directories on the way to an edit and of what these hold directly.
func (t *Tree) Apply(script iter.Seq[Edit]) (*Tree, error) {
	var edits []Edit
	for e := range script {
		if e.Dir {
			continue
		}
		if e.Path == "" {
			return nil, fmt.Errorf("apply edit script: path %q: %w: it is empty", e.Path, ErrBadPath)
		}
		if err := checkPath(e.Path); err != nil {
			return nil, fmt.Errorf("apply edit script: %w", err)
		}
		edits = append(edits, e)
	}
	// By path as Files has it: what concerns a directory is a range.
	slices.SortStableFunc(edits, func(a, b Edit) int { return strings.Compare(a.Path, b.Path) })
	for i := 1; i < len(edits); i++ {
		if edits[i].Path == edits[i-1].Path {
			return nil,
				fmt.Errorf("apply edit script: %s %q: %w: it is named twice", edits[i].Op, edits[i].Path, ErrScript)
		}
	}
	var a applier
	root, err := a.apply(t.top(), "", edits)
	if err != nil {
		return nil, fmt.Errorf("apply edit script: %w", err)
	}
	return &Tree{*root}, nil
}

type applier struct{ buf []byte }

// apply returns a copy of a directory with edits of what lies below it.
func (a *applier) apply(n *node, prefix string, edits []Edit) (*node, error) {
	out := &node{name: n.name, files: make([]leaf, 0, len(n.files)+1), dirs: make([]*node, 0, len(n.dirs)+1)}
	files, dirs := n.files, n.dirs
	for len(edits) > 0 {
		name := edits[0].Path[len(prefix):]
		sub, _, below := strings.Cut(name, "/")
		if !below {
			i, found := (&node{files: files}).findFile(name)
			out.files = append(out.files, files[:i]...)
			files = files[i:]
			e := edits[0]
			if found != (e.Op != Insert) {
				return nil, fmt.Errorf("%s %q: %w: the file is%s there", e.Op, e.Path, ErrScript, map[bool]string{
					true:  "",
					false: " not",
				}[found])
			}
			switch e.Op {
			case Insert:
				out.files = append(out.files, leaf{name, e.Digest, e.Size})
			case Update:
				out.files, files = append(out.files, leaf{name, e.Digest, e.Size}), files[1:]
			case Delete:
				files = files[1:]
			default:
				return nil, fmt.Errorf("path %q: %w: it says neither insert, delete nor update", e.Path, ErrScript)
			}
			edits = edits[1:]
			continue
		}
		within := prefix + sub + "/"
		end := 1
		for end < len(edits) && strings.HasPrefix(edits[end].Path, within) {
			end++
		}
		i, found := (&node{dirs: dirs}).findDir(sub)
		out.dirs = append(out.dirs, dirs[:i]...)
		dirs = dirs[i:]
		old := &node{name: sub}
		if found {
			old, dirs = dirs[0], dirs[1:]
		}
		made, err := a.apply(old, within, edits[:end])
		if err != nil {
			return nil, err
		}
		if made.nf > 0 {
			out.dirs = append(out.dirs, made)
		}
		edits = edits[end:]
	}
	out.files = append(out.files, files...)
	out.dirs = append(out.dirs, dirs...)
	a.buf = out.seal(a.buf)
	return out, nil
}
