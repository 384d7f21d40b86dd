// SPDX-License-Identifier: Apache-2.0

// Package profile knows programs that make sites: wikis, forums, blogs, code browsers. Of each it has the
// signs in its pages, and which of the many addresses of one text a mirror wants.
//
// A profile is a TOML file. Those in programs are part of mirrord; others are in profiles.d, beside the
// directory of jobs. A file of the same name replaces one of these. docs/living.md describes them for users.
package profile

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"mirrord/site"
)

// Suffix ends the name of the file of a profile.
const Suffix = ".toml"

// What a job may say in place of a name.
const (
	Auto = "auto" // those of the programs that the pages show
	None = "none"
)

// Profile describes a program. It is immutable and safe for concurrent use.
type Profile struct {
	Name   string
	Digest string // of its file, 16 hexadecimal digits
	Signs  Signs
	About  string // the programs that it is for
	Noise  []Between

	wanted, left, edits []pattern
	same                []string
	lists               []*ChangeList
}

// Signs are those of the pages of a program; one is enough.
type Signs struct {
	Generator []string // what the content of the generator meta begins with
	Cookie    []string // what the name of a cookie begins with
	Markup    []string // in a tag or a comment of a page that names no generator
}

// Between is what stands between two texts of a page.
type Between struct{ Before, After string }

// leastBefore is how many bytes the first of these texts has at least.
const leastBefore = 3

// file is a profile as it is written.
type file struct {
	About     string   `toml:"about"`
	Generator []string `toml:"generator"`
	Cookie    []string `toml:"cookie"`
	Markup    []string `toml:"markup"`
	Wanted    []string `toml:"wanted"`
	Left      []string `toml:"left"`
	Same      []string `toml:"same"`
	Edits     []string `toml:"edits"`
	Noise     []string `toml:"noise"`

	Lists []*ChangeList `toml:"list"`
}

// pattern is a glob of URLs, or a parameter of the query: ?name, or ?name=value, in which * stands for any
// text at the end.
type pattern struct {
	text        string
	glob        *site.Glob // nil: a parameter
	name, value string
	valued      bool
	more        bool // the value may be longer
}

