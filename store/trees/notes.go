// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/phm"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// The trees of a site are folders of its folder trees. A finished one is named by its version, with a number
// behind it when that version was published again. A tree is finished as long as it has such a name, unless
// kBuild names it.
const (
	Dir         = "trees"
	VersionsDir = "versions" // of links to the trees, by the number of the version
	nextTree    = "next"     // in which the next version is built
	goneTree    = "gone"     // that is being removed
)

// treeNote is the record of a finished tree.
type treeNote struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Left    int64  `json:"left,omitempty"` // Unix nanoseconds at which another tree took its place; 0: live
	// Stale says that nothing of the tree may be taken over, and Doubt of which files that holds.
	Stale bool     `json:"stale,omitempty"`
	Doubt []string `json:"doubt,omitempty"`
}

// maxDoubt is how many files of a tree may be in doubt before all of it is.
const maxDoubt = 1000

func treeName(version int) string { return fmt.Sprintf("%06d", version) }

// versionOf returns the version that the name of a finished tree says.
func versionOf(name string) (version int, ok bool) {
	number, again, repeated := strings.Cut(name, "-")
	v, err := strconv.Atoi(number)
	if (err != nil) || v < 1 || number != treeName(v) {
		return 0, false
	}
	if n, err := strconv.Atoi(again); repeated && (err != nil || n < 2 || strconv.Itoa(n) != again) {
		return 0, false
	}
	return v, true
}

func isTree(name string) bool {
	_, ok := versionOf(name)
	return ok
}

// freeName returns a name for the tree of a version that no other tree has.
func (s *SiteTrees) freeName(version int) (string, error) {
	name := treeName(version)
	for n := 2; ; n++ {
		_, err := s.Root.Lstat(Dir + "/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", disk.Err("name tree", err)
		}
		name = fmt.Sprint(treeName(version), "-", n)
	}
}

// notesIn reads the notes of the trees. Notes that cannot be read are none: they can be done without.
func notesIn(tx *db.Tx) (notes []treeNote) {
	if v := tx.Meta().Get(home.KeyTrees); v != nil && json.Unmarshal(v, &notes) != nil {
		return nil
	}
	return notes
}

func putNotes(tx *db.Tx, notes []treeNote) error {
	return tx.Meta().PutJSON(home.KeyTrees, notes)
}

// noted lists the finished trees that are there, the published one included, and a draft that was left. A
// tree of which nothing is kept, because the database was made again, has left when the published version
// came; current says whether it is live.
func (s *SiteTrees) noted() ([]treeNote, error) {
	var kept []treeNote
	var building string
	last := record.Version{}
	live, err := s.known()
	if err != nil {
		return nil, err
	}
	err = s.DB.View(func(tx *db.Tx) error {
		kept, building = notesIn(tx), string(tx.Meta().Get(home.KeyBuild))
		last, _ = LastVersion(tx) // verify names its defect
		return nil
	})
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(s.Root.FS(), Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, disk.Err("list trees", err)
	}
	var notes []treeNote
	for _, e := range entries {
		name := e.Name()
		draft := name == nextTree
		begun := slices.Contains(strings.Fields(building), name)
		if !e.IsDir() || begun || (!draft && !isTree(name)) {
			continue
		}
		if i := slices.IndexFunc(kept, func(n treeNote) bool { return n.Name == name }); i >= 0 {
			notes = append(notes, kept[i])
			continue
		}
		n := treeNote{Name: name, Left: last.Time.UnixNano()}
		if n.Version, _ = versionOf(name); draft || name == live {
			n.Left = 0
		}
		notes = append(notes, n)
	}
	return notes, nil
}

// LastVersion is the last version that was published; the zero value without one.
func LastVersion(tx *db.Tx) (last record.Version, err error) {
	if _, v := tx.Bucket(home.Versions).Cursor().Last(); v != nil && json.Unmarshal(v, &last) != nil {
		return record.Version{}, record.ErrValue
	}
	return last, nil
}

