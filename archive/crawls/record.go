// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/archive/warc"
)

// maxInfo is how many bytes of a warcinfo record are read.
const maxInfo = 1 << 20

// capture reads what a record says beside its body; wanted is false for one that is no answer to a GET of a
// web page.
func (r *reading) capture(f *file, rec *warc.Record) (c capture, wanted bool, err error) {
	switch rec.Type() {
	case warc.Info:
		return c, false, r.warcinfo(rec)
	case warc.Request:
		m, err := rec.Message()
		if err == nil && m != nil && answersNoGET(m.Start) {
			r.posts[idOf(rec.Header.Get("WARC-Concurrent-To"))] = true
			r.posts[idOf(rec.Header.Get("WARC-Record-ID"))] = true
		}
		return c, false, err
	case warc.Response, warc.Revisit, warc.Verbatim:
	default:
		return c, false, nil
	}
	u := rec.URL()
	if !strings.HasPrefix(u, "http:") && !strings.HasPrefix(u, "https:") {
		return c, false, nil
	}
	m, err := rec.Message()
	if err != nil {
		return c, false, err
	}
	c = capture{status: statusOK, info: r.infoOf(rec), html: isHTML(rec, m)}
	c.date = r.dated(f, rec, m, c.info)
	c.size = rec.Length
	if m != nil {
		c.status = int16(min(m.Status(), 999))
		c.size -= int64(len(m.Raw))
	}
	switch rec.Type() {
	case warc.Revisit:
		c.kind = revisit
		if m == nil {
			c.status = 0
		}
	case warc.Verbatim:
		c.kind = verbatim
	default:
		if m == nil {
			return c, false, nil
		}
		if c.status == statusNotModified {
			c.kind = revisit // of the body that the crawler has of the URL
		}
	}
	return c, true, nil
}

// dated is the time of an answer, in Unix seconds: that of its record, else that which its head gives, else
// that of the warcinfo in force, else that of the file.
func (r *reading) dated(f *file, rec *warc.Record, m *warc.HTTPHead, info int32) int64 {
	date := rec.Date()
	if !date.IsZero() {
		return date.Unix()
	}
	r.Counted.Undated++
	if m != nil {
		date = warc.ParseDate(m.Header.Get("Date"))
	}
	if date.IsZero() && info >= 0 {
		date = r.Recordings.infos[info].date
	}
	if date.IsZero() {
		date = f.modified
	}
	return max(date.Unix(), 0)
}

// isHTML reports whether an answer says that it is a page.
func isHTML(rec *warc.Record, m *warc.HTTPHead) bool {
	head := rec.Header
	if m != nil {
		head = m.Header
	}
	return strings.Contains(strings.ToLower(warc.Essence(head)), "html")
}

// answersNoGET reports whether a line is that of a request with another method. Another line says
// nothing about the answer.
func answersNoGET(line string) bool {
	method, rest, ok := strings.Cut(line, " ")
	isMethod := ok && rest != "" && strings.Trim(strings.ToUpper(method), "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == ""
	return isMethod && method != "" && !strings.EqualFold(method, "GET")
}

// idOf is a short form of an identifier, 0 for none.
func idOf(s string) uint64 {
	s = strings.Trim(strings.TrimSpace(s), "<>")
	if s == "" {
		return 0
	}
	return xxh3.HashString(s)
}

// payloadOf is a short form of the digest of a body, 0 for none.
func payloadOf(rec *warc.Record) uint64 {
	label, value, ok := strings.Cut(rec.Header.Get("WARC-Payload-Digest"), ":")
	if !ok {
		return 0
	}
	return idOf(strings.ToLower(strings.ReplaceAll(label, "-", "")) + ":" + strings.ToLower(value))
}
