// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"mirrord/phm"
)

// body sends a file.
func (v *view) body(r Resource) error {
	r, err := v.typed(r)
	if err != nil {
		return err
	}
	return v.send(newServed(r))
}

// send sends a file: whole, in ranges, compressed, or not at all when the client has it.
func (v *view) send(a *served) error {
	h, coding := v.w.Header(), ""
	heedRange(v.r, a.r.Size)
	if a.packs {
		if a.key.state == 0 { // else it is among the fields
			h.Add("Vary", "Accept-Encoding")
		}
		if accept := v.r.Header["Accept-Encoding"]; len(accept) > 0 && v.r.Header.Get("Range") == "" {
			coding = v.codings.choose(accept, a.r.Size)
		}
	}
	if coding != "" && v.method() && v.fresh(a.r, coding) { // nothing need be compressed to say so
		v.describe(a, coding)
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if coding != "" {
		packed, err := v.codings.get(v.r.Context(), a.r, coding, v.file)
		if err != nil {
			return err
		}
		if packed != nil {
			v.describe(a, coding)
			h["Content-Type"] = a.kind
			h.Set("Content-Encoding", coding)
			v.whole(a, packed)
			return nil
		}
	}
	b, err := v.inMemory(a)
	if err != nil {
		return err
	}
	if b != nil {
		v.describe(a, "")
		h["Content-Type"] = a.kind
		v.whole(a, b)
		return nil
	}
	f, err := v.file(a.r)
	if err != nil {
		return err
	}
	defer f.Close()
	v.describe(a, "")
	h["Content-Type"] = a.kind
	http.ServeContent(v.w, v.r, "", a.r.Modified, f)
	return nil
}

// heedRange changes a Range field so that http.ServeContent does with it what RFC 9110 says: only GET has
// ranges, units but bytes are ignored (§14.2), names of units have no case (§14.1), and the last 0 bytes of
// size cannot be had (§14.1.2).
func heedRange(r *http.Request, size int64) {
	unit, set, _ := strings.Cut(r.Header.Get("Range"), "=")
	switch {
	case unit == "":
	case r.Method != http.MethodGet, !strings.EqualFold(unit, "bytes"):
		r.Header.Del("Range")
	default:
		specs := strings.Split(set, ",")
		for i, spec := range specs {
			if n, ok := strings.CutPrefix(strings.TrimSpace(spec), "-"); ok && n != "" && strings.Trim(n, "0") == "" {
				specs[i] = itoa(size) + "-"
			}
		}
		r.Header.Set("Range", "bytes="+strings.Join(specs, ","))
	}
}

// file opens a file of the version that is served. An answer that was remembered has opened none: it is the
// current one, if that is still in the state of the answer.
func (v *view) file(r Resource) (io.ReadSeekCloser, error) {
	if v.snap == nil {
		snap, err := v.site.Snapshot(v.r.Context(), 0)
		if err != nil {
			return nil, err
		}
		if v.snap = snap; snap.State != v.state {
			return nil, ErrMoved
		}
	}
	return v.snap.Table.Open(r)
}

// whole sends what is in memory. Without a condition and a range http.ServeContent would do the same.
func (v *view) whole(a *served, b []byte) {
	h, asked := v.w.Header(), v.r.Header
	if v.r.Method == http.MethodGet && asked["Range"] == nil && asked["If-None-Match"] == nil &&
		asked["If-Modified-Since"] == nil && asked["If-Match"] == nil && asked["If-Unmodified-Since"] == nil {
		if a.modified != nil {
			h["Last-Modified"] = a.modified
		}
		h["Accept-Ranges"] = a.ranges
		h["Content-Length"] = []string{itoa(int64(len(b)))}
		v.w.Write(b) // an error means that the client has disconnected
		return
	}
	http.ServeContent(&sized{v.w, int64(len(b))}, v.r, "", a.r.Modified, bytes.NewReader(b))
}

// describe sets the validators. http.ServeContent writes Last-Modified and answers by both (RFC 9110 §13.2).
func (v *view) describe(a *served, coding string) {
	h := v.w.Header()
	if coding == "" {
		h["Etag"] = a.etag
	} else {
		h.Set("ETag", etag(a.r, coding))
	}
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = a.check
	}
}

func etag(r Resource, coding string) string { return phm.EntityTag(r.Digest[:], coding) }

func (v *view) method() bool { return v.r.Method == http.MethodGet || v.r.Method == http.MethodHead }

// fresh reports whether the client has exactly this representation by its entity tag, and asks for nothing
// else.
func (v *view) fresh(r Resource, coding string) bool {
	h := v.r.Header
	if h.Get("If-Match") != "" || h.Get("If-Unmodified-Since") != "" {
		return false
	}
	want := etag(r, coding)
	for _, line := range h.Values("If-None-Match") {
		for tag := range strings.SplitSeq(line, ",") { // our tags have no comma
			if strings.TrimPrefix(strings.TrimSpace(tag), "W/") == want {
				return true
			}
		}
	}
	return false
}

// sized states the length of a compressed body, which http.ServeContent leaves out.
type sized struct {
	http.ResponseWriter
	n int64
}

func (s *sized) WriteHeader(status int) {
	if status == http.StatusOK {
		s.Header().Set("Content-Length", itoa(s.n))
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *sized) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// minCompress is the size in bytes from which compressing saves a packet.
const minCompress = 1024

// compressible reports whether bodies of a type get smaller: text in all its forms, and the few binary ones
// that are not packed.
func compressible(mime string) bool {
	switch mime {
	case "application/javascript", "application/x-javascript", "application/ecmascript", "application/json",
		"application/xml", "application/wasm",
		"application/rtf", "application/postscript", "application/x-tex", "application/x-sh", "application/x-tar",
		"application/rss+xml",
		"image/bmp", "image/x-icon", "image/vnd.microsoft.icon", "font/ttf", "font/otf",
		"application/vnd.ms-fontobject", "application/x-font-ttf":
		return true
	}
	return strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "+xml") ||
		strings.HasSuffix(mime, "+json")
}
