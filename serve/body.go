// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"net/http"
	"strings"

	"mirrord/phm"
)

// body sends a file: whole, in ranges, compressed, or not at all when the client has it.
func (v *view) body(r Resource) error {
	r, err := v.typed(r)
	if err != nil {
		return err
	}
	h, coding := v.w.Header(), ""
	heedRange(v.r, r.Size)
	if compressible(r.MIME) && r.Size >= minCompress {
		h.Add("Vary", "Accept-Encoding")
		if v.r.Header.Get("Range") == "" {
			coding = chooseCoding(v.r.Header["Accept-Encoding"], r.Size)
		}
	}
	if v.bar != "" {
		h.Add("Vary", "Sec-Fetch-Dest")
	}
	if coding != "" && fresh(v.r.Header, r, coding) { // nothing need be compressed to say so
		describe(h, r, coding)
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if coding != "" {
		packed, err := v.codings.get(v.r.Context(), r, coding, v.Table.Open)
		if err != nil {
			return err
		}
		if packed != nil {
			describe(h, r, coding)
			h.Set("Content-Type", contentType(r))
			h.Set("Content-Encoding", coding)
			w := &sized{v.w, int64(len(packed))}
			http.ServeContent(w, v.r, "", r.Modified, bytes.NewReader(packed))
			return nil
		}
	}
	f, err := v.Table.Open(r)
	if err != nil {
		return err
	}
	defer f.Close()
	describe(h, r, "")
	h.Set("Content-Type", contentType(r))
	http.ServeContent(v.w, v.r, "", r.Modified, f)
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

// describe sets the validators. http.ServeContent writes Last-Modified and answers by both (RFC 9110 §13.2).
func describe(h http.Header, r Resource, coding string) {
	h.Set("ETag", phm.EntityTag(r.Digest[:], coding))
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache") // keep it, but ask whether a new version has come
	}
}

// fresh reports whether the client has exactly this representation by its entity tag, and asks for nothing
// else.
func fresh(h http.Header, r Resource, coding string) bool {
	if h.Get("If-Match") != "" || h.Get("If-Unmodified-Since") != "" {
		return false
	}
	want := phm.EntityTag(r.Digest[:], coding)
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
