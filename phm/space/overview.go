// SPDX-License-Identifier: Apache-2.0

package space

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"mirrord/internal/regular"
)

// Overview is a space as it lies on the disk.
type Overview struct {
	Space   string     `json:"space"`
	Dir     string     `json:"dir"` // the files to open or serve
	Mirrors []Resident `json:"mirrors"`
	Wanted  []Count    `json:"wanted"`  // hosts of links that nothing holds, the most first
	Pages   int        `json:"pages"`   // with links to other mirrors
	Links   int        `json:"links"`   // that lead to other mirrors
	Outside int        `json:"outside"` // links to what no mirror holds, each page and URL once

	Left map[string]string `json:"left,omitempty"` // mirrors that are not up to date, with the reason
}

// Resident is a mirror of a space.
type Resident struct {
	Name    string            `json:"name"`
	Version int               `json:"version"`
	Files   int               `json:"files"`
	Pages   int               `json:"pages"`           // with links to other mirrors
	To      []Count           `json:"to"`              // files of other mirrors that its pages lead to, by mirror
	Stale   map[string]string `json:"stale,omitempty"` // pages that could not be made again: the reason
	Kept    []string          `json:"kept,omitempty"`  // files that left, and to which stale pages lead
	Last    []LastCopy        `json:"last,omitempty"`  // of URLs that its site no longer has
	Gone    bool              `json:"gone,omitempty"`
}

