// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"embed"
	"fmt"
	"html/template"
	"path"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/language"
)

//go:embed words/*.toml
var wordFiles embed.FS

// words is what pages for readers of mirrors say in one language: a file of the folder words. Names in
// braces are filled in by say.
type words struct {
	Lang string `toml:"-"` // name of the file, a language tag

	About, Copy    string
	AsOf           string
	Date           string
	Months         []string
	Month          string
	Earlier, Later string
	First, Last    string

	Calendar, Version string

	Changed, NoWord, Always string

	Live, Search string
	Hide, Alone  string

	// the page that says that another one is missing, and why
	Missing, Never, Left, Added, Said string
	Robots, LeftOut                   string
	Open, Had, Start, Near            string

	// the list of mirrors
	Mirrors, Mirror, Origin, Number, Retrieved, Files, Size, None string

	// the search
	Words, All, Find, Results, NotYet, Same, Collection, Before, After string

	// what cannot be
	NoMirror, NoVersion, Nothing, Removed, NoSearch, NoIndex, Busy, Broken string
}

// languages are the words of all languages, English first, with what chooses one.
type languages struct {
	all   []*words
	match language.Matcher
}

func readLanguages() (l languages, err error) {
	files, err := wordFiles.ReadDir("words")
	if err != nil {
		return l, err
	}
	tags := []language.Tag{language.English}
	l.all = []*words{nil}
	for _, f := range files {
		text, err := wordFiles.ReadFile("words/" + f.Name())
		if err != nil {
			return l, err
		}
		w := &words{Lang: strings.TrimSuffix(f.Name(), path.Ext(f.Name()))}
		if err := toml.Unmarshal(text, w); err != nil {
			return l, fmt.Errorf("words/%s: %w", f.Name(), err)
		}
		tag, err := language.Parse(w.Lang)
		switch {
		case err != nil:
			return l, fmt.Errorf("words/%s: %w", f.Name(), err)
		case tag == tags[0]:
			l.all[0] = w
		default:
			l.all, tags = append(l.all, w), append(tags, tag)
		}
	}
	l.match = language.NewMatcher(tags)
	return l, nil
}

// choose returns the words for a reader whose browser prefers some languages (RFC 9110 §12.5.4), or else
// those of the page's language, or else the English ones.
func (l *languages) choose(accept, page string) *words {
	_, i := language.MatchStrings(l.match, accept, page)
	return l.all[i]
}

// say fills the values, which are pairs of a name and a value, into a text.
func say(text string, values ...any) string {
	var pairs []string
	for i := 0; i+1 < len(values); i += 2 {
		pairs = append(pairs, fmt.Sprint("{", values[i], "}"), fmt.Sprint(values[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Day writes the day of a time.
func (w *words) Day(t time.Time) string {
	t = t.UTC()
	return say(w.Date, "day", t.Day(), "month", w.Months[t.Month()-1], "year", t.Year())
}

// When is Day for a page, with the exact time.
func (w *words) When(t time.Time) template.HTML {
	at := t.UTC()
	return template.HTML(`<time datetime="` + at.Format(time.RFC3339) + `" title="` +
		at.Format("2006-01-02 15:04:05 MST") + `">` + template.HTMLEscapeString(w.Day(t)) + `</time>`)
}
