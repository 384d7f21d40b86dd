// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"

	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/relocate"
	"mirrord/site"
)

// links makes candidates of the links of the document that was scanned.
func (rd *Reader) links(b *Body) {
	x, guesses := &rd.x, 0
	within := rd.within()
	for i := range rd.doc.Links {
		l := &rd.doc.Links[i]
		if l.URL == nil || l.Kind == relocate.Action {
			continue
		}
		c := scope.Candidate{URL: l.URL, Follow: l.Kind != relocate.Reference}
		if l.Kind == relocate.Requisite {
			c.Purpose = scope.Requisite
		}
		if l.Kind == relocate.InScript || rd.doc.Format == relocate.Script {
			guesses = rd.guess(&c, b, guesses)
		}
		noFollow := (x.NoFollow || (l.NoFollow && rd.ObeyNofollow)) && !rd.wants(l.URL)
		switch {
		case c.Purpose == scope.Page && noFollow, x.Listing != nil && sortsListing(l.URL, b.URL):
			c.Follow = false
		case c.Follow && !within(c.URL, c.Purpose):
			c.Follow, x.Cut = false, x.Cut|result.CutLinks
		}
		x.Candidates = append(x.Candidates, c)
		x.where = append(x.where, i)
	}
}

// wants reports whether a link is followed although the page says nofollow.
func (rd *Reader) wants(u []byte) bool {
	return rd.ByProfile && rd.Rules.Wants(site.Canonical(string(u)))
}

// within returns what reports, for each link of a document that is to be followed, whether it comes before
// limits.max_links. Links that the rules of the job exclude do not count.
func (rd *Reader) within() func(u []byte, as scope.Purpose) bool {
	left := rd.MaxLinks
	if len(rd.doc.Links) <= left {
		return func([]byte, scope.Purpose) bool { return true }
	}
	return func(u []byte, as scope.Purpose) bool {
		if ok, _ := rd.Rules.Allow(site.Canonical(string(u)), as); !ok {
			return true // nothing follows it
		}
		left--
		return left >= 0
	}
}

// sortsListing reports whether a link of a listing is to the same listing in another order or form
// (?C=M;O=D): such links are the same directory again.
func sortsListing(u []byte, dir site.URL) bool {
	p, _, query := bytes.Cut(u, []byte{'?'})
	d, _, _ := strings.Cut(dir.String(), "?")
	return query && string(p) == d
}

// header makes candidates of the links in the header of an answer, and of the icon that browsers request
// by default.
func (rd *Reader) header(b *Body) {
	x := &rd.x
	isHTML := x.Format == relocate.HTML
	links := relocate.ParseLinkHeader(b.Links)
	if len(links) >= relocate.MaxHeaderLinks {
		x.Cut |= result.CutHeader
	}
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
	c := scope.Candidate{URL: []byte(u.String()), Follow: !rd.x.NoFollow}
	switch k, ok := h.Kind(); {
	case !ok, k == relocate.Action, k == relocate.Reference:
		return
	case k == relocate.Requisite:
		c.Purpose, c.Follow = scope.Requisite, true
	}
	rd.x.Candidates = append(rd.x.Candidates, c)
}
