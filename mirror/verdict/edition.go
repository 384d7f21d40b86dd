// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"path"
	"strings"

	"mirrord/site"
)

// Many sites put the hash or the version of a file into its address: app.4f3a2b.js, app.js?v=7,
// /static/1.4.2/app.js. With a new edition the address changes, and the old one is no longer linked or is
// gone. Addresses that differ in nothing but that are editions of one file.

// edition marks the place of a hash or a version in a masked address.
const edition = "#"

// editions are what all editions of a file have in common: its address without hash and version, and, when
// its name or its query has one, that without the folders. There are none for an address without a hash and
// a version, and for a page whose name is nothing but a hash: that is who it is.
func editions(u site.URL, requisite bool) (out []string) {
	dir, name := path.Split(u.Path())
	folders := strings.Split(dir, "/")
	for i, s := range folders {
		folders[i] = maskName(s, "", true)
	}
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	if !isExtension(ext) {
		stem, ext = name, ""
	}
	asset := requisite || isAsset(ext)
	masked := maskName(stem, ext, asset) + ext
	was, _ := u.Query()
	query := maskQuery(was, ext)
	if masked+query != name+was && masked != edition+ext {
		out = append(out, "edition of "+u.Host()+"//"+masked+"?"+query)
	}
	if at := strings.Join(folders, "/") + masked; at+query != u.Path()+was {
		out = append(out, "edition of "+u.Host()+at+"?"+query)
	}
	return out
}

// isExtension reports whether what follows the last dot of a name is one: not the end of a version.
func isExtension(ext string) bool {
	return len(ext) > 1 && strings.Trim(ext[1:], "0123456789") != ""
}

// isAsset reports whether files with an extension are loaded by pages, and not read.
func isAsset(ext string) bool {
	switch strings.ToLower(ext) {
	case ".js", ".mjs", ".css", ".map", ".wasm", ".woff", ".woff2", ".ttf":
		return true
	}
	return false
}

// maskName replaces each hash and version in a name without extension by edition. A name that is
// nothing else stays as it is, unless bare says that it may be one.
func maskName(name, ext string, bare bool) string {
	if len(name) >= 16 && isHash(name, false) {
		if bare {
			return edition
		}
		return name
	}
	var b strings.Builder
	rest := false // something names the file beside hash and version
	for i := 0; i < len(name); {
		n := versionAt(name, i)
		if n == 0 {
			n = strings.IndexAny(name[i:]+".", ".-_@~+")
			if word := name[i : i+n]; !isHash(word, i > 0 && isAsset(ext)) {
				rest = rest || n > 0
				b.WriteString(word)
				if i += n; i < len(name) {
					b.WriteByte(name[i])
					i++
				}
				continue
			}
		}
		b.WriteString(edition)
		i += n
	}
	if !rest && !bare {
		return name
	}
	return b.String()
}

// versionAt returns the length of a version at a place of a name, 0 for none: numbers with dots between them,
// a v before them or not, or a v and a number alone.
func versionAt(name string, at int) int {
	if at > 0 && isLetterOrDigit(name[at-1]) {
		return 0
	}
	i := at
	if i < len(name) && (name[i] == 'v' || name[i] == 'V') {
		i++
	}
	dots, end := 0, 0
	for {
		from := i
		for i < len(name) && name[i] >= '0' && name[i] <= '9' {
			i++
		}
		if i == from {
			break
		}
		end = i
		if i == len(name) || name[i] != '.' {
			break
		}
		dots, i = dots+1, i+1
	}
	if end > 0 && end < i {
		dots-- // the last dot is not within
	}
	whole := end == len(name) || (end > 0 && !isLetterOrDigit(name[end]))
	if end == 0 || !whole || (dots == 0 && name[at] != 'v') {
		return 0
	}
	return end - at
}

func isLetterOrDigit(c byte) bool {
	return (c >= '0' && c <= '9') || ((c|0x20) >= 'a' && (c|0x20) <= 'z')
}

// isHash reports whether a word looks like one that a program made: six hexadecimal digits or more, or eight
// letters and digits that change from one to the other; of a file that pages load, also a word with a capital
// letter within.
func isHash(word string, asset bool) bool {
	digits, letters, others, changes, capitals := 0, 0, 0, 0, 0
	hex := true
	for i := range len(word) {
		c := word[i]
		isDigit, isUpper := c >= '0' && c <= '9', c >= 'A' && c <= 'Z'
		switch {
		case isDigit:
			digits++
		case isLetterOrDigit(c):
			letters++
			hex = hex && (c|0x20) <= 'f'
		case c == '-' || c == '_':
			others++
		default:
			return false
		}
		if i == 0 {
			continue
		}
		before := word[i-1]
		wasDigit := before >= '0' && before <= '9'
		if isUpper && before >= 'a' && before <= 'z' {
			capitals++
			changes++
		} else if isDigit != wasDigit {
			changes++
		}
	}
	switch {
	case hex && others == 0 && digits > 0 && letters > 0 && len(word) >= 6:
		return true
	case len(word) < 8 || letters == 0:
		return false
	}
	return (digits > 0 && changes >= 3 && 4*others < len(word)) || (asset && others == 0 && capitals > 0)
}

// maskQuery replaces the version in a query by edition: that of a file with an extension which no
// program makes, under a name for versions or none.
func maskQuery(query, ext string) string {
	switch strings.ToLower(ext) {
	case "", ".php", ".asp", ".aspx", ".jsp", ".cgi", ".pl", ".do":
		return query
	}
	parts := strings.Split(query, "&")
	for i, p := range parts {
		name, value, ok := strings.Cut(p, "=")
		switch strings.ToLower(name) {
		case "v", "ver", "version", "rev", "revision", "hash", "build", "cb", "_":
			if ok && value != "" {
				parts[i] = name + "=" + edition
			}
		default:
			bare := !ok && len(parts) == 1 && name != ""
			if bare && (isHash(name, false) || strings.Trim(name, "0123456789.v") == "") {
				parts[i] = edition
			}
		}
	}
	return strings.Join(parts, "&")
}
