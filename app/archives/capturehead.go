// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mirrord/archive/warc"
	"mirrord/fetch/heads"
	"mirrord/store/record"
)

// capturedHead is the head of an answer for a web archive, in which the body stands as it is stored: without
// encodings and chunks. The fields that speak of those are kept under names that begin with X-Orig-.
// Cookies are left out unless they are wanted. added says that the head had no Content-Length.
func capturedHead(h *heads.Head, size int64, cookies bool) (head []byte, added bool) {
	length := strconv.FormatInt(size, 10)
	coded := len(h.Values("Content-Encoding"))+len(h.Values("Transfer-Encoding")) > 0
	said, renamed := false, false
	var fields []warc.HeaderField
	for _, f := range h.Fields {
		switch strings.ToLower(f.Name) {
		case "content-encoding", "transfer-encoding":
			f.Name = "X-Orig-" + f.Name
		case "content-length":
			if coded || f.Value != length {
				f.Name, renamed = "X-Orig-"+f.Name, true
			} else {
				said = true
			}
		case "set-cookie", "set-cookie2":
			if !cookies {
				continue
			}
		}
		fields = append(fields, warc.HeaderField(f))
	}
	if !said {
		fields = append(fields, warc.HeaderField{Name: "Content-Length", Value: length})
	}
	return warc.WriteHead(h.Status, fields...), !said && !renamed
}

// madeHead is a head for a body of which no head is stored: what the record knows of it.
func madeHead(rec *record.Resource) []byte {
	mime := rec.MIME
	if mime != "" && rec.Charset != "" {
		mime += "; charset=" + rec.Charset
	}
	fields := []warc.HeaderField{
		{Name: "Content-Type", Value: mime}, {Name: "Last-Modified", Value: rec.LastModified},
		{Name: "ETag", Value: rec.ETag}, {Name: "Content-Length", Value: strconv.FormatInt(rec.Size, 10)},
	}
	fields = slices.DeleteFunc(fields, func(f warc.HeaderField) bool { return f.Value == "" })
	return warc.WriteHead(warc.Good, fields...)
}

// madeRedirect is the same for a redirect to a URL.
func madeRedirect(status int, to string) []byte {
	if status < 300 || status > 399 {
		status = http.StatusFound
	}
	return warc.WriteHead(fmt.Sprintf("HTTP/1.1 %d %s", status, http.StatusText(status)),
		warc.HeaderField{Name: "Location", Value: to}, warc.HeaderField{Name: "Content-Length", Value: "0"})
}