// succeeded returns the notes after a publish was carried out. was is the tree that current pointed to
// before, as far as that is known.
func succeeded(notes []treeNote, p *record.Pending, was string, now time.Time) (after []treeNote) {
	for _, n := range notes {
		if n.Name == p.Tree {
			continue
		}
		if n.Left == 0 || n.Name == was {
			n.Left = now.UnixNano()
		}
		n.Stale = n.Stale || p.Again
		after = append(after, n)
	}
	return append(after, treeNote{Name: p.Tree, Version: p.Version.Number})
}

// doubt notes of all trees but the published one that files of them are not taken over into a later version.
func (s *SiteTrees) doubt(live string, paths []string) error {
	notes, err := s.noted()
	if err != nil {
		return err
	}
	changed := false
	for i := range notes {
		n := &notes[i]
		if n.Name == live || n.Stale {
			continue
		}
		for _, p := range paths {
			if p == phm.MetaName || p == phm.FilesName { // each tree has its own
				continue
			}
			if _, err := s.Root.Lstat(Dir + "/" + n.Name + "/" + p); err == nil {
				n.Doubt = append(n.Doubt, p)
				changed = true
			}
		}
		slices.Sort(n.Doubt)
		if n.Doubt = slices.Compact(n.Doubt); len(n.Doubt) > maxDoubt {
			n.Stale, n.Doubt = true, nil
		}
	}
	if !changed {
		return nil
	}
	return s.Update("note trees", func(tx *db.Tx) error { return putNotes(tx, notes) })
}

// linkVersions makes the links of the folder versions lead to the trees of the notes, and removes others.
func (s *SiteTrees) linkVersions(notes []treeNote) error {
	want := map[string]string{}
	for _, n := range notes { // a version that was published again has its last tree
		number := strconv.Itoa(n.Version)
		if n.Version > 0 && !n.Stale && (want[number] == "" || n.Left == 0) {
			want[number] = "../" + Dir + "/" + n.Name
		}
	}
	if err := s.Owned(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(s.Root.FS(), VersionsDir)
	if errors.Is(err, fs.ErrNotExist) {
		err = s.Root.MkdirAll(VersionsDir, 0o755)
	}
	if err != nil {
		return disk.Err("link versions", err)
	}
	for _, e := range entries {
		name := VersionsDir + "/" + e.Name()
		to, err := s.Root.Readlink(name)
		if err == nil && to == want[e.Name()] {
			delete(want, e.Name())
			continue
		}
		if want[e.Name()] != "" {
			continue // replaced by a rename
		}
		if err := s.Root.RemoveAll(name); err != nil {
			return disk.Err("link versions", err)
		}
	}
	for number, to := range want {
		if err := s.replaceLink(VersionsDir+"/"+number, to); err != nil {
			return disk.Err("link versions", err)
		}
		s.At("version linked")
	}
	return nil
}

// tidy makes the links of the folder versions agree with the trees that are there.
func (s *SiteTrees) tidy() error {
	notes, err := s.noted()
	if err != nil {
		return err
	}
	if _, err := s.Root.Lstat(VersionsDir); len(notes) == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.linkVersions(notes)
}

// LastKnown is the last version of a database, also when its publish was only decided; 0 for none.
func LastKnown(tx *db.Tx) (last int, err error) {
	if k, _ := tx.Bucket(home.Versions).Cursor().Last(); len(k) == 8 {
		last = int(binary.BigEndian.Uint64(k))
	}
	p, err := record.ReadPending(tx.Meta().Get(home.KeyPublish))
	if p != nil {
		last = max(last, p.Version.Number)
	}
	return last, err
}

// LinkedVersion is the version that the name of the published tree says; 0 when it says none.
func LinkedVersion(site *os.Root) int {
	to, err := site.Readlink(CurrentLink)
	if err != nil {
		return 0
	}
	name, _ := strings.CutPrefix(to, Dir+"/")
	version, _ := versionOf(name)
	return version
}
