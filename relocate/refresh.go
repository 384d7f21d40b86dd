// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"slices"
)

// declareRefresh declares the redirection of an HTTP header Refresh in the document, because the copy is read
// without that header. A browser obeys the header and then no meta refresh (HTML standard, section 4.2.5.3),
// so it is put in front of them. Without a URL, or with the document's own, the header asks to load the page
// again: a copy has no use for it.
func declareRefresh(sc *scanner, raw []byte) {
	d := sc.d
	if sc.in.Refresh == "" || d.Format != HTML || len(d.Links) >= sc.in.MaxLinks {
		return
	}
	value := []byte(sc.in.Refresh)
	from, to := refreshURL(value)
	ref := bytes.Trim(value[from:to], "\t\n\f\r ")
	u, _, err := sc.in.URL.Resolve(string(ref)) // no <base> is known when the header comes
	if len(ref) == 0 || err != nil || u == sc.in.URL {
		return
	}
	at := headStart(sc, raw)
	l := Link{
		Start: at,
		End:   at,
		Ctx:   1 | CtxRefresh,
		Kind:  Hyperlink,
		Ref:   ref,
		URL:   []byte(u.String()),
	}
	i := 0
	for i < len(d.Links) && d.Links[i].Start < at {
		i++
	}
	d.Links = slices.Insert(d.Links, i, l)
	for k := range d.Edits {
		if int(d.Edits[k].Link) >= i {
			d.Edits[k].Link++
		}
	}
	d.Edits = append(d.Edits,
		Edit{
			Start: at,
			End:   at,
			New:   `<meta http-equiv="refresh" content="` + refreshTime(value) + `;url=`,
			Why:   EditRefresh,
			Link:  -1,
		},
		Edit{
			Start: at,
			End:   at,
			New:   `">`,
			Why:   editRefreshEnd,
			Link:  -1,
		})
}

// headStart returns where an element can be inserted before all others of the head.
func headStart(sc *scanner, raw []byte) int32 {
	for _, at := range [...]int32{sc.headEnd, sc.htmlEnd, sc.doctypeEnd} {
		if at >= 0 {
			return at
		}
	}
	for _, mark := range [...]string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(raw, []byte(mark)) {
			return int32(len(mark))
		}
	}
	return 0
}

// refreshTime returns the seconds that a Refresh waits for, as it is written.
func refreshTime(value []byte) string {
	value = bytes.TrimLeft(value, "\t\n\f\r ")
	n := 0
	for n < len(value) && (('0' <= value[n] && value[n] <= '9') || value[n] == '.') {
		n++
	}
	return string(value[:n])
}

// DeclaredRefresh returns the Refresh header that the edits and links of a scan declare, or "". target
// returns the URL of a link. With it a document is scanned again as it came.
func DeclaredRefresh(links []Link, edits []Edit, target func(i int) string) string {
	for _, e := range edits {
		if e.Why != EditRefresh {
			continue
		}
		for i, l := range links {
			if l.Start == e.Start && l.End == e.Start {
				_, content, _ := bytes.Cut([]byte(e.New), []byte(`content="`))
				return string(content) + target(i)
			}
		}
	}
	return ""
}
