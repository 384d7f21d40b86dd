// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/trees"
	"mirrord/testing/oracle"
)

const orderEnv = "MIRRORD_TEST_ORDER"

// Loss of power loses what was not synced, in any order. So before a record is committed what it refers to
// must be on disk, and before the link moves, the tree and the decision. strace records the system
// calls while batches were committed and two versions published.
func TestSyncsComeBeforeWhatReliesOnThem(t *testing.T) {
	if dir := os.Getenv(orderEnv); dir != "" {
		publishForOrder(t, dir)
		return
	}
	strace := oracle.Strace(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "calls")
	state := filepath.Join(dir, "state")
	cmd := exec.CommandContext(t.Context(), strace, "-f", "-y", "-qq", "-s", "0", "-o", out, "-e",
		"trace=write,pwrite64,writev,pwritev,ftruncate,fsync,fdatasync,syncfs,"+
			"openat,mkdirat,linkat,symlinkat,renameat,renameat2,unlinkat",
		os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), orderEnv+"="+state)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	o := newOrder(t, state)
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	begun := map[string]string{} // by thread
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		pid, call, _ := strings.Cut(lines.Text(), " ")
		call = strings.TrimSpace(call)
		if head, ok := strings.CutSuffix(call, " <unfinished ...>"); ok {
			begun[pid] = head
			continue
		}
		if _, tail, ok := strings.Cut(call, " resumed>"); ok && strings.HasPrefix(call, "<... ") {
			call = begun[pid] + tail
		}
		o.call(call)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if o.commits < 8 || o.moves != 2 || o.bodies == 0 || o.heads < 2 {
		t.Errorf("%d commits, %d moves of the link, %d writes of bodies and %d of heads were seen", o.commits,
			o.moves, o.bodies, o.heads)
	}
	t.Logf("%d commits, %d moves of the link", o.commits, o.moves)
}

