// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"io"
	"net/http"
	"path"
	"strings"

	"mirrord/phm"
)

// sniffed is how many bytes of a file tell its type (MIME Sniffing, section 5.2).
const sniffed = 1445

// typed gives a file whose origin named no type one by which browsers can use it: that of its extension
// unless that is a page's, else plain text if its bytes are that (MIME Sniffing, section 7.1). All others
// stay without one: a page that was recognised when it came has its type.
func (s *Snapshot) typed(r Resource) (Resource, error) {
	switch r.MIME {
	case "", "*/*", "unknown/unknown", "application/unknown":
	default:
		return r, nil
	}
	r.MIME = ""
	if ext := path.Ext(r.Path); ext != "" {
		if mime := phm.TypeByExtension(strings.ToLower(ext[1:])); mime != "" && !isDocument(mime) {
			r.MIME = mime
			return r, nil
		}
	}
	f, err := s.Table.Open(r)
	if err != nil {
		return r, err
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return r, err
	}
	if isPlainText(head[:n]) {
		r.MIME = "text/plain"
	}
	return r, nil
}

// isPlainText reports whether the first bytes of a file are plain text and begin like no other type.
func isPlainText(head []byte) bool {
	// looks for the signatures of all types, in the first 512 bytes
	kind := http.DetectContentType(head)
	if !strings.HasPrefix(kind, "text/plain") {
		return false
	}
	if strings.Contains(kind, "utf-16") {
		return true
	}
	for _, b := range head {
		if b <= 0x08 || b == 0x0b || (b >= 0x0e && b <= 0x1a) || (b >= 0x1c && b <= 0x1f) {
			return false
		}
	}
	return true
}

// isDocument reports whether a browser may run scripts of a file that it shows in a window of its own.
func isDocument(mime string) bool {
	switch mime {
	case "text/html", "text/xml", "application/xml", "application/xhtml+xml", "image/svg+xml", "":
		return true
	}
	return false
}
