// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bytes"
	"fmt"
	"strings"

	"mirrord/mirror/admit"
	"mirrord/relocate"
	"mirrord/site"
)

// links makes candidates of the links of the document that was scanned.
func (rd *Reader) links(b *Body) {
	x, most := &rd.x, rd.o.MaxLinks
	guesses := 0
	for i := range rd.doc.Links {
		l := &rd.doc.Links[i]
		if l.URL == nil || l.Kind == relocate.Action {
			continue
		}
		c := admit.Candidate{URL: l.URL, Follow: l.Kind != relocate.Reference}
		if l.Kind == relocate.Requisite {
			c.Purpose = admit.Requisite
		}
		if l.Kind == relocate.InScript || rd.doc.Format == relocate.Script {
			guesses = rd.guess(&c, b, guesses)
		}
		noFollow := x.NoFollow || (l.NoFollow && rd.o.ObeyNofollow)
		switch {
		case i >= most, c.Purpose == admit.Page && noFollow, x.Listing != nil && sortsListing(l.URL, b.URL):
			c.Follow = false
		}
		x.Candidates = append(x.Candidates, c)
		x.where = append(x.where, i)
	}
	if len(rd.doc.Links) > most {
		const what = "documents with more than limits.max_links = %d links: the rest was not followed"
		x.Notes = append(x.Notes, fmt.Sprintf(what, most))
	}
}

// sortsListing reports whether a link of a listing leads to the same listing in another order or form
// (?C=M;O=D): such links are the same directory again.
func sortsListing(u []byte, dir site.URL) bool {
	p, _, query := bytes.Cut(u, []byte{'?'})
	d, _, _ := strings.Cut(dir.String(), "?")
	return query && string(p) == d
}

// header makes candidates of what the header of an answer leads to, and of the icon that browsers request
// without being told.
func (rd *Reader) header(b *Body) {
	x := &rd.x
	isHTML := x.Format == relocate.HTML
	links := relocate.ParseLinkHeader(b.Links)
	for _, h := range links {
		rd.headerLink(b.URL, h)
	}
	if isHTML && !rd.doc.Icon && !namesIcon(links) {
		x.Candidates = append(x.Candidates, favicon(b.URL))
	}
	if ref := relocate.RefreshURL(b.Refresh); ref != "" && !isHTML { // of HTML it is a link of the document
		rd.headerLink(b.URL, relocate.HeaderLink{Ref: ref, Rel: "next"})
	}
}

// headerLink makes a candidate of one link of a Link header (RFC 8288).
func (rd *Reader) headerLink(base site.URL, h relocate.HeaderLink) {
	u, _, err := base.Resolve(h.Ref)
	if err != nil {
		return
	}
	c := admit.Candidate{URL: []byte(u.String()), Follow: !rd.x.NoFollow}
	switch k, ok := h.Kind(); {
	case !ok, k == relocate.Action, k == relocate.Reference:
		return
	case k == relocate.Requisite:
		c.Purpose, c.Follow = admit.Requisite, true
	}
	rd.x.Candidates = append(rd.x.Candidates, c)
}
