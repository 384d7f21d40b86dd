// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// A Description is what a page says of itself, as plain text on one line each.
type Description struct {
	Title, Copyright, Abstract, Language string
	Authors                              []string
}

// Bounds of a Description, in runes; and the bytes of a page that are looked at.
const (
	maxTitle    = 300
	maxAbstract = 2000
	maxAuthors  = 20
	maxPage     = 4 << 20
)

// copyrightPlaces selects the elements that may hold a copyright line.
const copyrightPlaces = "footer, small, address, [class*=copyright], [id*=copyright], [class*=footer], " +
	"[id*=footer], body > p, body > div, font"

// Describe reads title, authors, copyright, abstract and language out of the page of an entry point. The
// encoding is found as browsers do, from the bytes. It returns what it finds and never fails: of a page that
// is nested too deeply for a tree only the head is read.
func Describe(page []byte) Description { return describe(toUTF8(page[:min(len(page), maxPage)])) }

// contentTag is a tag with which the head of a page ends.
var contentTag = regexp.MustCompile(`(?i)<(?:/head|body|div|span|font|table|ul|ol|dl|p|b|i|center)\b`)

func describe(page []byte) Description {
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil { // more than 512 elements open
		if end := contentTag.FindIndex(page); end != nil {
			return describe(page[:end[0]])
		}
		return Description{}
	}
	doc := goquery.NewDocumentFromNode(root)
	var c clues
	c.lang = doc.Find("html").AttrOr("lang", "")
	c.title = doc.Find("head > title, title").Not("svg title").First().Text()
	doc.Find("meta").Each(func(_ int, s *goquery.Selection) {
		c.meta(s.AttrOr("name", s.AttrOr("property", "")), s.AttrOr("content", ""))
	})
	if clean(c.title, 1) == "" && c.ogTitle == "" {
		c.title = doc.Find("h1").First().Text()
	}
	if c.copyright == "" {
		doc.Find(copyrightPlaces).EachWithBreak(func(_ int, s *goquery.Selection) bool {
			c.copyright = copyrightLine(s.Text())
			return c.copyright == ""
		})
	}
	return c.description()
}

// clues collects what a page says in several places; description chooses.
type clues struct {
	title, ogTitle, copyright, abstract, dcAbstract, ogAbstract, lang string
	authors                                                           []string
}

func (c *clues) meta(name, content string) {
	first := func(field *string) {
		if *field == "" {
			*field = content
		}
	}
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "description":
		first(&c.abstract)
	case "dc.description", "dcterms.description", "dcterms.abstract":
		first(&c.dcAbstract)
	case "og:description", "twitter:description":
		first(&c.ogAbstract)
	case "og:title", "twitter:title", "dc.title", "dcterms.title":
		first(&c.ogTitle)
	case "copyright", "rights", "dc.rights", "dcterms.rights", "dcterms.rightsholder":
		first(&c.copyright)
	case "author", "dc.creator", "dcterms.creator", "citation_author", "book:author":
		c.authors = append(c.authors, content)
	}
}

func (c *clues) description() Description {
	d := Description{
		Title:     firstOf(maxTitle, c.title, c.ogTitle),
		Copyright: firstOf(maxTitle, c.copyright),
		Abstract:  firstOf(maxAbstract, c.abstract, c.dcAbstract, c.ogAbstract),
		Language:  languageTag(c.lang),
	}
	seen := map[string]bool{}
	for _, a := range c.authors {
		if a = clean(a, maxTitle); a != "" && !seen[a] && len(d.Authors) < maxAuthors {
			seen[a] = true
			d.Authors = append(d.Authors, a)
		}
	}
	return d
}

// copyrightLine returns the line of text that claims a copyright, if it is short enough to be one.
func copyrightLine(text string) string {
	if len(text) > 16<<10 {
		return ""
	}
	for line := range strings.Lines(text) {
		low := strings.ToLower(line)
		if i := strings.Index(low, "copyright"); strings.Contains(line, "©") ||
			(i >= 0 && strings.ContainsAny(low[i:], "0123456789")) {
			if line = clean(line, maxTitle+1); utf8.RuneCountInString(line) <= maxTitle {
				return line
			}
		}
	}
	return ""
}

func firstOf(limit int, values ...string) string {
	for _, v := range values {
		if v = clean(v, limit); v != "" {
			return v
		}
	}
	return ""
}

// clean returns text on one line: blanks run together, controls dropped, at most limit runes.
func clean(s string, limit int) string {
	var b strings.Builder
	n, blank := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			blank = n > 0
			continue
		}
		if unicode.Is(unicode.C, r) || r == utf8.RuneError {
			continue
		}
		if blank {
			if n++; n > limit {
				break
			}
			b.WriteByte(' ')
			blank = false
		}
		if n++; n > limit {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), " ")
}

// languageTag returns s when it looks like a language tag.
func languageTag(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 35 {
		return ""
	}
	for _, c := range []byte(s) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' {
			return ""
		}
	}
	return s
}

func toUTF8(page []byte) []byte {
	enc, name, _ := charset.DetermineEncoding(page, "")
	if name == "utf-8" || (name == "windows-1252" && utf8.Valid(page)) {
		return bytes.TrimPrefix(page, []byte("\ufeff"))
	}
	out, err := enc.NewDecoder().Bytes(page)
	if err != nil {
		return page
	}
	return bytes.TrimPrefix(out, []byte("\ufeff"))
}
