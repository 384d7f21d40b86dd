// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/url"
	"strings"
	"time"

	"mirrord/archive/warc"
	"mirrord/site"
)

// MHTML (RFC 2557) is a page with what it shows, as one message: .mht of Internet Explorer, .mhtml of
// Chromium.
// It is read as a small crawl. Parts without an address of the web get one below that of the page.

const (
	maxWhole  = 512 << 20 // bytes of a message, which is read as a whole
	mostParts = 100_000
	deepest   = 5 // multiparts in multiparts
)

var (
	errNoMHTML = errors.New("no MHTML: it has no page with an address of the web")
	errBorder  = errors.New("the last border of the message is missing, so it was probably cut short")
	errLarge   = fmt.Errorf("it has more than %d bytes", maxWhole)
)

// IsMHTML reports whether a file is a message with a page.
func IsMHTML(r io.ReaderAt, size int64) bool {
	text, err := io.ReadAll(io.NewSectionReader(r, 0, min(size, looked)))
	if err != nil {
		return false
	}
	h, _ := headOf(text)
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	page := kind == "text/html" && h.Get("Content-Location") != ""
	return h.Get("MIME-Version") != "" && (strings.HasPrefix(kind, "multipart/") || page)
}

// headOf splits a message or part.
func headOf(text []byte) (h warc.Header, body []byte) {
	text = bytes.TrimLeft(text, "\r\n")
	end, n := bytes.Index(text, []byte("\n\r\n")), 3
	if bare := bytes.Index(text, []byte("\n\n")); end < 0 || (bare >= 0 && bare < end) {
		end, n = bare, 2
	}
	if end < 0 {
		return warc.ParseMessage(append([]byte("\n"), text...)).Header, nil
	}
	return warc.ParseMessage(append([]byte("\n"), text[:end+1]...)).Header, text[end+n:]
}

// part is one body of a message.
type part struct {
	url, id, kind string
	body          []byte
}

// message is one that is read.
type message struct {
	parts []part
	lost  int
	cut   bool // a border is missing
}

// read takes in a message or part with the head h.
func (m *message) read(h warc.Header, body []byte, depth int) {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if border := params["boundary"]; err == nil && strings.HasPrefix(kind, "multipart/") && border != "" {
		pieces := bytes.Split(append([]byte("\n"), body...), []byte("\n--"+border))
		for _, piece := range pieces[1:] {
			if depth == deepest || len(m.parts) >= mostParts || bytes.HasPrefix(piece, []byte("--")) {
				return
			}
			h, body := headOf(piece)
			m.read(h, bytes.TrimSuffix(body, []byte("\r")), depth+1)
		}
		m.cut = true
		return
	}
	decoded, err := decodedPart(h.Get("Content-Transfer-Encoding"), body)
	if err != nil {
		m.lost++
		return
	}
	m.parts = append(m.parts, part{
		url:  strings.ReplaceAll(h.Get("Content-Location"), " ", ""),
		id:   strings.Trim(h.Get("Content-ID"), "<> "),
		kind: h.Get("Content-Type"),
		body: decoded,
	})
}

func decodedPart(coding string, body []byte) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(coding)) {
	case "base64":
		text := bytes.Map(func(c rune) rune {
			if strings.ContainsRune(" \t\r\n=", c) {
				return -1
			}
			return c
		}, body)
		return base64.RawStdEncoding.AppendDecode(nil, text)
	case "quoted-printable":
		return io.ReadAll(quotedprintable.NewReader(bytes.NewReader(body)))
	}
	return body, nil
}

// MHTML writes the page and what it shows as records. date is when the file was made, if it does not say
// that. A message that is cut is an error unless lenient is set.
func MHTML(file io.Reader, date time.Time, lenient bool, to *warc.Writer) (t Taken, err error) {
	text, err := io.ReadAll(io.LimitReader(file, maxWhole+1))
	if err != nil {
		return t, err
	}
	if len(text) > maxWhole {
		return t, errLarge
	}
	h, body := headOf(text)
	var m message
	m.read(h, body, 0)
	if m.cut {
		err := &warc.RecordError{Record: len(m.parts), Offset: int64(len(text)), Err: errBorder}
		if !lenient {
			return t, err
		}
		t.Damaged, t.Wrong = 1, []error{err}
	}
	base, ok := m.page(h)
	if !ok {
		return t, errNoMHTML
	}
	if at, err := time.Parse("Mon, 2 Jan 2006 15:04:05 -0700", h.Get("Date")); err == nil {
		date = at
	}
	if err := writeInfo(to, date, []string{base.String()}); err != nil {
		return t, err
	}
	names := m.name(base)
	for i := range m.parts {
		p := &m.parts[i]
		if strings.HasPrefix(p.kind, "text/") {
			p.body = []byte(names.Replace(string(p.body)))
		}
		a := answer{
			url:  p.url,
			date: date,
			head: []byte("HTTP/1.1 200 OK\r\nContent-Type: " + p.kind + "\r\n\r\n"),
			body: bytes.NewReader(p.body),
			size: int64(len(p.body)),
		}
		if err := a.write(to); err != nil {
			return t, err
		}
		t.Answers++
	}
	t.Lost = m.lost
	return t, nil
}

// page is the address of the page: the one that the message gives, else that of its first page.
func (m *message) page(h warc.Header) (site.URL, bool) {
	at := []string{strings.ReplaceAll(h.Get("Snapshot-Content-Location"), " ", "")}
	for _, p := range m.parts {
		if strings.HasPrefix(p.kind, "text/html") || strings.HasPrefix(p.kind, "application/xhtml") {
			at = append(at, p.url)
		}
	}
	for _, text := range append(at, h.Get("Content-Location"), h.Get("Content-Base")) {
		if u, _, err := site.Parse(text); err == nil && strings.HasPrefix(text, "http") {
			return u, true
		}
	}
	return site.URL{}, false
}

// name gives all parts addresses of the web, and returns what replaces their identifiers in texts.
func (m *message) name(base site.URL) *strings.Replacer {
	var pairs []string
	for i := range m.parts {
		p := &m.parts[i]
		if id, ok := strings.CutPrefix(p.url, "cid:"); ok {
			p.id, p.url = id, ""
		}
		u, _, err := base.Resolve(p.url)
		if p.url == "" || err != nil {
			name := p.id
			if name == "" {
				name = fmt.Sprint(i)
			}
			u, _, err = base.Resolve("mhtml-parts/" + url.PathEscape(name))
		}
		if err != nil {
			continue // the record has no address of the web
		}
		if p.url = u.String(); p.id != "" {
			pairs = append(pairs, "cid:"+p.id, p.url)
		}
	}
	return strings.NewReplacer(pairs...)
}
