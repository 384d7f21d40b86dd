// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"mirrord/internal/dbpages"
	"mirrord/store/away"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// HooksFact is the name of the fact that a Glance has: what the hooks of the job came to.
const HooksFact = "hooks"

// Glance is what lists show of the database of a site.
type Glance struct {
	Version    record.Version `json:"version"`             // the last one, without its Meta; Number 0: no version
	Publishing bool           `json:"publishing,omitzero"` // a publish was decided and is not carried out yet
	Rebuilt    time.Time      `json:"rebuilt,omitzero"`    // when Rebuild made the database
	Hooks      []byte         `json:"hooks,omitempty"`     // HooksFact
	Unfinished record.Run     `json:"unfinished,omitzero"` // see SiteNotes.Run
	Busy       bool           `json:"-"`                   // a process has the site open for writing
}

// glanceFile is what GlanceFile has. The file is not synced, and says itself of which commit it is: one that
// does not fit the database is not used.
type glanceFile struct {
	Glance
	Format  int       `json:"format"`           // FormatVersion of the program that wrote it
	Open    bool      `json:"open,omitempty"`   // its writer has the site open, and keeps the file up to date
	Tx      uint64    `json:"tx,omitempty"`     // the last transaction, when the writer closed the site
	Size    int64     `json:"size,omitempty"`   // of the database then, in bytes
	Changed time.Time `json:"changed,omitzero"` // when the database was written last
}

// GlanceAt returns what lists show of a site, as of its last commit. It reads the file that the last writer
// has left. Without one that fits the database, as after a crash or a change by hand, it opens a
// view; the errors are those of ViewSite.
func GlanceAt(s *State, name string) (*Glance, error) {
	if g := readGlance(s, name); g != nil {
		return g, nil
	}
	v, err := s.ViewSite(name)
	if err != nil {
		return nil, err
	}
	busy := v.DB.Busy
	g, err := look(v.Folder)
	if err = errors.Join(err, v.Close()); err == nil && g == nil {
		err = errRebuilding
	}
	if err != nil {
		return nil, err
	}
	g.Busy = busy
	return g, nil
}

// readGlance returns what the file of a site has, nil when it cannot be relied on.
func readGlance(s *State, name string) *Glance {
	root, err := s.SiteRoot(name)
	if err != nil {
		return nil
	}
	defer root.Close()
	var g glanceFile
	v, err := root.ReadFile(home.GlanceFile)
	if err != nil || json.Unmarshal(v, &g) != nil || g.Format != db.FormatVersion {
		return nil
	}
	_, err = root.Stat("packs")
	if err != nil || trees.LinkedVersion(root) > g.Version.Number {
		return nil
	}
	f, err := root.Open(home.SiteDB)
	if err != nil {
		return nil
	}
	defer f.Close()
	if g.Busy = db.IsWritten(root); (g.Busy && !g.Open) || (!g.Busy && !g.fits(f)) {
		return nil
	}
	return &g.Glance
}

// fits reports whether a database is as its last writer has left it.
func (g *glanceFile) fits(f *os.File) bool {
	head, err := dbpages.ReadCommit(f)
	fi, serr := f.Stat()
	return err == nil && serr == nil && head.Tx == g.Tx && fi.Size() == g.Size && fi.ModTime().Equal(g.Changed)
}

// look reads what lists show from the database. It is nil while a rebuild has not finished.
func look(s *home.Folder) (g *Glance, err error) {
	err = s.DB.View(func(tx *db.Tx) error {
		p, err := record.ReadPending(tx.Meta().Get(home.KeyPublish))
		if err != nil {
			return err
		}
		g = &Glance{Publishing: p != nil}
		m := tx.Meta()
		if at, ok := m.Number(home.KeyRebuilt); ok {
			if at == 0 {
				g = nil
				return nil
			}
			g.Rebuilt = time.Unix(int64(at), 0)
		}
		g.Hooks = append(g.Hooks, m.Get([]byte("fact/"+HooksFact))...)
		_ = json.Unmarshal(m.Get(home.KeyRun), &g.Unfinished) // an error is for the next run to tell
		if p != nil {
			g.Version = p.Version
			return nil
		}
		g.Version, err = trees.LastVersion(tx)
		return err
	})
	if g != nil {
		g.Version.Meta = nil
	}
	return g, err
}

// glancer keeps the file with the Glance of a site that is open for writing.
type glancer struct {
	mu  sync.Mutex // holds has, and the file
	has string     // what the file has
}

