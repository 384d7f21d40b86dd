// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"strings"
)

// linkRel decides what a link element's href is for.
func (t *tagLinks) linkRel(mark int) {
	h := t.h
	rel := h.text(h.find(mark, attrRel))
	h.d.Icon = h.d.Icon || (hasToken(rel, "icon") && len(h.text(h.find(mark, attrHref))) > 0)
	t.rel, t.noLink = relKind(rel, h.text(h.find(mark, attrType)), h.find(mark, attrHreflang) != nil)
}

// relWord says what a relation type makes of a link.
type relWord struct {
	strength  int // of several relation types the strongest wins; 0 says nothing of the kind
	kind      Kind
	alternate bool // a hyperlink if it is a translation or a feed
	hint      bool // names a server only
}

// relWords are the relation types that matter.
var relWords = newRelWords()

func newRelWords() map[string]relWord {
	all := map[string]relWord{
		"alternate":    {alternate: true},
		"preconnect":   {hint: true},
		"dns-prefetch": {hint: true},
	}
	for _, w := range [...]string{
		"stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image",
		"mask-icon",
		"fluid-icon", "manifest", "preload", "modulepreload", "prefetch", "image_src",
	} {
		all[w] = relWord{strength: 3, kind: Requisite}
	}
	for _, w := range [...]string{
		"next", "prev", "previous", "first", "last", "up", "start", "begin", "end", "index", "contents",
		"toc", "chapter",
		"section", "subsection", "appendix", "glossary", "help", "author", "license", "copyright", "home", "top",
		"prerender", "bookmark", "search",
	} {
		all[w] = relWord{strength: 2, kind: Hyperlink}
	}
	for _, w := range [...]string{"canonical", "shortlink", "pingback", "amphtml"} {
		all[w] = relWord{strength: 1, kind: Reference}
	}
	return all
}

// relKind returns what a link of the relation types rel is for; the strongest of several wins. hint says that
// it names nothing to fetch or relocate. hreflang says that a language is given, typ is the media type or
// empty.
func relKind(rel, typ []byte, hreflang bool) (kind Kind, hint bool) {
	kind = Reference
	alternate, best := false, 0
	set := func(strength int, k Kind) {
		if strength > best {
			best, kind = strength, k
		}
	}
	for f, rest := word(rel); len(f) > 0; f, rest = word(rest) {
		w := relWords[lowered(f)]
		set(w.strength, w.kind)
		alternate, hint = alternate || w.alternate, hint || w.hint
	}
	if alternate && best < 3 {
		typ := strings.ToLower(string(typ))
		if hreflang || strings.Contains(typ, "rss") || strings.Contains(typ, "atom") ||
			strings.Contains(typ, "rdf+xml") || strings.Contains(typ, "feed+json") {
			set(2, Hyperlink)
		}
	}
	return kind, hint && best == 0
}

// objectIsFrame reports whether an object shows an HTML document.
func (h *htmlScan) objectIsFrame(mark int) bool {
	if typ := h.text(h.find(mark, attrType)); len(typ) > 0 {
		return bytes.HasPrefix(bytes.ToLower(typ), []byte("text/html"))
	}
	ref := h.text(h.find(mark, attrData))
	if i := bytes.IndexAny(ref, "?#"); i >= 0 {
		ref = ref[:i]
	}
	n := len(ref)
	return (n > 0 && ref[n-1] == '/') || (n > 4 && equalFold(ref[n-4:], ".htm")) ||
		(n > 5 && equalFold(ref[n-5:], ".html"))
}

// lowered returns b in lower case, white space trimmed.
func lowered(b []byte) string { return strings.ToLower(string(bytes.TrimSpace(b))) }

// hasToken reports whether a space-separated list holds a word, case aside.
func hasToken(list []byte, want string) bool {
	for f, rest := word(list); len(f) > 0; f, rest = word(rest) {
		if equalFold(f, want) {
			return true
		}
	}
	return false
}
