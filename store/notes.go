// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/shared"
)

// SiteNotes is what the runs and checks of a site leave for the next one: the unfinished run, small facts,
// and what was found damaged.
type SiteNotes struct{ *home.Folder }

// Run returns the unfinished run, nil without one.
func (s *SiteNotes) Run() (r *record.Run, err error) {
	err = s.DB.View(func(tx *db.Tx) (err error) {
		r, err = record.ReadRun(tx.Meta().Get(home.KeyRun))
		return err
	})
	return r, err
}

// BeginRun gives a run that begins its number and keeps it as the unfinished one.
func (s *SiteNotes) BeginRun(r *record.Run) error {
	return s.Update("begin run", func(tx *db.Tx) error {
		return errors.Join(countRun(tx.Meta(), r), putRun(tx.Meta(), r))
	})
}

// CountRun gives a run a number that no other run has.
func (s *SiteNotes) CountRun(r *record.Run) error {
	return s.Update("count run", func(tx *db.Tx) error { return countRun(tx.Meta(), r) })
}

func countRun(m *db.Bucket, r *record.Run) error {
	r.Number = runsBegun(m) + 1
	return m.Put(home.KeyRuns, db.NumberKey(uint64(r.Number)))
}

func runsBegun(m *db.Bucket) int {
	n, _ := m.Number(home.KeyRuns)
	return int(n)
}

// Runs returns the number of the run that was begun last, 0 before the first.
func (s *SiteNotes) Runs() (n int, err error) {
	err = s.DB.View(func(tx *db.Tx) error {
		n = runsBegun(tx.Meta())
		return nil
	})
	return n, err
}

// SetRun stores the unfinished run; nil ends it.
func (s *SiteNotes) SetRun(r *record.Run) error {
	return s.Update("write run", func(tx *db.Tx) error { return putRun(tx.Meta(), r) })
}

func putRun(m *db.Bucket, r *record.Run) error {
	if r == nil {
		return m.Delete(home.KeyRun)
	}
	return m.PutJSON(home.KeyRun, r)
}

// Fingerprint returns the fingerprint of the rules under which all stored documents were scanned, "" on a new
// site.
func (s *SiteNotes) Fingerprint() (fp string, err error) {
	v, err := s.Meta(home.KeyRules)
	return string(v), err
}

func (s *SiteNotes) SetFingerprint(fp string) error {
	return s.SetMeta("write rules", home.KeyRules, []byte(fp))
}

// Fact returns what SetFact kept under a name, nil when there is nothing.
func (s *SiteNotes) Fact(name string) (v []byte, err error) { return s.Meta([]byte("fact/" + name)) }

// SetFact keeps a small fact about the site whose meaning the caller defines; nil removes it.
func (s *SiteNotes) SetFact(name string, v []byte) error {
	return s.SetMeta("write fact", []byte("fact/"+name), v)
}

// SetLastingFact is SetFact for a fact that a rebuilt database has too.
func (s *SiteNotes) SetLastingFact(name string, v []byte) error {
	err := s.Owned()
	if err == nil {
		err = s.Keep(home.LastingFact+name, v, true)
	}
	if err == nil {
		err = s.SetFact(name, v)
	}
	return err
}

// KeepRun keeps the record of the last run, for a mirror.db that is made again.
func (s *SiteNotes) KeepRun(r shared.RunRecord) error {
	if err := s.Owned(); err != nil {
		return err
	}
	v, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("run of %s: %w", s.Name, err)
	}
	return s.Keep(shared.LastRun, v, false)
}

// Files of a site's folder that name what Verify found damaged, a quoted line each but for URLs, which need
// no quotes. They are files because Verify has the database open for reading only.
const (
	damagedName = "damaged.urls"  // whose stored bodies are damaged
	wrongName   = "damaged.files" // paths of the published tree
)

// AllFiles among the paths of NoteWrongFiles stands for more paths than are listed.
const AllFiles = "*"

// Damaged returns the URLs whose stored bodies NoteDamaged named.
func (s *SiteNotes) Damaged() ([]string, error) { return s.namedIn(damagedName) }

// NoteDamaged keeps the URLs whose stored bodies are damaged for the next run, in place of those of the last
// call; none forgets them.
func (s *SiteNotes) NoteDamaged(urls []string) error {
	return s.nameIn(damagedName, urls, func(u string) string { return u })
}

// WrongFiles returns the paths that NoteWrongFiles named.
func (s *SiteNotes) WrongFiles() ([]string, error) { return s.namedIn(wrongName) }

// NoteWrongFiles keeps the paths of files of the published tree that are not what the file table says, or
// that it does not name, in place of those of the last call; none forgets them.
func (s *SiteNotes) NoteWrongFiles(paths []string) error {
	return s.nameIn(wrongName, paths, strconv.Quote)
}

// nameIn writes lines, sorted, each once.
func (s *SiteNotes) nameIn(file string, lines []string, as func(string) string) error {
	var b bytes.Buffer
	for _, l := range slices.Compact(slices.Sorted(slices.Values(lines))) {
		fmt.Fprintln(&b, as(l))
	}
	return disk.Err("note damage", disk.Replace(s.Root, file, b.Bytes(), 0o644, false))
}

func (s *SiteNotes) namedIn(file string) (out []string, err error) {
	b, err := s.Root.ReadFile(file)
	if err != nil {
		return nil, disk.Err("read the list of damage", disk.UnlessGone(err))
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if p, err := strconv.Unquote(line); err == nil {
			line = p
		} else if file == wrongName {
			continue
		}
		out = append(out, line)
	}
	return out, nil
}

// redoneName is the file of a site's folder with LastRedone. It is read without its database.
const redoneName = "redone.json"

// Redone is that a database was made again from its log.
type Redone struct {
	At    time.Time `json:"at"`
	Why   string    `json:"why"`             // what was wrong with it
	Aside string    `json:"aside,omitempty"` // folder of the site that has the damaged one
}

// LastRedone returns when the database of a site was last made again from its log; the zero value when it
// never was.
func LastRedone(s *State, site string) (r Redone, err error) {
	v, err := s.ReadBeside(site, redoneName)
	if json.Unmarshal(v, &r) != nil { // it tells nothing, and nothing depends on it
		r = Redone{}
	}
	return r, err
}

// NotedDamage returns what checks of a site noted for its next run, without opening its database: URLs whose
// stored bodies are damaged, and paths of published files that are wrong.
func NotedDamage(s *State, site string) (urls, files []string, err error) {
	dir, err := s.SiteRoot(site)
	if errors.Is(err, home.ErrNoSite) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	notes := SiteNotes{&home.Folder{Root: dir}}
	if urls, err = notes.Damaged(); err == nil {
		files, err = notes.WrongFiles()
	}
	return urls, files, err
}
