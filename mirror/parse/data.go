// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"path"
	"strings"

	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/site"
	"mirrord/site/listing"
)

// data reads an answer that is made for programs, JSON or XML. A listing links to its entries; another
// answer without links, at an address without an extension, leads nowhere.
func (rd *Reader) data(b *Body) {
	switch urls, ok := entriesOf(b); {
	case ok:
		rd.follow(urls)
	case (rd.x.Doc != nil) && (len(rd.x.Doc.Links) > 0), !isData(b.MIME), path.Ext(b.URL.Path()) != "":
	case hasData(b.Data):
		rd.x.Cut |= result.LeadsNowhere
	}
}

// entriesOf returns the entries of a listing: of a folder, as nginx and caddy write it in JSON or XML, or of
// a bucket.
func entriesOf(b *Body) (urls []site.URL, ok bool) {
	if !isData(b.MIME) || !looksListed(b.Data) {
		return nil, false
	}
	if k, ok := listing.ParseBucket(b.Data, b.URL); ok {
		urls = append(append(urls, k.Files...), k.Folders...)
		if !k.Next.IsZero() {
			urls = append(urls, k.Next)
		}
		return urls, true
	}
	l := listingOf(b)
	if l == nil {
		return nil, false
	}
	for i := range l.Entries {
		urls = append(urls, l.Entries[i].URL)
	}
	return urls, true
}

// follow makes candidates of URLs, of which as many are followed as limits.max_links allows.
func (rd *Reader) follow(urls []site.URL) {
	x, left := &rd.x, rd.MaxLinks
	for _, u := range urls {
		c := scope.Candidate{URL: []byte(u.String()), Follow: !x.NoFollow}
		if ok, _ := rd.Rules.Allow(u, scope.Page); ok && c.Follow {
			if left--; left < 0 {
				c.Follow, x.Cut = false, x.Cut|result.CutLinks
			}
		}
		x.Candidates = append(x.Candidates, c)
	}
}

// isData reports whether a type is JSON or XML, or says nothing.
func isData(mime string) bool {
	switch mime {
	case "application/json", "text/json", "application/xml", "text/xml":
		return true
	}
	return IsUnknownType(mime) || strings.HasSuffix(mime, "+json") || strings.HasSuffix(mime, "+xml")
}

// hasData reports whether a body is an object, an array or an element, not an empty one, and nothing that
// browsers show.
func hasData(body []byte) bool {
	t := bytes.TrimSpace(body[:min(len(body), 1024)])
	if (len(t) <= 2) || bytes.IndexByte([]byte("{[<"), t[0]) < 0 {
		return false
	}
	return !bytes.Contains(t, []byte("<html")) && !bytes.Contains(t, []byte("<svg")) &&
		!bytes.Contains(t, []byte("<math"))
}

// looksListed reports whether a body begins as a listing in JSON or XML does.
func looksListed(body []byte) bool {
	head := bytes.TrimSpace(bytes.TrimPrefix(body[:min(len(body), 1024)], []byte("\ufeff")))
	if rest, ok := bytes.CutPrefix(head, []byte("[")); ok {
		rest = bytes.TrimSpace(rest)
		object, ok := bytes.CutPrefix(rest, []byte("{"))
		return bytes.Equal(rest, []byte("]")) || (ok && bytes.HasPrefix(bytes.TrimSpace(object), []byte(`"name"`)))
	}
	nginx := bytes.HasPrefix(head, []byte("<?xml")) && bytes.Contains(head, []byte("<list>"))
	return nginx || listing.IsBucket(head)
}
