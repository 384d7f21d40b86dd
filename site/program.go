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
}

// A ProgramRule is a compiled Programs. It is immutable and safe for concurrent use; nil finds no programs.
type ProgramRule struct {
	suffixes, dirs []string
	globs          []*Glob
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
	var err error
	r.globs, err = compileGlobs("program", p.Globs)
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
	for path := u.Path()[1:]; ; {
		seg, rest, more := strings.Cut(path, "/")
		for _, d := range r.dirs {
			if more && len(seg) == len(d) && strings.EqualFold(seg, d) {
				return true, fmt.Sprintf("in a program directory /%s/", seg)
			}
		}
		for _, s := range r.suffixes {
			if n := len(seg) - len(s); n >= 0 && strings.EqualFold(seg[n:], s) {
				return true, fmt.Sprintf("name ends in %s", s)
			}
		}
		if !more {
			break
		}
		path = rest
	}
	for _, g := range r.globs {
		if g.Match(u) {
			return true, fmt.Sprintf("program by %q", g.pattern)
		}
	}
	return false, ""
}
