// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"mirrord/fetch/heads"
	"mirrord/store/record"
)

// capturedHead is the head of an answer for a web archive, in which the body stands as it is stored: without
// encodings and chunks. The fields that speak of those are kept under names that begin with X-Orig-.
// Cookies are left out unless they are wanted. added says that the head had no Content-Length.
func capturedHead(h *heads.Head, size int64, cookies bool) (head []byte, added bool) {
	var b headWriter
	b.line(h.Status)
	length := strconv.FormatInt(size, 10)
	coded := len(h.Values("Content-Encoding"))+len(h.Values("Transfer-Encoding")) > 0
	said, renamed := false, false
	for _, f := range h.Fields {
		name := f.Name
		switch strings.ToLower(name) {
		case "content-encoding", "transfer-encoding":
			name = "X-Orig-" + name
		case "content-length":
			if coded || f.Value != length {
				name, renamed = "X-Orig-"+name, true
			} else {
				said = true
			}
		case "set-cookie", "set-cookie2":
			if !cookies {
				continue
			}
		}
		b.field(name, f.Value)
	}
	if !said {
		b.field("Content-Length", length)
	}
	return b.end(), !said && !renamed
}

// madeHead is a head for a body of which no head is stored: what the record knows of it.
func madeHead(rec *record.Resource) []byte {
	var b headWriter
	b.line("HTTP/1.1 200 OK")
	if rec.MIME != "" {
		mime := rec.MIME
		if rec.Charset != "" {
			mime += "; charset=" + rec.Charset
		}
		b.field("Content-Type", mime)
	}
	b.fieldIf("Last-Modified", rec.LastModified)
	b.fieldIf("ETag", rec.ETag)
	b.field("Content-Length", strconv.FormatInt(rec.Size, 10))
	return b.end()
}

// madeRedirect is the same for a redirect to a URL.
func madeRedirect(status int, to string) []byte {
	if status < 300 || status > 399 {
		status = http.StatusFound
	}
	var b headWriter
	b.line(fmt.Sprintf("HTTP/1.1 %d %s", status, http.StatusText(status)))
	b.field("Location", to)
	b.field("Content-Length", "0")
	return b.end()
}

// headWriter writes the head of an HTTP message.
type headWriter struct{ b bytes.Buffer }

func (w *headWriter) line(s string) {
	w.text(s)
	w.b.WriteString("\r\n")
}

// text writes s. Ends of lines in it would begin another one.
func (w *headWriter) text(s string) {
	for {
		i := strings.IndexAny(s, "\r\n")
		if i < 0 {
			w.b.WriteString(s)
			return
		}
		w.b.WriteString(s[:i])
		w.b.WriteByte(' ')
		s = s[i+1:]
	}
}

func (w *headWriter) field(name, value string) {
	w.text(name)
	w.b.WriteString(": ")
	w.line(value)
}

func (w *headWriter) fieldIf(name, value string) {
	if value != "" {
		w.field(name, value)
	}
}

func (w *headWriter) end() []byte {
	w.b.WriteString("\r\n")
	return w.b.Bytes()
}
