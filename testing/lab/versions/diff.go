// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"mirrord/evolution"
)

// Op is what an edit does.
type Op uint8

const (
	Delete Op = iota + 1
	Insert
	Update // of a file: other contents
)

// TreeEdit is one step of an edit script; it costs 1.
type TreeEdit struct {
	Op   Op
	Dir  bool // the node is a directory: only its path counts
	File      // as it is after the edit; as it was, when it is deleted
}

// Diff is the edit script from one version to another (WD-Diff): one edit for each node that is only in one
// of them and for each file with other contents. Its length is the distance D. It is ordered by path; of one
// path deletes come first, then directories. Subtrees that are equal are not entered: the time is that of the
// directories on the way to a change, and of what these hold directly.
func Diff(from, to *HashedTree) []TreeEdit {
	var d differ
	d.dirs("", from.top(), to.top())
	slices.SortFunc(d.script, func(a, b TreeEdit) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		if a.Op != b.Op {
			return cmp.Compare(a.Op, b.Op)
		}
		if a.Dir {
			return -1
		}
		return 1
	})
	return d.script
}

type differ struct{ script []TreeEdit }

func (d *differ) file(op Op, prefix string, f *leaf) {
	d.script = append(d.script, TreeEdit{Op: op, File: File{prefix + f.name, f.digest, f.size}})
}

// dirs compares two directories of one path.
func (d *differ) dirs(prefix string, a, b *node) {
	if a.hash == b.hash && a.nf == b.nf {
		return
	}
	i, j := 0, 0
	for i < len(a.files) || j < len(b.files) {
		c := 0
		switch {
		case j == len(b.files):
			c = -1
		case i == len(a.files):
			c = 1
		default:
			c = strings.Compare(a.files[i].name, b.files[j].name)
		}
		switch {
		case c < 0:
			d.file(Delete, prefix, &a.files[i])
			i++
		case c > 0:
			d.file(Insert, prefix, &b.files[j])
			j++
		default:
			if a.files[i].digest != b.files[j].digest {
				d.file(Update, prefix, &b.files[j])
			}
			i, j = i+1, j+1
		}
	}
	i, j = 0, 0
	for i < len(a.dirs) || j < len(b.dirs) {
		c := 0
		switch {
		case j == len(b.dirs):
			c = -1
		case i == len(a.dirs):
			c = 1
		default:
			c = dirOrder(a.dirs[i].name, b.dirs[j].name)
		}
		switch {
		case c < 0:
			d.whole(Delete, prefix, a.dirs[i])
			i++
		case c > 0:
			d.whole(Insert, prefix, b.dirs[j])
			j++
		default:
			if x, y := a.dirs[i], b.dirs[j]; x != y && (x.hash != y.hash || x.nf != y.nf) {
				d.dirs(prefix+x.name+"/", x, y)
			}
			i, j = i+1, j+1
		}
	}
}

// whole takes a subtree that is only in one of the versions.
func (d *differ) whole(op Op, prefix string, n *node) {
	d.script = append(d.script, TreeEdit{Op: op, Dir: true, File: File{Path: prefix + n.name}})
	prefix += n.name + "/"
	for i := range n.files {
		d.file(op, prefix, &n.files[i])
	}
	for _, sub := range n.dirs {
		d.whole(op, prefix, sub)
	}
}

// Changes reads off an edit script and the version that it starts from how every directory changed: those in
// which something did, each with all that lies below it, by path. The time is that of the edits times their
// depth. The script has to have the edits of directories, as that of Diff does.
func Changes(from *HashedTree, script iter.Seq[TreeEdit]) map[string]evolution.Change {
	changes := map[string]evolution.Change{}
	add := func(dir string, op Op) {
		c, known := changes[dir]
		if !known {
			c.Old = from.Nodes(dir)
		}
		switch op {
		case Delete:
			c.Deleted++
		case Insert:
			c.Inserted++
		case Update:
			c.Updated++
		}
		changes[dir] = c
	}
	for e := range script {
		dir := e.Path
		if !e.Dir {
			dir, _ = split(dir)
		}
		for ; dir != ""; dir, _ = split(dir) {
			add(dir, e.Op)
		}
		add("", e.Op)
	}
	return changes
}

// AddTree begins a history with a version, or adds the step to a version in which everything was looked at.
// previous has to be the tree of the entry before, nil for the base.
func AddTree(h *evolution.History, time int64, previous, next *HashedTree) error {
	r := h.Record(time)
	for _, e := range Diff(previous, next) {
		if e.Dir {
			continue
		}
		dir, _ := split(e.Path)
		switch d := r.Dir(dir); e.Op {
		case Insert:
			r.Insert(d, 1)
		case Delete:
			r.Delete(d, 1)
		case Update:
			r.Update(d, 1)
		}
	}
	return r.Commit()
}

// split parts a file's path into its directory's path and its name.
func split(path string) (dir, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}
