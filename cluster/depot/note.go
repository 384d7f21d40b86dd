// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mirrord/internal/regular"
	"mirrord/store"
	"mirrord/store/travel"
)

// note is what a machine keeps of a unit: which check-in it has, and how its files looked then, so that
// files that were not touched need not be read.
type note struct {
	Sequence uint64              `json:"sequence"`
	Checkin  string              `json:"checkin"`
	Tx       uint64              `json:"tx"` // of the database: another one has changed
	Files    map[string]fileLook `json:"files,omitempty"`
	// Next is the check-in whose pointer was about to be moved: a kill leaves open whether it was.
	Next *note `json:"next,omitempty"`
}

// at is the note that belongs to a pointer, or the last one before it; nil when this machine has seen none.
func (n *note) at(p *Pointer) *note {
	switch {
	case n == nil:
		return nil
	case n.Next != nil && p != nil && n.Next.Checkin == p.Checkin:
		return n.Next
	case n.Sequence == 0:
		return nil
	}
	return n
}

// before is the note to be written before the pointer is moved to the check-in that next is of.
func (n *note) before(next *note) *note {
	var now note
	if n != nil {
		now = *n
	}
	now.Next = next
	return &now
}

// fileLook is what the file system says of a file.
type fileLook struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // Unix nanoseconds
	Changed  int64  `json:"changed"`
	Inode    uint64 `json:"inode"`
}

func lookOf(fi fs.FileInfo) fileLook {
	l := fileLook{Size: fi.Size(), Modified: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		l.Changed, l.Inode = st.Ctim.Nano(), st.Ino
	}
	return l
}

// tooFresh is how long after a change of a file another one may leave it with the same times.
const tooFresh = 2 * time.Second

// has reports whether a file looks as it did. A nil note has none.
func (n *note) has(f *travel.File) bool {
	if n == nil {
		return false
	}
	l, ok := n.Files[f.Name]
	return ok && l == lookOf(f.Info)
}

// newNote notes what was checked in.
func newNote(u *unit, p *Pointer) *note {
	n := &note{
		Sequence: p.Sequence,
		Checkin:  p.Checkin,
		Tx:       u.tx,
		Files:    map[string]fileLook{},
	}
	for i := range u.files {
		f := &u.files[i]
		l := lookOf(f.Info)
		if time.Since(time.Unix(0, max(l.Modified, l.Changed))) > tooFresh {
			n.Files[f.Name] = l
		}
	}
	return n
}

// readNotes returns the notes of a site, by cluster.
func readNotes(st *store.State, site string) (map[string]*note, error) {
	return readNotesIn[note](filepath.Join(st.Dir, "sites", site, travel.DepotNotes))
}

// mostNotes bounds a file of notes.
const mostNotes = 1 << 30

// readNotesIn reads notes, by cluster. Those that cannot be read are none.
func readNotesIn[N any](file string) (map[string]*N, error) {
	notes := map[string]*N{}
	b, err := regular.Read(file, mostNotes)
	if errors.Is(err, fs.ErrNotExist) {
		return notes, nil
	}
	if err == nil && json.Unmarshal(b, &notes) != nil {
		notes = map[string]*N{}
	}
	return notes, err
}

func writeNotesIn[N any](dir string, notes map[string]*N) error {
	return writeJSON(filepath.Join(dir, travel.DepotNotes), notes)
}

func writeJSON(file string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	aside := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".new")
	if err := os.WriteFile(aside, b, 0o600); err != nil {
		return err
	}
	return os.Rename(aside, file)
}
