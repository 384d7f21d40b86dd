// SPDX-License-Identifier: Apache-2.0

package disktest

import (
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
	"time"
)

// PowerLoss is a folder as a process sees it, and what of it is on the disk for certain. Names come to the
// disk in the order in which they were made, as a journal has it; a sync of a file or folder writes its own
// name, all names before, and the bytes of that file. Bytes that were not synced come in any order, or not at
// all.
type PowerLoss struct {
	base    string // path of the folder
	root    *inode
	open    map[int]*handle
	journal []change // that may be lost
}

// inode is a file, folder or symbolic link.
type inode struct {
	mode     uint32
	target   string
	isDir    bool
	modified time.Time
	names    map[string]*inode // of a folder, as the process sees it
	settled  map[string]*inode // those on the disk

	data    []byte // on the disk
	pending []write
	size    int
}

// write is one that was not synced; data is nil for a file that was cut.
type write struct {
	off  int
	data []byte
	cut  bool
}

// change is one of names. It takes place as a whole.
type change struct {
	edits []edit
	about []*inode
}

type edit struct {
	dir  *inode
	name string
	to   *inode // nil: the name goes
}

type handle struct {
	of     *inode
	pos    int
	append bool
}

func newDir() *inode {
	return &inode{
		isDir:   true,
		mode:    0o755,
		names:   map[string]*inode{},
		settled: map[string]*inode{},
	}
}

// New returns the disk of a folder that is empty.
func New(base string) *PowerLoss {
	return &PowerLoss{base: path.Clean(base), root: newDir(), open: map[int]*handle{}}
}

// Do carries out a call. Calls outside of the folder do nothing. The error says that it was not understood.
func (d *PowerLoss) Do(c *Call) error {
	switch c.Name {
	case "openat":
		return d.openAt(c)
	case "close":
		delete(d.open, c.number(0))
	case "fcntl":
		if h := d.open[c.number(0)]; (h != nil) && strings.HasPrefix(c.args[1], "F_DUPFD") {
			d.open[c.ret] = h
		}
	case "write", "pwrite64", "writev", "lseek", "ftruncate":
		if h := d.open[c.number(0)]; h != nil {
			d.file(h, c)
		}
	case "mkdirat":
		d.put(d.dirOf(c.number(0)), c.string(1), newDir())
	case "symlinkat":
		d.put(d.dirOf(c.number(1)), c.string(2), &inode{target: c.string(0)})
	case "linkat":
		if n := d.lookup(d.dirOf(c.number(0)), c.string(1)); n != nil {
			d.put(d.dirOf(c.number(2)), c.string(3), n)
		}
	case "unlinkat":
		if dir, name := d.place(d.dirOf(c.number(0)), c.string(1)); dir != nil {
			d.change(dir.names[name], edit{dir, name, nil})
		}
	case "renameat", "renameat2":
		from, old := d.place(d.dirOf(c.number(0)), c.string(1))
		to, name := d.place(d.dirOf(c.number(2)), c.string(3))
		switch {
		case (from == nil) && (to == nil):
		case (from == nil) || (to == nil) || (c.Name == "renameat2" && c.args[4] != "0"):
			return fmt.Errorf("%s %q is not understood", c.Name, c.args)
		default:
			n := from.names[old]
			d.change(n, edit{from, old, nil}, edit{to, name, n})
		}
	case "utimensat":
		d.touch(c)
	case "fsync", "fdatasync":
		if h := d.open[c.number(0)]; h != nil {
			d.sync(h.of)
		}
	case "syncfs":
		if d.open[c.number(0)] != nil {
			d.syncAll()
		}
	case "sync_file_range":
	default:
		if (d.open[c.number(0)] != nil) || (d.open[c.number(2)] != nil) || d.isInside(c) {
			return fmt.Errorf("%s %.200q is not understood", c.Name, c.args)
		}
	}
	return nil
}

// isInside reports whether a call names a path in the folder.
func (d *PowerLoss) isInside(c *Call) bool {
	for i := range c.args {
		if strings.HasPrefix(c.args[i], `"`) && strings.HasPrefix(c.string(i), d.base) {
			return true
		}
	}
	return false
}

// dirOf returns the folder that a number stands for; nil for the working folder and unknown numbers.
func (d *PowerLoss) dirOf(fd int) *inode {
	if h := d.open[fd]; (h != nil) && h.of.isDir {
		return h.of
	}
	return nil
}

// place returns the folder and the name of a path; nil when it is not here.
func (d *PowerLoss) place(dir *inode, p string) (*inode, string) {
	if path.IsAbs(p) {
		rest, ok := strings.CutPrefix(path.Clean(p), d.base+"/")
		if !ok {
			return nil, ""
		}
		dir, p = d.root, rest
	}
	parent, name := path.Split(path.Clean(p))
	if parent != "" {
		dir = d.follow(dir, path.Clean(parent))
	}
	if (dir == nil) || !dir.isDir {
		return nil, ""
	}
	return dir, name
}

// lookup returns the inode of a path, the last symbolic link not followed; nil when it is not here.
func (d *PowerLoss) lookup(dir *inode, p string) *inode {
	if path.Clean(p) == d.base {
		return d.root
	}
	if p == "." {
		return dir
	}
	dir, name := d.place(dir, p)
	if dir == nil {
		return nil
	}
	return dir.names[name]
}