// publishForOrder does what two runs do.
func publishForOrder(t *testing.T, dir string) {
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	s.Frames.Packs.Max = 32 << 10 // so that packs are begun in between
	old := record.Place{}
	for version := 1; version <= 2; version++ {
		for batch := range 3 {
			first := (version-1)*30 + batch*10
			var done []*record.Done
			for id := first; id < first+10; id++ {
				d := document(t, s, id, string(random(2000, byte(id))))
				d.Answer = headOf(t, plainHead)
				done = append(done, d)
				if id%2 == 0 || batch == 2 { // few blobs, and many
					done = append(done, blobOf(t, s, id, fmt.Sprint("image ", id)))
				}
			}
			over := documentOver(t, s, first, string(random(2000, 1))+fmt.Sprint(first), old)
			old = over.At
			commit(t, s, uint32(first), newURLs(first, first+10), append(done, over)...)
		}
		foldAll(t, s, version)
		tree, err := s.Trees.Build(trees.TreeRules{})
		if err != nil {
			t.Fatal(err)
		}
		fillTree(t, tree, version, map[string]string{"a/b.html": fmt.Sprint(version), "c.html": "same"})
		w := tree.Writer()
		if err := w.LinkBlob("d.png", blobOf(t, s, 2, "image 2").Digest); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if err := tree.Publish(record.Version{Number: version}, []byte("script")); err != nil {
			t.Fatal(err)
		}
		if err := tree.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// order tracks which changes are on disk and which only in memory. Files and folders are noted by path; a
// folder is dirty when a name in it came, went or was moved.
type order struct {
	t     *testing.T
	state string
	dirty map[string]bool
	known map[string]bool // files that exist

	commits, moves, bodies, heads int
}

func newOrder(t *testing.T, state string) *order {
	return &order{
		t:     t,
		state: state,
		dirty: map[string]bool{},
		known: map[string]bool{},
	}
}

var (
	callForm = regexp.MustCompile(`^(\w+)\((.*)\)\s+= (-?\d+)`)
	fdForm   = regexp.MustCompile(`^(?:\d+|AT_FDCWD)<([^>]*)>`)
	nameForm = regexp.MustCompile(`(\d+|AT_FDCWD)<([^>]*)>, "([^"]*)"`)
)

func (o *order) call(line string) {
	m := callForm.FindStringSubmatch(line)
	if m == nil || strings.HasPrefix(m[3], "-") {
		return
	}
	name, args := m[1], m[2]
	fd := ""
	if f := fdForm.FindStringSubmatch(args); f != nil {
		fd = f[1]
	}
	var paths []string
	for _, n := range nameForm.FindAllStringSubmatch(args, -1) {
		p := n[3]
		if !path.IsAbs(p) {
			p = path.Join(n[2], p)
		}
		paths = append(paths, p)
	}
	switch name {
	case "write", "pwrite64", "writev", "pwritev", "ftruncate":
		o.write(name, fd, args)
	case "fsync", "fdatasync":
		delete(o.dirty, fd)
	case "syncfs":
		clear(o.dirty)
	case "openat":
		if len(paths) == 1 && strings.Contains(args, "O_CREAT") && !o.known[paths[0]] {
			o.change(paths[0])
		}
	case "mkdirat", "unlinkat":
		if len(paths) == 1 {
			o.change(paths[0])
		}
	case "symlinkat": // "target", dir, "name"
		if len(paths) == 1 {
			o.change(paths[0])
		}
	case "linkat":
		if len(paths) == 2 {
			o.change(paths[1])
		}
	case "renameat", "renameat2":
		if len(paths) == 2 {
			o.rename(paths[0], paths[1])
		}
	}
}

// change notes that a name came or went. What lists show may be lost with the power.
func (o *order) change(p string) {
	if strings.Contains(path.Base(p), home.GlanceFile) {
		return
	}
	if o.known[p] = true; strings.HasPrefix(p, o.state+"/") && p != o.state+"/blobs/tmp" {
		o.dirty[path.Dir(p)] = true
	}
}

func (o *order) write(call, file, args string) {
	if !strings.HasPrefix(file, o.state+"/") {
		return
	}
	if strings.HasSuffix(file, ".log") && call == "pwrite64" {
		o.commit()
	}
	if strings.HasSuffix(file, ".pack") || strings.HasPrefix(file, o.state+"/blobs/") {
		o.bodies++
	}
	if strings.HasPrefix(file, o.state+"/sites/x/"+"heads.") {
		o.heads++
	}
	o.dirty[file] = true
}

// commit is the write of an entry of the log: from now on the transaction may count.
func (o *order) commit() {
	if o.commits++; o.bodies == 0 { // of an empty database
		return
	}
	for p := range o.dirty {
		switch {
		case p == o.state, p == o.state+"/sites", strings.HasPrefix(p, o.state+"/sites/x/packs"),
			strings.HasPrefix(p, o.state+"/sites/x/"+"heads."),
			strings.HasPrefix(p, o.state+"/blobs") && !strings.HasPrefix(p, o.state+"/blobs/tmp"):
			o.t.Errorf("commit %d refers to %s, which is not on disk", o.commits, p)
		case p == o.state+"/sites/x" && o.moves > 0:
			o.t.Errorf("commit %d follows a move of the link that is not on disk", o.commits)
		}
	}
}

func (o *order) rename(from, to string) {
	if to == o.state+"/sites/x/current" {
		o.moves++
		for p := range o.dirty {
			if strings.HasSuffix(p, ".log") || strings.HasPrefix(p, o.state+"/sites/x/trees") {
				o.t.Errorf("the link moves before %s is on disk", p)
			}
		}
	}
	for _, names := range []map[string]bool{o.dirty, o.known} {
		for p := range maps.Clone(names) { // all below it goes with it
			if below, is := strings.CutPrefix(p+"/", from+"/"); is {
				delete(names, p)
				names[path.Join(to, below)] = true
			}
		}
	}
	o.change(from)
	o.change(to)
}