// note keeps the file up to date: after each commit that may have changed what it has, and when the
// site is closed. One that cannot be written is removed: a reader opens a view then.
func (g *glancer) note(s *home.Folder, open bool) {
	if s.Volatile || s.Owned() != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.write(s, open) != nil {
		g.has = ""
		// on a disk that cannot be written at all nothing else was committed
		_ = disk.RemoveIn(s.Root, home.GlanceFile)
	}
}

// write writes the file, unless it is as it was.
func (g *glancer) write(s *home.Folder, open bool) error {
	now, err := look(s)
	if err != nil || now == nil {
		return errors.Join(err, fs.ErrNotExist)
	}
	out := glanceFile{Glance: *now, Format: db.FormatVersion, Open: open}
	if !open {
		head, err := dbpages.ReadCommit(s.DB.File)
		fi, serr := s.DB.File.Stat()
		if err = errors.Join(err, serr); err != nil {
			return err
		}
		out.Tx, out.Size, out.Changed = head.Tx, fi.Size(), fi.ModTime()
	}
	v, err := json.Marshal(&out)
	if err != nil || string(v) == g.has {
		return err
	}
	if err := disk.Replace(s.Root, home.GlanceFile, v, s.DB.Mode, false); err != nil {
		return err
	}
	g.has = string(v)
	return nil
}

// Sizes is what a site takes on the disk, in bytes.
type Sizes struct {
	At        time.Time `json:"at"`        // when it was measured
	Bodies    int64     `json:"bodies"`    // published as they came; those that sites share count for each
	Documents int64     `json:"documents"` // packs with all versions of documents, heads, beginnings of files
	Trees     int64     `json:"trees"`     // files of the published version that are no bodies
	Database  int64     `json:"database"`  // with its log
}

// Total is all of it.
func (z *Sizes) Total() int64 { return z.Bodies + z.Documents + z.Trees + z.Database }

// Measure finds out what a site takes. It reads all records, and looks at no file of the trees: what the next
// tree has of its own is not counted.
func Measure(s *Site) (z Sizes, err error) {
	defer disk.Explain(&err, "measure site %s", s.Name)
	z.At = s.Now().UTC()
	seen := map[uint64]bool{} // eight bytes of a digest are enough
	err = s.Records.Bodied(context.Background(), func(r *record.Resource, _ bool) error {
		key := binary.BigEndian.Uint64(r.Digest[:])
		if r.Body == record.BlobBody && !seen[key] {
			seen[key] = true
			if !s.Away.HasOnly(r.Digest, s.Kept) {
				z.Bodies += r.Size
			}
		}
		return nil
	})
	if err != nil {
		return z, err
	}
	if z.Trees, err = publishedDocuments(s); err != nil {
		return z, err
	}
	for _, dir := range []string{".", "packs", blobs.PartsDir, log.Folder} {
		if err := z.addFiles(s.Root, dir, s.Away); err != nil {
			return z, disk.Err("list files", err)
		}
	}
	return z, nil
}

// publishedDocuments is how many bytes the published version has in files that are no stored bodies.
func publishedDocuments(s *Site) (sum int64, err error) {
	v, err := s.Versions.Last()
	if err != nil || v.Number == 0 {
		return 0, err
	}
	sum = v.Bytes
	err = s.Records.Resources(func(r *record.Resource) error {
		if r.InSet && r.Body == record.BlobBody {
			sum -= r.Size
		}
		return nil
	})
	return max(sum, 0), err
}

// addFiles adds the files of a folder of the site, but not those below it. Packs of which parts lie in a
// depot have holes.
func (z *Sizes) addFiles(root *os.Root, dir string, away *away.Site) error {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return disk.UnlessGone(err)
	}
	for _, e := range entries {
		fi, err := e.Info()
		switch {
		case err != nil:
			err = disk.UnlessGone(err)
		case !fi.Mode().IsRegular():
		case strings.HasPrefix(e.Name(), home.SiteDB), dir == log.Folder:
			z.Database += onDisk(fi)
		case away.Lists(disk.NumberOf(e.Name(), bodies.PackName)):
			z.Documents += onDisk(fi)
		default:
			z.Documents += fi.Size()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onDisk is what a file takes: a database grows by pages that are not written yet.
func onDisk(fi os.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return min(fi.Size(), int64(st.Blocks)*512)
	}
	return fi.Size()
}
