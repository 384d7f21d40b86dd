// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"mirrord/site/profile"
)

// MaxFile is the size in bytes beyond which a job file is refused.
const MaxFile = 1 << 20

// Parse reads the job file data. name is the job's name, filename what messages call the file. The error is
// of type Errors and lists everything that is wrong; only a syntax error hides what comes after it.
func Parse(name, filename string, data []byte) (*Job, error) {
	return ParseWith(nil, name, filename, data)
}

// ParseWith is Parse for a job of a machine that has these profiles; nil: which ones it has is not known.
func ParseWith(profiles *profile.Catalog, name, filename string, data []byte) (*Job, error) {
	j := Default()
	j.Name, j.File, j.Profiles = name, filename, profiles
	p := newParser(j, filename, everyKey())
	if !ValidName(name) {
		p.report(place{1, 1}, problemf("rename the file: a-z 0-9 . _ - and at most 64 characters, starting with a "+
			"letter or digit, without '..'", "%q cannot name a job", name))
	}
	doc, ok := p.document(data)
	if !ok {
		return nil, p.errs.asError()
	}
	p.table("", doc)
	p.validate()
	if err := p.errs.asError(); err != nil {
		return nil, err
	}
	p.doubts()
	return j, nil
}

// ReadKeys reads a file of keys that is no job file, by the rules and with the messages of job files: each
// value goes where To says. The error is of type Errors.
func ReadKeys(filename string, data []byte, keys []Key) error {
	p := newParser(nil, filename, keys)
	if doc, ok := p.document(data); ok {
		p.table("", doc)
		p.validate()
	}
	return p.errs.asError()
}

