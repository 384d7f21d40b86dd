// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"strings"
)

// Programs says which URLs are programs: they answer, but are not documents, so a mirror links to the origin
// instead of copying them. A nil list means its default, an empty one that the rule is off.
type Programs struct {
	// of any segment of the path, case ignored; default .cgi .fcgi .pl (not .php or .asp: those mostly are
	// pages)
	Suffixes []string
	Dirs     []string // directory names, case ignored; default cgi-bin cgi
	Globs    []string // see Glob; default none
	// entry points; a URL in the program of one is no program by its suffix or directory
	Free []URL
}

// A ProgramRule is a compiled Programs. It is immutable and safe for concurrent use; nil finds no programs.
type ProgramRule struct {
	suffixes, dirs []string
	globs          []*Glob
	free           []string // origins with the path of a program, without a slash at its end
}

// Compile checks the rule and prepares it. The error joins everything that is wrong.
func (p Programs) Compile() (*ProgramRule, error) {
	r := &ProgramRule{suffixes: p.Suffixes, dirs: p.Dirs}
	if p.Suffixes == nil {
		r.suffixes = []string{".cgi", ".fcgi", ".pl"}
	}
	if p.Dirs == nil {
		r.dirs = []string{"cgi-bin", "cgi"}
	}
	for _, s := range r.suffixes {
		if len(s) < 2 || s[0] != '.' || strings.Contains(s, "/") {
			return nil, fmt.Errorf("program suffix %s: want a dot and letters", quote(s))
		}
	}
	for _, d := range r.dirs {
		if d == "" || strings.Contains(d, "/") {
			return nil, fmt.Errorf("program directory %s: want one name without %q", quote(d), "/")
		}
	}
	for _, u := range p.Free {
		if end := r.programEnd(u.Path()); end > 0 {
			r.free = append(r.free, u.Origin()+u.Path()[:end])
		}
	}
	var err error
	r.globs, err = CompileGlobs("program", p.Globs)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Is reports whether u is a program, and the rule that says so. Extra path after the program's name
// (/a.cgi/b) changes nothing.
func (r *ProgramRule) Is(u URL) (is bool, reason string) {
	if r == nil || u.IsZero() {
		return false, ""
	}
	if end := r.programEnd(u.Path()); end > 0 && !r.isFree(u) {
		path := u.Path()[:end]
		seg := path[strings.LastIndexByte(path, '/')+1:]
		for _, s := range r.suffixes {
			if n := len(seg) - len(s); n >= 0 && strings.EqualFold(seg[n:], s) {
				return true, fmt.Sprintf("name ends in %s", s)
			}
		}
		dir := path[:len(path)-len(seg)]
		return true, fmt.Sprintf("in a program directory %s", dir[strings.LastIndexByte(dir[:len(dir)-1], '/'):])
	}
	for _, g := range r.globs {
		if g.Match(u) {
			return true, fmt.Sprintf("program by %q", g.pattern)
		}
	}
	return false, ""
}

// programEnd returns where the program's own part of a path ends, before what it takes as an argument: behind
// a name with a suffix of programs, or the first name in a directory of programs; 0 of another path.
func (r *ProgramRule) programEnd(path string) int {
	inDir := false
	for from := 1; from <= len(path); {
		seg, _, more := strings.Cut(path[from:], "/")
		is := inDir
		for _, s := range r.suffixes {
			n := len(seg) - len(s)
			is = is || (n >= 0 && strings.EqualFold(seg[n:], s))
		}
		if is {
			return from + len(seg)
		}
		if !more {
			break
		}
		for _, d := range r.dirs {
			inDir = inDir || strings.EqualFold(seg, d)
		}
		from += len(seg) + 1
	}
	return 0
}

// isFree reports whether a URL is in the program of an entry point.
func (r *ProgramRule) isFree(u URL) bool {
	for _, f := range r.free {
		rest, in := strings.CutPrefix(u.Origin()+u.Path(), f)
		if in && (rest == "" || rest[0] == '/' || strings.HasSuffix(f, "/")) {
			return true
		}
	}
	return false
}