// Parse reads the file of a profile. The error names what cannot be used.
func Parse(name string, text []byte) (*Profile, error) {
	var f file
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) && len(strict.Errors) > 0 {
			err = fmt.Errorf("%s is not known here", strings.Join(strict.Errors[0].Key(), "."))
		}
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	sum := sha256.Sum256(text)
	p := &Profile{
		Name:   name,
		Digest: hex.EncodeToString(sum[:8]),
		About:  f.About,
		Signs:  Signs{f.Generator, f.Cookie, f.Markup},
		same:   f.Same,
	}
	var errs []error
	for _, l := range []struct {
		key  string
		from []string
		to   *[]pattern
	}{{"wanted", f.Wanted, &p.wanted}, {"left", f.Left, &p.left}, {"edits", f.Edits, &p.edits}} {
		for _, text := range l.from {
			x, err := compile(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("profile %s: %s: %w", name, l.key, err))
			}
			*l.to = append(*l.to, x)
		}
	}
	for _, line := range f.Noise {
		before, after, _ := strings.Cut(line, "#")
		if len(before) < leastBefore || after == "" || strings.Contains(after, "#") {
			const what = "profile %s: noise: %q: want a text of %d bytes, #, and a text"
			errs = append(errs, fmt.Errorf(what, name, line, leastBefore))
		}
		p.Noise = append(p.Noise, Between{before, after})
	}
	p.lists = f.Lists
	for _, l := range p.lists {
		if err := l.compile(); err != nil {
			errs = append(errs, fmt.Errorf("profile %s: list: %w", name, err))
		}
	}
	if name == Auto || name == None {
		errs = append(errs, fmt.Errorf("profile %s: the name has a meaning of its own", name))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

func compile(text string) (p pattern, err error) {
	p.text = text
	pair, isParam := strings.CutPrefix(text, "?")
	if !isParam {
		p.glob, err = site.CompileGlob(text)
		return p, err
	}
	p.name, p.value, p.valued = strings.Cut(pair, "=")
	p.value, p.more = strings.CutSuffix(p.value, "*")
	if p.name == "" {
		return p, fmt.Errorf("%q: a parameter has a name", text)
	}
	return p, nil
}

func (p *pattern) match(u site.URL) bool {
	if p.glob != nil {
		return p.glob.Match(u)
	}
	query, _ := u.Query()
	for pair := range site.Params(query) {
		name, value, _ := strings.Cut(pair, "=")
		if name != p.name {
			continue
		}
		if !p.valued || value == p.value || (p.more && strings.HasPrefix(value, p.value)) {
			return true
		}
	}
	return false
}

// first returns the first pattern that matches, as it is written; "" for none.
func first(ps []pattern, u site.URL) string {
	for i := range ps {
		if ps[i].match(u) {
			return ps[i].text
		}
	}
	return ""
}

// Wants reports whether the profile wants a URL.
func (p *Profile) Wants(u site.URL) bool { return p.IsEdits(u) || first(p.wanted, u) != "" }

// Leaves returns the line by which the profile leaves a URL to the origin, "" for one that it does not leave.
// The wanted wins, but a path that is wanted is not so with each parameter.
func (p *Profile) Leaves(u site.URL) string {
	line := first(p.left, u)
	if line == "" || p.ListAt(u) != nil {
		return ""
	}
	wins := func(w pattern) bool { return (w.hasQuery() || line[0] != '?') && w.match(u) }
	if slices.ContainsFunc(p.wanted, wins) || slices.ContainsFunc(p.edits, wins) {
		return ""
	}
	return line
}

// hasQuery reports whether a pattern looks at the query.
func (p *pattern) hasQuery() bool { return p.glob == nil || strings.Contains(p.text, `\?`) }

// Fold returns a URL without the parameters that do not matter, and whether it had any.
func (p *Profile) Fold(u site.URL) (site.URL, bool) { return site.StripParams(u, p.same) }

// HasEdits reports whether the program has lists of changes.
func (p *Profile) HasEdits() bool { return len(p.edits)+len(p.lists) > 0 }

// IsEdits reports whether a URL is a list of changes, which shows what was edited.
func (p *Profile) IsEdits(u site.URL) bool { return first(p.edits, u) != "" || p.ListAt(u) != nil }

// ListAt returns the list in JSON of which a URL may be the address, nil for none.
func (p *Profile) ListAt(u site.URL) *ChangeList {
	for _, l := range p.lists {
		if strings.HasSuffix(u.String(), l.end) {
			return l
		}
	}
	return nil
}

// ListsBeside returns the addresses of lists in JSON that a URL shows: one that a page names, or an entry
// point.
func (p *Profile) ListsBeside(u site.URL, entry bool) (lists []site.URL) {
	for _, l := range p.lists {
		if at, ok := l.at(u, entry); ok {
			lists = append(lists, at)
		}
	}
	return lists
}

// Catalog is the profiles that are known, by name. It is immutable and safe for concurrent use.
type Catalog struct{ all []*Profile }

//go:embed programs
var programs embed.FS

var known = sync.OnceValue(func() *Catalog {
	files, err := fs.Sub(programs, "programs")
	if err != nil {
		panic(err)
	}
	s, errs := new(Catalog).With(files)
	if len(errs) > 0 {
		panic(errors.Join(errs...))
	}
	return s
})

// Known returns the profiles that are part of mirrord.
func Known() *Catalog { return known() }

// maxFile bounds the file of a profile, in bytes.
const maxFile = 64 << 10

// With returns the profiles with those of a directory, which take the place of those of their names. What
// cannot be read is left out, with an error each.
func (s *Catalog) With(dir fs.FS) (*Catalog, []error) {
	out, errs := &Catalog{all: slices.Clone(s.all)}, []error(nil)
	names, err := fs.Glob(dir, "*"+Suffix)
	if err != nil {
		return out, []error{err}
	}
	for _, n := range names {
		name := strings.TrimSuffix(path.Base(n), Suffix)
		p, err := readOne(dir, n, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if i := slices.IndexFunc(out.all, func(o *Profile) bool { return o.Name == name }); i >= 0 {
			out.all[i] = p
		} else {
			out.all = append(out.all, p)
		}
	}
	slices.SortFunc(out.all, func(a, b *Profile) int { return strings.Compare(a.Name, b.Name) })
	return out, errs
}

func readOne(dir fs.FS, file, name string) (*Profile, error) {
	fi, err := fs.Stat(dir, file)
	if err == nil && (!fi.Mode().IsRegular() || fi.Size() > maxFile) {
		err = fmt.Errorf("profile %s: want an ordinary file of at most %d bytes", name, maxFile)
	}
	if err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(dir, file)
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

// All returns the profiles in the order of their names.
func (s *Catalog) All() []*Profile { return s.all }

// Same reports whether two sets have the same profiles.
func (s *Catalog) Same(o *Catalog) bool {
	return slices.EqualFunc(s.all, o.all, func(a, b *Profile) bool {
		return a.Name == b.Name && a.Digest == b.Digest
	})
}

// Find returns the profile of a name, nil without one.
func (s *Catalog) Find(name string) *Profile {
	for _, p := range s.all {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// lookedAt is how much of a page is looked at for signs of its program, in bytes.
const lookedAt = 128 << 10

// Tell returns the profile of the program that made a page, nil for none that is known. cookies are the names
// of those that it sets, in lower case.
func (s *Catalog) Tell(page []byte, cookies []string) *Profile {
	page = page[:min(len(page), lookedAt)]
	made := generators(page)
	for _, p := range s.all {
		if p.Signs.in(made, page, cookies) {
			return p
		}
	}
	return nil
}

func (t *Signs) in(generators []string, page []byte, cookies []string) bool {
	return beginsAny(generators, t.Generator) || beginsAny(cookies, t.Cookie) ||
		(len(generators) == 0 && slices.ContainsFunc(t.Markup, func(m string) bool { return hasMarkup(page, m) }))
}

// hasMarkup reports whether a tag or a comment of a page has a sign. A text that only speaks of a program is
// no sign of it.
func hasMarkup(page []byte, sign string) bool {
	for at := 0; ; at++ {
		n := bytes.Index(page[at:], []byte(sign))
		if n < 0 {
			return false
		}
		at += n
		before := page[:at]
		if sign[0] == '<' || bytes.LastIndexByte(before, '<') > bytes.LastIndexByte(before, '>') {
			return true
		}
	}
}

// beginsAny reports whether one of the texts begins with one of the signs.
func beginsAny(texts, signs []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(signs, func(sign string) bool { return strings.HasPrefix(text, sign) })
	})
}
