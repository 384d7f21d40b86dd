// SPDX-License-Identifier: Apache-2.0

package space

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"mirrord/internal/regular"
	"mirrord/phm"
)

// Folder is the folder of the spaces in a state.
const Folder = "spaces"

// Names in the folder of a space.
const (
	lockName  = "lock"
	againName = "again"
	todoName  = "todo"
	leftName  = "left"
	allName   = "all"
	seedName  = "seed"
	asideName = "aside" // temporary name during a write

	filesFolder  = "files"
	notesFolder  = "mirrors"
	bodiesFolder = "pages"

	indexName = "index.html" // of the files

	pagesSuffix = ".pages"
)

// FilesDir is what of a space is opened or served, below the state.
func FilesDir(name string) string { return path.Join(Folder, name, filesFolder) }

// note is the record of a mirror of the space.
type note struct {
	Name    string   `json:"name"`
	Version int      `json:"version"`
	Table   string   `json:"table"` // digest of the phm.files
	Entry   string   `json:"entry"`
	Title   string   `json:"title,omitempty"`
	Places  []string `json:"places"` // see narrowness
	Files   int      `json:"files"`

	// Parts are the fragments that redirects name, by the URL of the first of the chain.
	Parts map[string]string `json:"parts,omitempty"`

	Repair bool       `json:"repair,omitempty"`
	Asked  bool       `json:"asked,omitempty"`  // Broken and Last are known
	Broken []byte     `json:"broken,omitempty"` // hashes of the URLs that its site no longer has
	Last   []LastCopy `json:"last,omitempty"`   // by URL

	// Stale are the pages that could not be made again, with the reason. What they lead to stays.
	Stale map[string]string `json:"stale,omitempty"`
	// Kept are the files that have left the mirror, and to which pages lead that could not be made again.
	Kept []string `json:"kept,omitempty"`
	Gone bool     `json:"gone,omitempty"` // all have
	// Struck says that those that are kept are pages that say that the mirror was removed.
	Struck bool `json:"struck,omitempty"`
}

// Page is a page of a mirror with links that lead to other mirrors: the space has another file than the
// mirror.
type Page struct {
	Path   string    `json:"path"`
	From   string    `json:"from"` // SHA-256 of the published file
	SHA256 string    `json:"sha256"`
	Size   int64     `json:"size"`
	Links  int       `json:"links"` // that lead to other mirrors
	To     []Landing `json:"to"`    // the files that they lead to
}

// mirror is a mirror of the space, as it lies there.
type mirror struct {
	note
	held  heldIndex
	links linkIndex
	table mapped // its phm.files

	before  *mirror          // what it was before it left, while that is known
	pages   map[string]*Page // nil: not read yet
	written bool             // pages differs from the file
}

func (m *mirror) close() {
	m.held.close()
	m.links.close()
	m.table.close()
}

// mostRead is how many bytes a file has at most that is read whole: more than any that a space makes.
const mostRead = 1 << 40

// disk is a space on the disk. All names are below the state, so that files can be linked from one folder
// of it to another.
type disk struct {
	root regular.Root // the state
	name string       // of the space
}

func (d *disk) at(names ...string) string {
	return path.Join(Folder, d.name, path.Join(names...))
}

func (d *disk) note(mirror, suffix string) string { return d.at(notesFolder, mirror+suffix) }

func (d *disk) file(mirror, p string) string { return d.at(filesFolder, MirrorFolder(mirror), p) }

func (d *disk) body(mirror, digest string) string { return d.at(bodiesFolder, mirror, digest) }

// write replaces a file at once.
func (d *disk) write(name string, data []byte) error {
	if err := d.root.WriteFile(d.at(asideName), data, 0o644); err != nil {
		return err
	}
	return d.move(name)
}

// move gives what was written aside its name.
func (d *disk) move(name string) error {
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := d.root.Rename(d.at(asideName), name); err != nil {
		return err
	}
	return d.clearAside() // of two names of one file rename leaves both
}

func (d *disk) clearAside() error { return gone(d.root.Remove(d.at(asideName))) }

// gone is nil for the error that a file is missing, or that a parent is a file by now.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

// link makes name another name of the file from, at once; where that cannot be, a copy of it.
func (d *disk) link(from, name string) error {
	a, err := d.root.Lstat(from)
	if err != nil {
		return err
	}
	if b, err := d.root.Lstat(name); err == nil && os.SameFile(a, b) {
		return nil
	}
	if err := d.clearAside(); err != nil {
		return err
	}
	if err := d.root.Link(from, d.at(asideName)); err != nil { // too many links, or another file system
		data, rerr := d.root.ReadFile(from, mostRead)
		if rerr != nil {
			return errors.Join(err, rerr)
		}
		return d.write(name, data)
	}
	return d.move(name)
}

