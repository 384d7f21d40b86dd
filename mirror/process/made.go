// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"compress/gzip"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"mirrord/fetch"
	"mirrord/internal/volatile"
	"mirrord/mirror/revisit"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// isMade reports whether an answer may have been made for its request by a program, and is no file: so is one
// that was modified when it was sent.
func isMade(h *fetch.Head) bool {
	caches := h.Header.Get("Cache-Control")
	private := strings.Contains(caches, "private") || strings.Contains(caches, "no-")
	hashed := h.ETag == "" || strings.HasPrefix(h.ETag, "W/")
	return private || h.Header.Get("Set-Cookie") != "" || (hashed && (h.LastModified == "" || modifiedNow(h)))
}

// modifiedNow reports whether the head of an answer dates the last change to the moment of the answer.
func modifiedNow(h *fetch.Head) bool {
	sent, err := http.ParseTime(h.Header.Get("Date"))
	if err != nil {
		return false
	}
	at, err := http.ParseTime(h.LastModified)
	return err == nil && sent.Sub(at).Abs() <= 2*time.Second
}

// mayHaveNoise reports whether a body may be a page, a feed, or a packed file that a program made.
func mayHaveNoise(mime string, h *fetch.Head, body []byte) bool {
	return (isPage(mime) || isGzip(body)) && isMade(h)
}

// isPage reports whether a type is one of pages and feeds.
func isPage(mime string) bool {
	switch mime {
	case "text/html", "application/xhtml+xml", "application/rss+xml", "application/atom+xml":
		return true
	}
	return false
}

// changed has a page that changed requested twice when a program may have made it. So may be one that differs
// only in what may change by itself, with a hash for its ETag, or with an ETag that changed although its time
// did not, and one that differs only where no reader sees it.
func changed(p *revisit.Noise, now, old *record.Resource, h *fetch.Head, came revisit.PageAnswer, only bool) {
	hash := h.ETag != "" && h.ETag != old.ETag && (h.LastModified == "" || now.LastModified == old.LastModified)
	switch {
	case isMade(h):
		p.Came(came, revisit.IsOther)
	case isPage(now.MIME) && ((only && hash) || p.IsUnseen(came)):
		p.Came(came, revisit.IsNew)
	}
	p.Changed(old, came)
}

// answerOf is an answer as it is compared with another one of the same moment.
func answerOf(u site.URL, h *fetch.Head, body []byte, at time.Time) revisit.PageAnswer {
	return revisit.PageAnswer{
		URL:  u,
		Body: unpacked(body),
		Tag:  h.ETag,
		At:   at,
	}
}

// samePacked reports whether a packed body that a program made has what the stored one has, but for noise.
// The time at which it was packed is another one in each answer.
func samePacked(
	bodies StoredBodies, known volatile.Positions, old *record.Resource, h *fetch.Head, body []byte,
) bool {
	if old.Body != record.BlobBody || !isGzip(body) || !isMade(h) || old.Size > volatile.MaxBody {
		return false
	}
	f, err := bodies.Open(old.Digest, volatile.MaxBody)
	if err != nil {
		return false // verify reports it
	}
	defer f.Close()
	packed, err := io.ReadAll(f)
	if err != nil {
		return false
	}
	was, now := unpacked(packed), unpacked(body)
	if bytes.Equal(was, now) {
		return true
	}
	_, _, same := known.Same(was, now)
	return same
}

// unpacked returns what a gzip file has, or the body itself when it is another file, or too large.
func unpacked(body []byte) []byte {
	if !isGzip(body) {
		return body
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	out, err := io.ReadAll(io.LimitReader(z, volatile.MaxBody+1))
	if err != nil || len(out) > volatile.MaxBody {
		return body
	}
	return out
}

// isGzip reports whether a body is a gzip file that is looked at unpacked.
func isGzip(body []byte) bool {
	return bytes.HasPrefix(body, []byte("\x1f\x8b")) && len(body) <= volatile.MaxBody
}

// namesNew returns what reports whether some reference in a document names a URL of the job that was never
// seen.
func namesNew(rules *scope.URLRules, table *urls.Table) func(doc site.URL, refs [][]byte) bool {
	return func(doc site.URL, refs [][]byte) bool {
		return slices.ContainsFunc(refs, func(ref []byte) bool {
			u, _, err := doc.Resolve(html.UnescapeString(string(ref)))
			if err != nil || !rules.Scope.Covers(u) {
				return false
			}
			_, known := table.FindURL(rules.Main(u))
			return !known
		})
	}
}
