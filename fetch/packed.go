// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"io"
	"path"
	"slices"
	"strings"
)

// packing is a way in which files are packed that servers take for a content coding, because their
// configuration maps the extension to one.
type packing struct {
	mime   string   // of a file that is packed so
	coding string   // the content coding of the same name
	exts   string   // between spaces
	magic  []string // with one of these a file under such a name begins
}

func packings() [7]packing {
	return [...]packing{
		{gzipMIME, "gzip", " .gz .tgz .taz .gzip .crate ", []string{gzipMagic}},
		{gzipMIME, "gzip", " .apk ", []string{gzipMagic, "PK"}}, // of Alpine, of Android
		{"application/x-bzip2", "bzip2", " .bz2 .bz .tbz .tbz2 ", []string{"BZh"}},
		{"application/zstd", "zstd", " .zst .zstd .tzst ", []string{"\x28\xb5\x2f\xfd"}},
		{"application/x-xz", "xz", " .xz .txz ", []string{"\xfd7zXZ\x00"}},
		{"application/x-lzip", "lzip", " .lz .tlz ", []string{"LZIP"}},
		{"application/x-compress", "compress", " .z ", []string{"\x1f\x9d"}},
	}
}

const (
	gzipMagic = "\x1f\x8b" // begins every gzip body (RFC 1952 §2.3.1)
	gzipMIME  = "application/gzip"
	packHead  = 4 << 10 // bytes of a body by which it is judged
)

// packingOf returns how a file is packed by its own right, by type or by name; nil when nothing says that it
// is. What a page loads or a browser shows is not: it is served packed only to be shorter on the way.
func packingOf(mime, urlPath string) *packing {
	all := packings()
	if isGzip(mime) {
		return &all[0]
	}
	ext := strings.ToLower(path.Ext(urlPath))
	if ext == "" || isShown(mime) {
		return nil
	}
	for i := range all {
		if strings.Contains(all[i].exts, " "+ext+" ") {
			return &all[i]
		}
	}
	return nil
}

// isGzip reports whether a type is that of a gzip file.
func isGzip(mime string) bool {
	switch mime {
	case gzipMIME, "application/x-gzip", "application/x-tgz", "application/x-gunzip", "application/gzipped":
		return true
	}
	return false
}

// isShown reports whether pages load a type, or browsers show it as a page.
func isShown(mime string) bool {
	switch mime {
	case "text/html", "application/xhtml+xml", "text/css", "application/wasm",
		"text/javascript", "application/javascript", "application/x-javascript", "application/ecmascript",
		"text/ecmascript", "application/json", "text/json", "application/vnd.ms-fontobject":
		return true
	}
	major, minor, _ := strings.Cut(mime, "/")
	return major == "image" || major == "font" || strings.HasSuffix(minor, "+json") ||
		(major == "application" && (strings.HasPrefix(minor, "font-") || strings.HasPrefix(minor, "x-font-")))
}

// begins reports whether a file that begins so is packed as its name says.
func (p *packing) begins(head []byte) bool {
	return slices.ContainsFunc(p.magic, func(m string) bool { return bytes.HasPrefix(head, []byte(m)) })
}

// staysPacked reports whether a body with a content coding is stored as it came: it is packed as its type or
// its name says, and what the coding hides would not be. Of a body that is packed twice the coding goes.
func staysPacked(p *packing, mime, coding string, head []byte) bool {
	if r, err := decode(coding, bytes.NewReader(head)); err == nil {
		defer r.Close()
		var inner [8]byte
		if n, _ := io.ReadFull(r, inner[:]); p.begins(inner[:n]) {
			return false
		}
	}
	return p.begins(head) || isGzip(mime)
}

// NamesPacked reports whether a body of a type other than that of a packed file has the URL of one.
func NamesPacked(mime, urlPath string) bool {
	p := packingOf(mime, urlPath)
	return p != nil && mime != p.mime
}

// IsUnpacked reports whether a body that was stored without its content coding would be stored as it came:
// by its type and URL, by the Content-Encoding of its answer, and by its first 8 bytes.
func IsUnpacked(mime, urlPath string, encoding []string, first []byte) bool {
	list, _ := codings(encoding)
	p := packingOf(mime, urlPath)
	return NamesPacked(mime, urlPath) && len(list) > 0 && list[len(list)-1] == p.coding && !p.begins(first)
}