// document decodes a file and finds the places of its keys. Without ok nothing can be read of it.
func (p *parser) document(data []byte) (doc map[string]any, ok bool) {
	if len(data) > MaxFile {
		p.report(place{1, 1},
			problemf("", "file has %d bytes; %s has at most %d", len(data), p.noun(), MaxFile))
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // a byte order mark, as editors of Windows write it
	if at, err := checkText(data); err != nil {
		p.report(at, err)
		return nil, false
	}
	whole := data
	if at, ok := crowded(data); ok {
		data = data[:at.start]
		p.report(at.place, problemf(p.noun()+" has few keys; is this another file?",
			"more than %d keys and tables; what follows is not read", maxKeys))
	}
	if err := toml.Unmarshal(data, &doc); err != nil {
		p.syntax(err, whole)
		return nil, false
	}
	p.places = findPlaces(data)
	return doc, true
}

// noun is what messages call the file.
func (p *parser) noun() string {
	if p.job == nil {
		return "such a file"
	}
	return "a job file"
}

// tables returns the tables of the file.
func (p *parser) tables() []string {
	return slices.DeleteFunc(tablesOf(p.keys), func(t string) bool { return t == "" })
}

// Validate checks everything that Parse checks; the error is of type Errors. It is for a job that was built
// by hand or changed by Set.
func (j *Job) Validate() error {
	p := newParser(j, j.File, everyKey())
	p.validate()
	return p.errs.asError()
}

type parser struct {
	job    *Job // nil: this is no job file
	file   string
	keys   []Key
	places places
	bad    map[string]bool // keys that already have an error: their check would only repeat it
	errs   Errors
}

func newParser(j *Job, file string, keys []Key) *parser {
	return &parser{
		job:  j,
		file: file,
		keys: keys,
		bad:  map[string]bool{},
	}
}

// fail records an error of key at the place of path, the key or table as the file has it.
func (p *parser) fail(key, path string, err error) {
	p.report(p.places.of(path), err)
	p.errs[len(p.errs)-1].Key = key
	p.bad[key] = true
}

// report records an error at a place.
func (p *parser) report(at place, err error) {
	msg, hint := split(err)
	p.errs = append(p.errs, Error{
		File: p.file,
		Line: at.line,
		Col:  at.col,
		Msg:  msg,
		Hint: hint,
	})
}

// table decodes the keys of one table; prefix is its dotted name.
func (p *parser) table(prefix string, t map[string]any) {
	for _, name := range p.inOrder(prefix, t) {
		v, full := t[name], join(prefix, name)
		if s, ok := v.(string); ok && full == "reuse" && p.job != nil { // reuse = "auto"
			full, v = "reuse.job", s
		}
		switch {
		case p.job == nil:
		case full == "scope":
			p.scope(v)
			continue
		case full == "priority":
			p.priority(v)
			continue
		}
		if k, ok := p.key(full); ok {
			if err := p.assign(k, v); err != nil {
				p.fail(full, full, err)
			}
			continue
		}
		if why := removedKey(full); why != "" {
			p.warn(full, why, "")
			continue
		}
		if !slices.Contains(p.tables(), full) {
			p.unknown(prefix, name, v)
			continue
		}
		switch sub := v.(type) {
		case map[string]any:
			p.table(full, sub)
		case []any:
			p.fail(full, full, problemf("write ["+full+"] with single brackets", "%s is one table, not a list", full))
		default:
			p.fail(full, full,
				problemf("write ["+full+"] and its keys below", "%s is a table, not %s", full, typeName(v)))
		}
	}
}

// inOrder returns the keys of a table, the old ones last: they win over the key that stands for several.
func (p *parser) inOrder(prefix string, t map[string]any) []string {
	names := sortedKeys(t)
	old := func(name string) int {
		if k, ok := p.key(join(prefix, name)); ok && k.isOld() {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(names, func(a, b string) int { return old(a) - old(b) })
	return names
}

// assign stores the value of a key, and what follows from it.
func (p *parser) assign(k Key, v any) error {
	before := encode(k.of(p.job))
	if err := decode(k, p.job, v); err != nil {
		return err
	}
	if k.apply != nil {
		k.apply(p.job)
	}
	if k.isOld() {
		p.warnOld(k, encode(k.of(p.job)) != before)
	}
	return nil
}

// warn records an accepted setting that does not do what it seems to.
func (p *parser) warn(key, msg, hint string) {
	at := p.places.of(key)
	p.job.Warnings = append(slices.Clip(p.job.Warnings), Error{ // a job that Set changes is a copy
		File: p.file,
		Line: at.line,
		Col:  at.col,
		Key:  key,
		Msg:  msg,
		Hint: hint,
	})
}

// Instead says what to write instead of an old key; "" for any other.
func Instead(key string) string {
	for _, k := range oldKeys() {
		if k.Name == key {
			return k.Instead
		}
	}
	return ""
}

// OldKeys returns the warnings about keys that the reference no longer has.
func (j *Job) OldKeys() (out []Error) {
	for _, w := range j.Warnings {
		if Instead(w.Key) != "" || removedKey(w.Key) != "" {
			out = append(out, w)
		}
	}
	return out
}

// warnOld reports that an old key was set. A value that changes nothing needs no other key.
func (p *parser) warnOld(k Key, changed bool) {
	if changed {
		p.warn(k.Name, k.Name+" is an old key; it stays in force", k.Instead)
		return
	}
	p.warn(k.Name, k.Name+" is an old key at its default", notNeeded)
}

// removedKey says why a key that earlier versions knew is ignored; "" for any other. A job file that was
// valid stays valid.
func removedKey(full string) string {
	return map[string]string{
		"near.zero": "near.zero is ignored since 0.2.0: a directory that never changed always counts as the best " +
			"there is; remove the line",
		"near.audits": "near.audits is ignored since 0.2.0: two resources of each skipped directory are always " +
			"requested; remove the line",
	}[full]
}

// scope decodes the three forms of scope: a kind, a list of prefixes, or a table.
func (p *parser) scope(v any) {
	kind, _ := p.key("scope.kind")
	prefixes, _ := p.key("scope.prefixes")
	var err error
	switch v := v.(type) {
	case string:
		err = decode(kind, p.job, v)
	case []any:
		if err = decode(prefixes, p.job, v); err == nil {
			p.job.Scope.Kind = "prefixes"
		}
	case map[string]any:
		if _, hasKind := v["kind"]; !hasKind && v["prefixes"] != nil {
			p.job.Scope.Kind = "prefixes"
		}
		p.table("scope", v)
	default:
		err = problemf(`write scope = "host", a list of URL prefixes, or { kind = "host", exclude = ["/ftp/**"] }`,
			"scope cannot be %s", typeName(v))
	}
	if err != nil {
		p.fail("scope", "scope", err)
		p.bad["scope.kind"], p.bad["scope.prefixes"] = true, true
	}
}

func (p *parser) key(name string) (Key, bool) {
	for _, k := range p.keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// known returns the keys that the file should have: those that are not old.
func (p *parser) known() []Key {
	return slices.DeleteFunc(slices.Clone(p.keys), Key.isOld)
}

// validate runs the checks of all keys that decoded well.
func (p *parser) validate() {
	for _, k := range p.keys {
		if k.check == nil || p.bad[k.Name] {
			continue
		}
		if err := k.check(p.job); err != nil {
			p.fail(k.Name, k.Name, err)
		}
	}
}

// unknown reports a key or table that does not exist, with the best guess at what was meant.
func (p *parser) unknown(prefix, name string, v any) {
	full, noun := join(prefix, name), "key"
	if _, isTable := v.(map[string]any); isTable {
		noun = "table"
	}
	hint := ""
	if len(p.errs) < 10*maxErrors { // a guess costs a comparison with every key
		hint = p.hint(prefix, name, v)
	}
	p.fail(full, full, problemf(hint, "unknown %s %q", noun, name))
}

// jobHint returns what to write in a job file in place of a name that many expect there.
func jobHint(name string) string {
	switch strings.ToLower(name) {
	case "urls", "site", "start":
		return "write url, for a list of URLs too"
	case "password", "passwd", "pass", "secret", "token":
		return "secrets do not belong in a job file: use password_file, password = \"${NAME}\" or headers in [auth]"
	case "priorities":
		return "did you mean [[priority]]?"
	case "name":
		return "a job is named by its file; title is for people"
	}
	return ""
}

func (p *parser) hint(prefix, name string, v any) string {
	if hint := jobHint(name); p.job != nil && hint != "" {
		return hint
	}
	if _, table := v.(map[string]any); table && prefix == "" {
		if n := Nearest(name, p.tables()); n != "" {
			return fmt.Sprintf("did you mean [%s]?", n)
		}
		return "the keys of the top level stand above the first [table]; tables are " +
			strings.Join(p.tables(), ", ")
	}
	var here, tops []string
	for _, k := range p.known() {
		t, leaf := k.Table()
		if t == prefix {
			here = append(here, leaf)
		}
		if leaf == name && t != prefix {
			if t == "" {
				return fmt.Sprintf("%s stands above the first [table]", name)
			}
			return fmt.Sprintf("%s belongs in [%s]", name, t)
		}
	}
	if prefix == "" {
		tops = p.tables()
	}
	if n := Nearest(name, append(here, tops...)); n != "" {
		if slices.Contains(tops, n) {
			return fmt.Sprintf("did you mean [%s]?", n)
		}
		return fmt.Sprintf("did you mean %q?", n)
	}
	for _, k := range p.known() {
		t, leaf := k.Table()
		if Nearest(name, []string{leaf}) == "" {
			continue
		}
		if t == "" {
			return fmt.Sprintf("did you mean %q? it stands above the first [table]", leaf)
		}
		return fmt.Sprintf("did you mean %q in [%s]?", leaf, t)
	}
	if prefix != "" {
		return "known here are " + strings.Join(here, ", ")
	}
	return ""
}

func join(prefix, name string) string {
	if prefix == "" {
		return quoteKey(name)
	}
	return prefix + "." + quoteKey(name)
}

func cutLast(dotted string) (table, leaf string) {
	if i := strings.LastIndexByte(dotted, '.'); i >= 0 {
		return dotted[:i], dotted[i+1:]
	}
	return "", dotted
}
