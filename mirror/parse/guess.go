// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"path"
	"strings"

	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/record"
)

// Strings in scripts that are plainly the addresses of files are guesses: most name what the page loads, some
// name nothing. Browsers also request /favicon.ico at the origin of each page that names no icon (HTML
// standard, section 4.6.7.9); that is a guess, too.

// docGuesses is how many guesses of one document are followed, beside the pages that a script of its own
// names: those are a menu.
const docGuesses = 100

// guess decides on a link of a script; n is how many of the document came before it. It returns how many
// there are now.
func (rd *Reader) guess(c *scope.Candidate, b *Body, n int) int {
	c.Guess = true
	u := site.Canonical(string(c.URL))
	c.Purpose = scope.Requisite
	if guessedPage(u) {
		c.Purpose = scope.Page
	}
	menu := c.Purpose == scope.Page && rd.doc.Format == relocate.Script
	if menu {
		u = fromRoot(u)
		c.URL = []byte(u.String())
	}
	switch {
	case bookStyle(u, b.Data):
		c.Follow = false
		return n
	case menu && rd.Rules.AllowGuess(u, b.URL) && !rd.Tired():
		return n
	case n == docGuesses:
		const what = "documents with more than %d addresses in scripts: the rest was not followed"
		rd.x.Notes = append(rd.x.Notes, fmt.Sprintf(what, docGuesses))
		c.Follow = false
	case n > docGuesses, !rd.Rules.AllowGuess(u, b.URL), rd.Tired():
		c.Follow = false
	}
	return n + 1
}

// guessedPage reports whether a URL is named like a page.
func guessedPage(u site.URL) bool {
	switch strings.ToLower(path.Ext(u.Path())) {
	case ".html", ".htm", ".xhtml", ".pdf":
		return true
	}
	return false
}

// Misleads reports whether an answer of a type to a guess is the page that many a site has for every path.
func Misleads(u site.URL, mime string) bool {
	page := mime == "text/html"
	if scope.IsFavicon(u) {
		page = !mayBeIcon(mime)
	}
	return page && !guessedPage(u)
}

// favicon is the icon of a page that names none.
func favicon(page site.URL) scope.Candidate {
	return scope.Candidate{
		URL:     []byte(page.Origin() + scope.FaviconPath),
		Purpose: scope.Requisite,
		Follow:  true,
		Guess:   true,
	}
}

// namesIcon reports whether a Link header names an icon.
func namesIcon(links []relocate.HeaderLink) bool {
	for _, l := range links {
		if l.Is("icon") {
			return true
		}
	}
	return false
}

// mayBeIcon reports whether an answer of this type may be an image: some servers do not know the type of
// icons.
func mayBeIcon(mime string) bool {
	switch mime {
	case "", "application/octet-stream", "application/ico", "application/x-ico", "application/x-icon":
		return true
	}
	return strings.HasPrefix(mime, "image/")
}

// IsScript reports whether a stored body is a script, a part of a search index or a listing in JSON, that may
// name something.
func IsScript(rec *record.Resource) bool {
	plain := rec.Body == record.BlobBody && !urls.IsSitemap(rec)
	return plain && MayName(rec, nil)
}

// MayName reports whether a body that is kept byte for byte may name something.
func MayName(rec *record.Resource, head []byte) bool {
	format := relocate.Detect(rec.MIME, rec.URL, head)
	return (format == relocate.Script) ||
		((format == relocate.Unknown) && (namesFiles(rec.URL) || mayList(rec.MIME, head)))
}

// mayList reports whether a body with a type may be a listing in JSON; head is nil while only the type is
// known.
func mayList(mime string, head []byte) bool {
	return isData(mime) && ((head == nil) || looksListed(head))
}