// follow returns the inode of a path, with all links followed.
func (d *PowerLoss) follow(dir *inode, p string) *inode {
	n := d.lookup(dir, p)
	for (n != nil) && (n.target != "") {
		if parent, _ := d.place(dir, p); parent != nil {
			dir, p = parent, n.target
		}
		n = d.lookup(dir, p)
	}
	return n
}

func (d *PowerLoss) openAt(c *Call) error {
	dir, name := d.place(d.dirOf(c.number(0)), c.string(1))
	if path.Clean(c.string(1)) == d.base {
		d.open[c.ret] = &handle{of: d.root}
		return nil
	}
	if c.string(1) == "." {
		dir, name = d.dirOf(c.number(0)), "."
	}
	if dir == nil {
		delete(d.open, c.ret) // a number of before that was closed unseen
		return nil
	}
	n := dir.names[name]
	if name == "." {
		n = dir
	}
	if (n != nil) && (n.target != "") && !strings.Contains(c.args[2], "O_NOFOLLOW") {
		n = d.follow(dir, name)
	}
	if n == nil {
		if !strings.Contains(c.args[2], "O_CREAT") {
			return fmt.Errorf("open %s: it is not on the disk", c.string(1))
		}
		mode, err := strconv.ParseUint(c.args[3], 8, 32)
		if err != nil {
			return err
		}
		n = &inode{mode: uint32(mode)}
		d.put(dir, name, n)
	}
	if strings.Contains(c.args[2], "O_TRUNC") && (n.size > 0) {
		n.cut(0)
	}
	d.open[c.ret] = &handle{of: n, append: strings.Contains(c.args[2], "O_APPEND")}
	return nil
}

// file carries out a call on the bytes of a file.
func (d *PowerLoss) file(h *handle, c *Call) {
	switch c.Name {
	case "write", "writev":
		data := []byte(nil)
		if c.Name == "write" {
			data = c.bytes(1)
		} else {
			data = c.vector(1)
		}
		if h.append {
			h.pos = h.of.size
		}
		h.of.write(h.pos, data[:c.ret])
		h.pos += c.ret
	case "pwrite64":
		h.of.write(c.number(3), c.bytes(1)[:c.ret])
	case "lseek":
		h.pos = c.ret
	case "ftruncate":
		h.of.cut(c.number(1))
	}
}

func (n *inode) write(off int, data []byte) {
	n.pending = append(n.pending, write{off: off, data: data})
	n.size = max(n.size, off+len(data))
}

func (n *inode) cut(size int) {
	n.pending = append(n.pending, write{off: size, cut: true})
	n.size = size
}

// put gives something a name.
func (d *PowerLoss) put(dir *inode, p string, n *inode) {
	if parent, name := d.place(dir, p); parent != nil {
		d.change(n, edit{parent, name, n})
	}
}

func (d *PowerLoss) change(about *inode, edits ...edit) {
	x := change{edits: edits, about: []*inode{about}}
	for _, e := range edits {
		x.about = append(x.about, e.dir)
		e.apply(e.dir.names)
	}
	d.journal = append(d.journal, x)
}

func (e *edit) apply(names map[string]*inode) {
	if e.to == nil {
		delete(names, e.name)
	} else {
		names[e.name] = e.to
	}
}

// touch carries out utimensat. The time is on the disk at once: it vouches for nothing.
func (d *PowerLoss) touch(c *Call) {
	n := d.dirOf(c.number(0))
	if h := d.open[c.number(0)]; h != nil {
		n = h.of
	}
	if c.args[1] != "NULL" {
		n = d.lookup(d.dirOf(c.number(0)), c.string(1))
	}
	at := strings.LastIndex(c.args[2], "{tv_sec=")
	if (n == nil) || (at < 0) {
		return
	}
	var sec, nsec int64
	if _, err := fmt.Sscanf(c.args[2][at:], "{tv_sec=%d,", &sec); err != nil {
		return
	}
	if _, ns, ok := strings.Cut(c.args[2][at:], "tv_nsec="); ok {
		fmt.Sscanf(ns, "%d", &nsec)
	}
	n.modified = time.Unix(sec, nsec)
}

// sync writes a file or folder to the disk.
func (d *PowerLoss) sync(n *inode) {
	n.settle()
	last := -1
	for i, x := range d.journal {
		for _, about := range x.about {
			if about == n {
				last = i
			}
		}
	}
	d.settleNames(last + 1)
}

func (d *PowerLoss) settleNames(upTo int) {
	for _, x := range d.journal[:upTo] {
		for _, e := range x.edits {
			e.apply(e.dir.settled)
		}
	}
	d.journal = d.journal[upTo:]
}

func (d *PowerLoss) syncAll() {
	d.settleNames(len(d.journal))
	seen := map[*inode]bool{}
	var all func(n *inode)
	all = func(n *inode) {
		if seen[n] {
			return
		}
		seen[n] = true
		n.settle()
		for child := range maps.Values(n.names) {
			all(child)
		}
	}
	all(d.root)
	for _, h := range d.open {
		all(h.of)
	}
}

// settle writes the bytes of a file to the disk.
func (n *inode) settle() {
	for _, w := range n.pending {
		n.data = w.on(n.data)
	}
	n.pending = nil
}

// on returns what a write makes of the bytes of a file, which it may change.
func (w *write) on(data []byte) []byte {
	end := w.off + len(w.data)
	if end > len(data) {
		data = append(data, make([]byte, end-len(data))...)
	}
	if w.cut {
		return data[:w.off]
	}
	copy(data[w.off:], w.data)
	return data
}
