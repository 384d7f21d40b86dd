// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"

	"mirrord/archive/zim"
	"mirrord/phm"
	"mirrord/replica/text"
)

// Bounds of metadata, in characters: those that zimcheck enforces since 3.4.
const (
	maxTitle       = 30
	maxDescription = 80
	maxLong        = 4000
)

const textType = "text/plain;charset=utf-8"

// describe adds the metadata.
func (p *packer) describe(m *phm.Meta, name string) error {
	host := m.Primary
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	origin := m.Primary + "/"
	if len(m.Origins) > 0 {
		origin = m.Origins[0]
	}
	host = cmp.Or(host, "unknown")
	values := map[string]string{
		"Title":       cutTo(cmp.Or(m.Title, host), maxTitle),
		"Description": cutTo(cmp.Or(m.Abstract, "A mirror of "+host), maxDescription),
		"Language":    languageOf(m.Language),
		"Creator":     cmp.Or(strings.Join(m.Authors, ", "), host),
		"Publisher":   "mirrord",
		"Date":        m.Retrieved.UTC().Format("2006-01-02"),
		"Name":        cmp.Or(name, host),
		"Source":      origin,
		"Scraper":     cmp.Or(m.Generator, "mirrord"),
		"Tags":        "_ftindex:no",
	}
	if utf8.RuneCountInString(m.Abstract) > maxDescription {
		values["LongDescription"] = cutTo(m.Abstract, maxLong)
	}
	if m.Copyright != "" {
		values["License"] = m.Copyright
	}
	c := p.zim.NewCluster(true, maxLong) // short texts and a small picture
	for _, key := range slices.Sorted(maps.Keys(values)) {
		c.Add(metadata(key, textType), []byte(values[key]))
	}
	c.Add(metadata("Illustration_48x48@1", pngType), p.icon.picture())
	c.Pack()
	return p.zim.Take(c)
}

func metadata(key, mime string) zim.Entry {
	return zim.Entry{Namespace: zim.Metadata, Path: key, Type: mime}
}

// cutTo returns s in at most n characters.
func cutTo(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return strings.TrimSpace(string(runes[:n-1])) + "…"
}

// languageOf is the code of ISO 639-3 for a tag of BCP 47.
func languageOf(tag string) string {
	t, err := language.Parse(tag)
	if err != nil || tag == "" {
		return "und"
	}
	base, _ := t.Base()
	return base.ISO3()
}

// titleLength is how many bytes of a title are kept.
const titleLength = 250

// titleOf returns the title of a page, "" when it has none.
func titleOf(page []byte) string {
	title := text.Title(page, "")
	for len(title) > titleLength {
		_, n := utf8.DecodeLastRuneInString(title)
		title = title[:len(title)-n]
	}
	return title
}