// look reads a space for looking at it, until done is called.
func look(state, name string) (u *update, done func(), err error) {
	root, err := regular.OpenRoot(state)
	if err != nil {
		return nil, nil, err
	}
	d := &disk{root: root, name: name}
	if _, err := root.Stat(d.at(filesFolder)); err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	u = &update{disk: d, mirrors: mirrorSet{}, half: map[string]bool{}}
	done = func() {
		u.mirrors.close()
		root.Close() // read only: nothing can be lost
	}
	data, err := root.ReadFile(d.at(seedName), mostRead)
	u.seed = seedOf(data)
	var names []string
	if err == nil {
		names, err = d.names(notesFolder, ".json")
	}
	for _, n := range names {
		if err != nil {
			break
		}
		var m *mirror
		if m, err = d.load(n); err == nil {
			u.mirrors[n] = m
		}
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return u, done, nil
}

// Look describes a space; most bounds how many hosts are listed, and with 0 no link to what no mirror holds
// is counted. fs.ErrNotExist reports that it is missing.
func Look(state, name string, most int) (*Overview, error) {
	u, done, err := look(state, name)
	if err != nil {
		return nil, fmt.Errorf("space %s: %w", name, err)
	}
	defer done()
	o := &Overview{
		Space:   name,
		Dir:     FilesDir(name),
		Mirrors: []Resident{},
		Wanted:  []Count{},
	}
	if _, err := u.readJSON(u.at(leftName), &o.Left); err != nil {
		return nil, err
	}
	wanted := map[string]int{}
	for _, m := range u.mirrors.sorted() {
		pages, err := u.pagesOf(m)
		if err != nil {
			return nil, err
		}
		row := Resident{
			Name:    m.Name,
			Version: m.Version,
			Files:   m.Files,
			Pages:   len(pages),
			To:      []Count{},
			Stale:   m.Stale,
			Kept:    m.Kept,
			Last:    m.Last,
			Gone:    m.Gone,
		}
		to := map[string]int{}
		for _, p := range pages {
			o.Links += p.Links
			for _, t := range p.To {
				to[t.Mirror]++
			}
		}
		for n, links := range to {
			row.To = append(row.To, Count{n, links})
		}
		slices.SortFunc(row.To, mostFirst)
		o.Pages += row.Pages
		o.Mirrors = append(o.Mirrors, row)
		if most > 0 {
			u.mirrors.countWanted(m, wanted)
		}
	}
	for host, links := range wanted {
		o.Outside += links
		o.Wanted = append(o.Wanted, Count{host, links})
	}
	slices.SortFunc(o.Wanted, mostFirst)
	o.Wanted = o.Wanted[:min(most, len(o.Wanted))]
	return o, nil
}

// Lead says where a link of a mirror's page to a URL leads in a space.
type Lead struct {
	Space  string   `json:"space"`
	Leads  string   `json:"leads,omitempty"` // path below the space's files; "" to the origin, or when Own is set
	Why    string   `json:"why"`
	Others []string `json:"others,omitempty"` // mirrors that hold the URL too
	Own    bool     `json:"own,omitempty"`    // the mirror of the page holds it itself
}

// Explain says where a link from a page of a mirror to a URL of another site leads, and why.
func Explain(state, name, from, url string) (*Lead, error) {
	u, done, err := look(state, name)
	if err != nil {
		return nil, fmt.Errorf("space %s: %w", name, err)
	}
	defer done()
	h := &Lead{Space: name}
	to, ok, err := u.mirrors.resolve(u.seed, from, url, false)
	if err != nil {
		return nil, err
	}
	holders := 0
	for _, m := range u.mirrors.sorted() {
		if _, holds := m.held.find(u.seed.of(url)); holds && m.lastOf(url).URL == "" {
			holders++
			if m.Name != to.Mirror && m.Name != from {
				h.Others = append(h.Others, m.Name)
			}
		}
	}
	switch {
	case ok && isLast(to.Path):
		h.Why = fmt.Sprintf("its site no longer has it: it is the last copy, of version %d of mirror %s",
			u.mirrors[to.Mirror].lastOf(url).Version, to.Mirror)
	case ok && holders == 1:
		h.Why = "mirror " + to.Mirror + " holds it"
	case ok:
		h.Why = "of the mirrors that hold it, the scope of " + to.Mirror +
			" is the narrowest, or its name the first"
	case holders == 0:
		h.Why = "no mirror of the space holds it"
	default:
		h.Own, h.Why = true, "this mirror holds it itself"
	}
	if ok {
		h.Leads = MirrorFolder(to.Mirror) + "/" + to.Path
	}
	return h, nil
}

// Verify returns the errors of a space: files that are missing or have other bytes, pages that link to
// missing files; with the name of a mirror only those of its files, and of the links that lead from it to
// others. The spaces of a state are made of its mirrors, which are verified by themselves.
func Verify(state, name, mirror string) (findings []Discrepancy, err error) {
	u, done, err := look(state, name)
	if err != nil {
		return nil, fmt.Errorf("space %s: %w", name, err)
	}
	defer done()
	if _, err := u.root.Lstat(u.at(todoName)); err == nil && mirror == "" {
		findings = append(findings, Discrepancy{What: "it was being updated"})
	}
	for _, m := range u.mirrors.sorted() {
		if mirror != "" && m.Name != mirror {
			continue
		}
		found, err := u.verify(m)
		if err != nil {
			return nil, err
		}
		findings = append(findings, found...)
	}
	return findings, nil
}

// Discrepancy is something that is wrong with a space.
type Discrepancy struct {
	Mirror string `json:"mirror,omitempty"` // "" of the space itself
	Path   string `json:"path,omitempty"`
	What   string `json:"what"`
}

func (u *update) verify(m *mirror) (findings []Discrepancy, err error) {
	say := func(p, what string) { findings = append(findings, Discrepancy{m.Name, p, what}) }
	pages, err := u.pagesOf(m)
	if err != nil {
		return nil, err
	}
	for f, err := range m.files() {
		if err != nil {
			return nil, err
		}
		want := f.SHA256
		if p := pages[f.Path]; p != nil {
			want = p.SHA256
		}
		if what, err := wrong(u.root, u.file(m.Name, f.Path), want); err != nil {
			return nil, err
		} else if what != "" {
			say(f.Path, what)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(pages)) {
		for _, to := range pages[p].missing(u.root, u.at(filesFolder)) {
			say(p, to)
		}
	}
	return findings, nil
}

// wrong says how a file differs from its digest, "" when it does not.
func wrong(root regular.Root, name, digest string) (what string, err error) {
	fi, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it is missing", nil
	case err != nil:
		return "", err
	case !fi.Mode().IsRegular():
		return "it is no file", nil
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err = io.Copy(h, f); err == nil && hex.EncodeToString(h.Sum(nil)) != digest {
		what = "it has other bytes"
	}
	return what, err
}

// missing says which targets of the page are not among the files of a space.
func (p *Page) missing(root regular.Root, files string) (says []string) {
	for _, t := range p.To {
		to := path.Join(MirrorFolder(t.Mirror), t.Path)
		if fi, err := root.Lstat(path.Join(files, to)); err != nil || !fi.Mode().IsRegular() {
			says = append(says, "links to "+to+", which is missing")
		}
	}
	return says
}
