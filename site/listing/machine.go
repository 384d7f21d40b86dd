// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"mirrord/site"
)

// A record is an element of a JSON listing; nginx and caddy have no member but name in common.
type record struct {
	Name string `json:"name"`
	// nginx
	Type  string `json:"type"`
	Mtime string `json:"mtime"`
	// caddy
	URL       string `json:"url"`
	ModTime   string `json:"mod_time"`
	Mode      *int64 `json:"mode"`
	IsDir     *bool  `json:"is_dir"`
	IsSymlink *bool  `json:"is_symlink"`
	// both
	Size *int64 `json:"size"`
}

// parseJSON reads the listing of nginx (autoindex_format json) or caddy (Accept: application/json). It
// returns nil for any other array: each element must be an object of exactly the server's members. An empty
// array is a listing only in nginx's bytes.
func parseJSON(text []byte, u site.URL) *Listing {
	if string(text) == "[\r\n]" {
		return &Listing{Server: Nginx}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if _, err := d.Token(); err != nil {
		return nil
	}
	l := new(Listing)
	n := 0
	for ; d.More(); n++ {
		var r record
		if err := d.Decode(&r); err != nil {
			if n == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return l // cut short
		}
		server, e, ok := r.entry(u)
		if server == "" || (n > 0 && server != l.Server) {
			return nil
		}
		l.Server = server
		if !ok || len(l.Entries) == MaxEntries {
			continue
		}
		l.Entries = append(l.Entries, e)
	}
	if n == 0 {
		return nil
	}
	if _, err := d.Token(); err == nil && len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return nil
	}
	return l
}

// entry returns the entry and the server that wrote it, "" if none did. A name that JSON could not hold has
// no entry.
func (r *record) entry(u site.URL) (server string, e Entry, ok bool) {
	e = Entry{Size: -1, SizeMin: -1, SizeMax: -1}
	name := ""
	switch {
	case r.Type != "" && r.URL+r.ModTime == "" && r.Mode == nil && r.IsDir == nil && r.IsSymlink == nil:
		server = Nginx
		t, err := time.Parse(time.RFC1123, r.Mtime)
		if err != nil || !strings.HasSuffix(r.Mtime, " GMT") {
			return "", e, false
		}
		e.setTime(stamp{t.UTC(), ToSecond, false})
		e.Dir = r.Type == "directory"
		if (r.Type != "file" && !e.Dir && r.Type != "other") || (e.Dir == (r.Size != nil) && r.Type != "other") {
			return "", e, false
		}
		name = r.Name
		e.URL, _, _ = u.Resolve(escape(name, e.Dir))
	case r.Type+r.Mtime == "" && r.URL != "" && r.Mode != nil && r.IsDir != nil && r.Size != nil:
		server = Caddy
		st, known := parseExactStamp(r.ModTime)
		if !known {
			return "", e, false
		}
		e.setTime(st)
		e.Dir = *r.IsDir
		name = strings.TrimSuffix(r.Name, "/")
		e.URL, _, _ = u.Resolve(r.URL)
	default:
		return "", e, false
	}
	if r.Size != nil {
		if *r.Size < 0 {
			return "", e, false
		}
		e.setSize(exactSize(*r.Size))
	}
	if strings.ContainsRune(name, utf8.RuneError) {
		return server, e, false
	}
	decoded, _, isChild := child(u, e.URL)
	if !isChild || decoded != name {
		return "", e, false
	}
	e.Name = name
	return server, e, true
}

// escape writes a name as nginx does in its HTML listing: all but unreserved characters (RFC 3986, section
// 2.3) are encoded.
func escape(name string, dir bool) string {
	out := "./" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	if dir {
		out += "/"
	}
	return out
}

// parseXML reads nginx's listing (autoindex_format xml). It is read as nginx writes it, and not as XML in
// general: one element a line, attributes in their order, any bytes in names.
func parseXML(text []byte, u site.URL) *Listing {
	s := string(text)
	if s, _ = strings.CutPrefix(s, `<?xml version="1.0"?>`); len(s) == len(text) {
		return nil
	}
	s, ok := strings.CutPrefix(strings.TrimLeft(s, "\r\n"), "<list>")
	if !ok {
		return nil
	}
	l := &Listing{Server: Nginx}
	for {
		s = strings.TrimLeft(s, "\r\n")
		if rest, ok := strings.CutPrefix(s, "</list>"); ok {
			if trim(rest) != "" {
				return nil
			}
			return l
		}
		if len(l.Entries) == MaxEntries {
			return l
		}
		e, rest, ok := xmlEntry(s, u)
		if !ok {
			if strings.Contains(s, "</list>") || len(l.Entries) == 0 {
				return nil
			}
			return l // cut short
		}
		l.Entries = append(l.Entries, e)
		s = rest
	}
}

// xmlEntry reads <file mtime="2024-02-29T13:05:07Z" size="999">name</file>.
func xmlEntry(s string, u site.URL) (e Entry, rest string, ok bool) {
	e = Entry{Size: -1, SizeMin: -1, SizeMax: -1}
	m := xmlForm.FindStringSubmatch(s)
	if m == nil || m[1] != m[5] {
		return e, s, false
	}
	st, ok := parseExactStamp(m[2])
	if !ok {
		return e, s, false
	}
	e.setTime(st)
	e.Dir = m[1] == "directory"
	if m[3] != "" {
		z, ok := parseSize(m[3])
		if !ok {
			return e, s, false
		}
		e.setSize(z)
	}
	name := html.UnescapeString(m[4])
	var err error
	if e.URL, _, err = u.Resolve(escape(name, e.Dir)); err != nil {
		return e, s, false
	}
	e.Name, _, ok = child(u, e.URL)
	return e, s[len(m[0]):], ok && e.Name == name
}

var xmlForm = regexp.MustCompile(`^<(file|directory|other) mtime="([^"]*)"(?: size="(\d+)")?>([^<]*)` +
	`</(file|directory|other)>`)
