// SPDX-License-Identifier: Apache-2.0

package site

import (
	"slices"
	"strings"
)

// Names of parameters that hold a session id regardless of their value, and of those that do when the value
// looks like one. Lower case.
const (
	sessionNames  = " jsessionid phpsessid cfid cftoken oscsid zenid xtcsid cgisessid "
	sessionMaybes = " sid s sess session sessionid session_id sess_id sessid session-id "
)

// sessionName returns the name of the first session parameter in u, or "".
func sessionName(u URL) string {
	if i, j := pathSession(u.Path()); i >= 0 {
		return strings.TrimLeft(strings.SplitN(u.Path()[i:j], "=", 2)[0], "/;")
	}
	q, _ := u.Query()
	for pair := range Params(q) {
		if isSession(pair) {
			name, _, _ := strings.Cut(pair, "=")
			return name
		}
	}
	return ""
}

// StripSession returns u without its session ids, and whether it had any: ;jsessionid=… in the path, /(S(…))/
// as ASP.NET writes it, and parameters of the query. The result is the canonical variant, the same for
// every visitor.
func StripSession(u URL) (URL, bool) {
	if u.IsZero() || sessionName(u) == "" {
		return u, false
	}
	return strip(u, pathSession, isSession), true
}

// StripParams returns u without the parameters of these names, in its query (?name=…) and in its path
// (;name=…), and whether it had any.
func StripParams(u URL, names []string) (URL, bool) {
	if u.IsZero() || (len(names) == 0) {
		return u, false
	}
	is := func(pair string) bool {
		name, _, ok := strings.Cut(pair, "=")
		return ok && slices.Contains(names, name)
	}
	out := strip(u, func(path string) (start, end int) { return pathParam(path, is) }, is)
	return out, out != u
}

// WithoutParam returns u without the parameters of a name in its query, with or without a value.
func WithoutParam(u URL, name string) URL {
	none := func(string) (start, end int) { return -1, -1 }
	return strip(u, none, func(pair string) bool {
		n, _, _ := strings.Cut(pair, "=")
		return n == name
	})
}

// strip returns u without what inPath finds in its path, and without the pairs of its query that is names.
func strip(u URL, inPath func(path string) (start, end int), is func(pair string) bool) URL {
	b := append(make([]byte, 0, len(u.s)), u.Origin()...)
	path := u.Path()
	for {
		i, j := inPath(path)
		if i < 0 {
			break
		}
		b, path = append(b, path[:i]...), path[j:]
	}
	b = append(b, path...)
	if len(b) == int(u.pathStart) {
		b = append(b, '/')
	}
	q, _ := u.Query()
	for sep := byte('?'); q != ""; {
		pair, rest := cutParam(q)
		next := byte('&')
		if len(pair) < len(q) {
			next = q[len(pair)]
		}
		if q = rest; !is(pair) {
			b = append(append(b, sep), pair...)
			sep = next
		}
	}
	return Canonical(string(b))
}

// pathParam returns where the first parameter of a path is that is names, or -1.
func pathParam(path string, is func(pair string) bool) (start, end int) {
	for i := 0; i < len(path); i++ {
		if path[i] != ';' {
			continue
		}
		j := i + 1
		for j < len(path) && path[j] != ';' && path[j] != '/' {
			j++
		}
		if is(path[i+1 : j]) {
			return i, j
		}
	}
	return -1, -1
}

// pathSession returns where the first session id of a path is, or -1.
func pathSession(path string) (start, end int) {
	start, end = pathParam(path, isSession)
	for i := 0; i < len(path) && (start < 0 || i < start); i++ {
		if path[i] == '/' && strings.HasPrefix(path[i+1:], "(S(") {
			seg, _, _ := strings.Cut(path[i+1:], "/")
			if token, ok := strings.CutSuffix(seg, "))"); ok && isToken(token[3:]) {
				return i, i + 1 + len(seg)
			}
		}
	}
	return start, end
}

// isSession reports whether a "name=value" is a session id.
func isSession(pair string) bool {
	name, value, ok := strings.Cut(pair, "=")
	if !ok || value == "" || len(name) > 24 {
		return false
	}
	name = strings.ToLower(name)
	if strings.Contains(name, " ") {
		return false
	}
	if strings.Contains(sessionNames, " "+name+" ") || strings.HasPrefix(name, "aspsessionid") {
		return true
	}
	return strings.Contains(sessionMaybes, " "+name+" ") && isToken(value)
}

// isToken reports whether s looks random: 20 or more letters and digits, both present.
func isToken(s string) bool {
	digits := 0
	for i := 0; i < len(s); i++ {
		if !isAlnum(s[i]) {
			return false
		}
		if s[i] <= '9' {
			digits++
		}
	}
	return len(s) >= 20 && digits > 0 && digits < len(s)
}
