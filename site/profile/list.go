// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/site"
)

// ChangeList is a list of changes in JSON: what an API of a program says was edited last, and when.
type ChangeList struct {
	Beside string   `toml:"beside"` // a glob of what it is relative to; "": the entry points
	Ask    string   `toml:"ask"`    // its address, relative to these
	Items  string   `toml:"items"`  // the way to the array of changes
	Pages  []string `toml:"pages"`  // addresses of the page that an item is about, with {fields}
	Time   string   `toml:"time"`   // the way to its time
	Space  string   `toml:"space"`  // stands for a space in a field

	beside *site.Glob // nil: it is at the entry points
	end    string     // what its address ends with
}

func (l *ChangeList) compile() error {
	u, _, err := anySite.Resolve(l.Ask)
	if err != nil || u.Origin() != anySite.Origin() || u == anySite {
		return errors.New("ask: want an address relative to the one beside")
	}
	if l.end = u.RequestURI(); len(l.Pages) == 0 || len(way(l.Time)) == 0 {
		return errors.New("want pages and time")
	}
	if l.Beside != "" {
		l.beside, err = site.CompileGlob(l.Beside)
	}
	return err
}

var anySite = site.Canonical("http://a.example/")

// way are the names of fields, the outermost first.
func way(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "."), func(name string) bool { return name == "" })
}

// at returns the address of the list beside a URL that a page names, or that is an entry point.
func (l *ChangeList) at(u site.URL, entry bool) (list site.URL, ok bool) {
	if (l.beside == nil) != entry || (!entry && !l.beside.Match(u)) {
		return u, false
	}
	list, _, err := u.Resolve(l.Ask)
	return list, err == nil
}

// Item is a change: the addresses that its page may have, and its time.
type Item struct {
	Pages []string
	Time  string
}

// Read returns the changes that a list names, of each page the latest. ok is false for another body.
func (l *ChangeList) Read(body []byte) (items []Item, ok bool) {
	var all any
	if json.Unmarshal(body, &all) != nil {
		return nil, false
	}
	list, ok := field(all, way(l.Items)).([]any)
	seen, at := map[string]int{}, way(l.Time)
	for _, x := range list {
		i := Item{Time: timeOf(field(x, at))}
		for _, template := range l.Pages {
			if page := l.fill(template, x); page != "" {
				i.Pages = append(i.Pages, page)
			}
		}
		if i.Time == "" || len(i.Pages) == 0 {
			continue
		}
		n, had := seen[i.Pages[0]]
		if !had {
			seen[i.Pages[0]] = len(items)
			items = append(items, i)
		} else if items[n].Time < i.Time {
			items[n].Time = i.Time
		}
	}
	return items, ok
}

// ShowsNone reports whether a list shows no change beside those that an earlier one shows, whose last ones
// may be missing.
func ShowsNone(before, now []Item) bool {
	if len(now) > len(before) {
		return false
	}
	return slices.EqualFunc(before[:len(now)], now, func(a, b Item) bool {
		return a.Time == b.Time && a.Pages[0] == b.Pages[0]
	})
}

// field follows a way of names.
func field(x any, way []string) any {
	for _, name := range way {
		o, _ := x.(map[string]any)
		x = o[name]
	}
	return x
}

// timeOf returns a time as a sitemap writes it. Numbers are seconds since 1970.
func timeOf(x any) string {
	switch t := x.(type) {
	case string:
		return t
	case float64:
		return time.Unix(int64(t), 0).UTC().Format(time.RFC3339)
	}
	return ""
}

var hole = regexp.MustCompile(`\{[^{}]+\}`)

// fill returns an address with the fields of an item, "" when one is missing. A field that begins the address
// is one itself.
func (l *ChangeList) fill(template string, item any) string {
	missing := false
	out := hole.ReplaceAllStringFunc(template, func(name string) string {
		text := ""
		switch v := field(item, way(name[1:len(name)-1])).(type) {
		case string:
			text = v
		case float64:
			text = strconv.FormatFloat(v, 'f', -1, 64)
		}
		missing = missing || text == ""
		if strings.HasPrefix(template, name) {
			return text
		}
		if l.Space != "" {
			text = strings.ReplaceAll(text, " ", l.Space)
		}
		return plain.Replace(url.QueryEscape(text))
	})
	if missing {
		return ""
	}
	return out
}

// plain undoes the escapes that programs do not write in paths.
var plain = strings.NewReplacer("+", "%20", "%2F", "/", "%3A", ":", "%3B", ";", "%40", "@", "%24", "$",
	"%21", "!", "%28", "(", "%29", ")", "%2C", ",", "%2A", "*")