// remove removes a file, and the folders above it that are empty then.
func (d *disk) remove(name string) error {
	if err := gone(d.root.Remove(name)); err != nil {
		return err
	}
	for p := path.Dir(name); len(p) > len(d.at(filesFolder)); p = path.Dir(p) {
		fi, err := d.root.Lstat(p)
		if err != nil || !fi.IsDir() || d.root.Remove(p) != nil { // it is a file by now, or not empty
			return nil
		}
	}
	return nil
}

// names lists the names in a folder of the space with a suffix, without it.
func (d *disk) names(folder, suffix string) (names []string, err error) {
	f, err := d.root.Open(d.at(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Readdirnames(-1)
	for _, n := range all {
		if n, ok := strings.CutSuffix(n, suffix); ok {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names, err
}

// readJSON reads a value; false: missing.
func (d *disk) readJSON(name string, v any) (bool, error) {
	data, err := d.root.ReadFile(name, mostRead)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("%s: %w: %w", name, errIndex, err)
	}
	return true, nil
}

func (d *disk) writeJSON(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return d.write(name, data)
}

// load opens the records of a mirror; an unknown one is empty.
func (d *disk) load(name string) (m *mirror, err error) {
	m = &mirror{note: note{Name: name}}
	if _, err = d.readJSON(d.note(name, ".json"), &m.note); err == nil {
		m.held, err = openHeld(d.root, d.note(name, ".held"))
	}
	if err == nil {
		m.links, err = openLinks(d.root, d.note(name, ".links"))
	}
	if err == nil {
		m.table, err = openMapped(d.root, d.note(name, ".files"), "")
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// dropped returns the day since when nothing of a mirror may stay in the space, "" when it may.
func (d *disk) dropped(m *mirror) (string, error) {
	if !m.Gone {
		return "", nil
	}
	data, err := d.root.ReadFile(d.note(m.Name, dropSuffix), mostRead)
	if err != nil {
		return "", gone(err)
	}
	return cmp.Or(strings.TrimSpace(string(data)), "a day that is not known"), nil
}

// readPages reads the pages of a mirror of which the space has files of its own, by path.
func (d *disk) readPages(mirror string) (map[string]*Page, error) {
	pages := map[string]*Page{}
	f, err := d.root.Open(d.note(mirror, pagesSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return pages, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	for dec := json.NewDecoder(bufio.NewReader(f)); dec.More(); {
		p := new(Page)
		if err := dec.Decode(p); err != nil {
			return nil, fmt.Errorf("pages of %s: %w: %w", mirror, errIndex, err)
		}
		pages[p.Path] = p
	}
	return pages, nil
}

func (d *disk) writePages(mirror string, pages map[string]*Page) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, p := range slices.Sorted(maps.Keys(pages)) {
		if err := enc.Encode(pages[p]); err != nil {
			return err
		}
	}
	return d.write(d.note(mirror, pagesSuffix), b.Bytes())
}

// sweepBodies removes the bodies of pages of which the space no longer has files of its own.
func (d *disk) sweepBodies(mirror string, pages map[string]*Page) error {
	used := map[string]bool{}
	for _, p := range pages {
		used[p.From], used[p.SHA256] = true, true
	}
	names, err := d.names(path.Join(bodiesFolder, mirror), "")
	for _, n := range names {
		if !used[n] {
			err = errors.Join(err, gone(d.root.Remove(d.body(mirror, n))))
		}
	}
	return err
}

// lineAt reads the line of a mirror's table that begins at a place.
func (m *mirror) lineAt(at int64) (*phm.File, error) {
	if at < 0 || at >= int64(len(m.table.data)) {
		return nil, fmt.Errorf("table of %s: %w", m.Name, errIndex)
	}
	line, _, _ := bytes.Cut(m.table.data[at:], []byte("\n"))
	f := new(phm.File)
	err := json.Unmarshal(line, f)
	if err == nil && bytes.Contains(line, []byte(`"`+repairField+`"`)) {
		err = json.Unmarshal(line, &f.Extra)
	}
	if err != nil {
		return nil, fmt.Errorf("table of %s: %w: %w", m.Name, errIndex, err)
	}
	return f, nil
}

func byName(a, b *mirror) int { return cmp.Compare(a.Name, b.Name) }
