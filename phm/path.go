// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"mirrord/site"
)

// Limits of a mirror path, in bytes of UTF-8. They hold on every file system in use: 255 is NAME_MAX of Linux
// and macOS and, counted in bytes, stricter than the 255 UTF-16 units of NTFS, exFAT and APFS.
const (
	MaxSegment = 255
	MaxPath    = 1024

	// hex digits of a qualifier: 40 bits, and a qualifier only has to tell the URLs of one name apart
	hashDigits = 10
	hashLen    = 1 + hashDigits
	maxQuery   = 120 // bytes of a query that a name shows; a longer one is cut and qualified
	edgeRoom   = 6   // bytes that protect may add: three escapes of two bytes more than what they replace
	maxPrefix  = 512 // bytes of directories kept of a path that is longer than MaxPath
)

// Layout says where the URLs of a set lie in a tree. The zero value puts every origin under its own @host
// directory.
type Layout struct {
	Primary string // origin ("https://example.org", "http://[::1]:8080") that maps to the root of the tree
}

// Preferred returns the mirror path that u has when no other URL claims it. It is a pure function: slash
// separated, relative, and valid on every file system and in every archive (CheckPath). mime is the effective
// MIME type of the resource, with or without parameters; "" is unknown. An ordinary path is returned as it is
// in the URL.
func (l Layout) Preferred(u site.URL, mime string) string {
	if u.IsZero() {
		return ""
	}
	return l.name(u, mime, "", false)
}

// Qualified returns Preferred with "~" and ten hex digits of the SHA-256 of u before the extension, so that
// URLs whose preferred paths are equal, or differ in case only, come apart.
func (l Layout) Qualified(u site.URL, mime string) string {
	if u.IsZero() {
		return ""
	}
	return l.name(u, mime, "", true)
}

// Compare orders URLs as Namer wants them: the shorter first, then bytewise. So the URL that people would
// type keeps its plain name and its variants are qualified.
func Compare(a, b site.URL) int {
	s, t := a.String(), b.String()
	if len(s) != len(t) {
		return len(s) - len(t)
	}
	return strings.Compare(s, t)
}

// name builds the path of a URL that is not plain. ext is offeredExtension of it.
func (l Layout) name(u site.URL, mime, ext string, qualify bool) string {
	b := make([]byte, 0, len(u.String())+24)
	root := u.Origin() == l.Primary
	if !root {
		b = append(b, originSegment(u)...)
		b = append(b, '/')
	}
	path := u.Path()[1:]
	dirs, last := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dirs, last = path[:i+1], path[i+1:]
	}
	for dirs != "" {
		i := strings.IndexByte(dirs, '/')
		b = append(b, directory(dirs[:i], root && len(b) == 0)...)
		b = append(b, '/')
		dirs = dirs[i+1:]
	}
	b = append(b, fileName(u, last, mime, ext, root && len(b) == 0, qualify)...)
	if len(b) > MaxPath {
		b = shorten(b)
	}
	return string(b)
}

// originSegment returns "@host" for https on its default port, else "@host_port". An IPv6 address loses its
// brackets and has '-' for ':'.
func originSegment(u site.URL) string {
	host, name := u.Host(), u.Hostname()
	port := strings.TrimPrefix(host[len(name):], ":")
	if port == "" && u.Scheme() == "http" {
		port = "80"
	}
	if strings.HasPrefix(name, "[") {
		name = strings.ReplaceAll(strings.Trim(name, "[]"), ":", "-")
	}
	name = "@" + sanitize(name)
	if port != "" {
		name += "_" + port
	}
	return limitDirectory(protect(name, false), name)
}

// directory returns the name of one directory of a URL's path.
func directory(segment string, atRoot bool) string {
	if segment == "" { // "//": an empty segment is a level of its own
		return "%2F"
	}
	return limitDirectory(protect(sanitize(segment), atRoot), segment)
}

func limitDirectory(name, source string) string {
	if len(name) <= MaxSegment {
		return name
	}
	return cut(name, MaxSegment-hashLen) + qualifier(source)
}

// fileName returns the last segment of a path: the name, the query, the qualifier, the extension. add is an
// extension that the name gets if it has another one, "" for none.
func fileName(u site.URL, last, mime, add string, atRoot, qualify bool) string {
	var stem, ext string
	if last == "" {
		stem, ext = "index", cmp.Or(add, indexExtension(mime))
	} else {
		stem, ext = splitExtension(sanitize(last))
		if add == "" || strings.EqualFold(add, ext) {
			add = forcedExtension(stem+ext, mime)
		}
		if add != "" {
			stem, ext = stem+ext, add
		}
	}
	if query, ok := u.Query(); ok {
		q := sanitize(query)
		if len(q) > maxQuery {
			q, qualify = cut(q, maxQuery), true
		}
		stem = normal(stem + "@" + q)
	}
	if !qualify {
		if name := protect(stem+ext, atRoot); len(name) <= MaxSegment {
			return name
		}
	}
	stem = cut(stem, MaxSegment-hashLen-len(ext)-edgeRoom)
	return protect(stem+qualifier(u.String())+ext, atRoot)
}

// shorten cuts a path that is longer than MaxPath to: the leading directories that fit, one directory
// named by the hash of all of them, the file.
func shorten(b []byte) []byte {
	i := strings.LastIndexByte(string(b), '/')
	dirs, file := string(b[:i]), string(b[i+1:])
	keep := strings.LastIndexByte(dirs[:maxPrefix], '/') + 1
	return []byte(dirs[:keep] + qualifier(dirs) + "/" + file)
}

// qualifier returns "~" and the first digits of the SHA-256 of s in hex.
func qualifier(s string) string {
	sum := sha256.Sum256([]byte(s))
	var b [hashLen]byte
	b[0] = '~'
	hex.Encode(b[1:], sum[:hashDigits/2])
	return string(b[:])
}

// cut returns at most n bytes of s, ending neither inside a rune nor inside an escape.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if i := strings.LastIndexByte(s[:n], '%'); i >= 0 && i > n-3 {
		n = i
	}
	return s[:n]
}

// normal returns s in Unicode normalization form C.
func normal(s string) string {
	if isASCII(s) {
		return s
	}
	return norm.NFC.String(s)
}
