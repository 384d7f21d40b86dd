// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// A program may have a form to write in for each of its pages, under a parameter that names what to do: ?edit
// or ?mode=reply. When eight such pages have the same to say beside the form, but for words of their
// URLs, those with the parameter are left to the origin, without a request. So are pages under a parameter,
// or in a namespace such as Special: or ?n=PmWiki., of which eight tell robots neither to list them nor to
// follow their links (noindex, nofollow), and none that the mirror has does not; and those under a parameter
// that names what to do of which eight are not to be listed, and name nothing new but what has the parameter,
// too. Both only where eight other pages of the run may be listed. One in 64 is requested all the same, in
// each run others; one that is no such page ends it for good. What the mirror has of earlier runs stays.
//
// So are the pages of one program and parameter that all say the same and have a field for a password, such
// as /login?next=/page, and feeds of which programs have one for each page: their URLs have as many steps and
// the same parameters, one of these, or the last step, says what they are, and they name nothing new.
const (
	formSample = 64
	longVerb   = 16 // bytes of a parameter that names what to do
)

var (
	writeForm = regexp.MustCompile(`(?s)<form\b[^>]*\bmethod\s*=\s*["']?post\b.*?</form`)
	textArea  = []byte("<textarea")
	feedName  = regexp.MustCompile(`(?i)feed|rss|atom`)
	password  = regexp.MustCompile(`<input\b[^>]*\btype\s*=\s*["']?password\b`)
)

// Kinds of pages that are left.
const (
	form     = " form "
	hidden   = " hidden "
	unlisted = " unlisted "
	login    = " login "
	feed     = " feed "
)

// Why such a URL is not in the mirror.
const (
	LeftForm   = "a form to write in, as those of other pages under one parameter: left to the origin"
	LeftHidden = "of a kind of pages that tell robots neither to list nor to follow them: left to the origin"
	LeftLogin  = "a form to log in, as those of other pages: left to the origin"
	LeftFeed   = "a feed that names nothing new, as those of other pages: left to the origin"
)

var kinds = [...]struct{ is, why string }{
	{form, LeftForm},
	{hidden, LeftHidden},
	{unlisted, LeftHidden},
	{login, LeftLogin},
	{feed, LeftFeed},
}

// leftPlaces returns the places of a URL of a kind. Those of forms, and of pages that are not to be listed,
// are parameters that name what to do.
func leftPlaces(u site.URL, kind string) (out []string) {
	if kind == feed {
		return feedPlaces(u, leftPlaces(u, unlisted))
	}
	q, _ := u.Query()
	for pair := range site.Params(q) {
		if kind == login {
			name, value, _ := strings.Cut(pair, "=")
			if strings.Contains(strings.ReplaceAll(strings.ToLower(value), "%2f", "/"), "/") { // where it leads
				out = append(out, u.Origin()+kind+u.Path()+"?"+name)
			}
			continue
		}
		if len(pair) <= longVerb && !strings.ContainsAny(pair, digits) {
			out = append(out, u.Origin()+kind+"?"+pair)
		}
		if kind != hidden {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		out = append(out, u.Origin()+kind+"?"+name+"=*")
		if i := strings.IndexAny(value, ":./"); i > 0 {
			out = append(out, u.Origin()+kind+"?"+name+"="+value[:i+1])
		}
	}
	if space, _, ok := strings.Cut(u.Path(), ":"); ok && kind == hidden {
		out = append(out, u.Origin()+kind+space+":")
	}
	return out
}

// feedPlaces returns the places of a feed that a program may have for each page.
func feedPlaces(u site.URL, verbs []string) (out []string) {
	path := u.Path()
	q, _ := u.Query()
	if strings.Contains(q, "/") { // ?u=/page/feed/
		path = u.RequestURI()
	}
	steps := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	last := append([]string{""}, steps...)[len(steps)]
	var names []string
	for pair := range site.Params(q) {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	at := fmt.Sprint(u.Origin(), feed, len(steps), names)
	for _, verb := range verbs {
		if _, pair, _ := strings.Cut(verb, "?"); feedName.MatchString(pair) { // else pages may have it, too
			out = append(out, at+"?"+pair)
		}
	}
	below := len(steps) > 1 && !strings.Contains(last, ".") // neither that of the site nor a file
	if feedName.MatchString(last) && (q != "" || below) {
		out = append(out, at+last)
	}
	return out
}

// formOn reports whether a page, in lower case, has a form to write in, and what it says beside its forms.
func formOn(u site.URL, page []byte) (is bool, said string) {
	if n := bytes.Count(page, textArea); n > 0 {
		rest := writeForm.ReplaceAll(page, nil)
		is, said = bytes.Count(rest, textArea) < n, saysAs(textOf(u, rest).letters)
	}
	return is, said
}

// saysAs writes a sum of hashes; "" for a page that says too little.
func saysAs(sum uint64) string {
	if sum == 0 {
		return ""
	}
	return strconv.FormatUint(sum, 16)
}

// Robots is what a document says to robots. NamesNew reports whether it names a page that was never seen, and
// that lacks a parameter; it matters when NoIndex is true, and NoFollow is not, and for a feed.
type Robots struct {
	NoIndex, NoFollow bool
	IsFeed            bool
	NamesNew          func(param string) bool
}

// leftRead is what a document says of the kinds that are left.
type leftRead struct {
	Robots
	url   site.URL
	form  bool   // to write in
	has   string // the rest of the page
	asks  string // what a form to log in says
	leads bool   // it names something new
}

// readLeft reads a document.
func readLeft(u site.URL, body []byte, r Robots) leftRead {
	x := leftRead{Robots: r, url: u}
	namesNew := func(place string) bool {
		_, pair, _ := strings.Cut(place, "?")
		name, _, _ := strings.Cut(pair, "=")
		return r.NamesNew(name)
	}
	switch lists := leftPlaces(u, unlisted); {
	case r.IsFeed: // what it names may be other feeds
		x.leads = r.NamesNew("")
		for _, place := range lists {
			x.leads = x.leads && namesNew(place)
		}
		return x
	case r.NoIndex && !r.NoFollow:
		x.leads = slices.ContainsFunc(lists, namesNew)
	}
	writes, logs := len(leftPlaces(u, form)) > 0, len(leftPlaces(u, login)) > 0
	if !writes && !logs {
		return x
	}
	page := bytes.ToLower(body)
	if writes {
		x.form, x.has = formOn(u, page)
	}
	if logs && password.Match(page) {
		x.asks = saysAs(textOf(u, page).letters)
	}
	return x
}

// tell takes what a document says, and returns why it is left to the origin, "" when it is not. The caller
// holds mu.
func (x *leftRead) tell(s *SessionIDs) (why string) {
	tell := func(kind string, is bool, has string) bool {
		return s.tell(x.url, leftPlaces(x.url, kind), is, has)
	}
	if isFeed := tell(feed, x.IsFeed && !x.leads, feed); x.IsFeed {
		if isFeed {
			return LeftFeed
		}
		return ""
	}
	says := ""
	if !x.NoIndex {
		s.listed++
	} else if s.listed >= alikePairs { // else the whole site may be for no robot, whom the job lets pass
		says = "noindex"
	}
	lists := leftPlaces(x.url, unlisted)
	if x.leads && s.leading < mostAlike { // it stays, and ends what was learned; beyond these, what will be, too
		s.leading++
		s.stay.Store(x.url, true)
		lists = slices.DeleteFunc(lists, func(place string) bool { return s.learned[place] == nil })
	}
	if tell(hidden, x.NoIndex && x.NoFollow, says) ||
		(!x.NoFollow && s.tell(x.url, lists, x.NoIndex && !x.leads, says)) {
		why = LeftHidden
	}
	if tell(form, x.form, x.has) {
		why = LeftForm
	}
	others := func(place string) bool { return s.isKnown(place) && s.learned[place].Twice != x.asks }
	if tell(login, x.asks != "" && !slices.ContainsFunc(leftPlaces(x.url, login), others), x.asks) {
		why = LeftLogin
	}
	return why
}

// tell takes a page that is of a kind, or is not, and what it has in common with others of it, "" for
// nothing. The caller holds mu.
func (s *SessionIDs) tell(u site.URL, places []string, is bool, has string) (left bool) {
	for _, place := range places {
		switch l := s.learned[place]; {
		case !is && l != nil:
			l.Differs = u.String()
		case !is && len(s.plain) < mostAlike:
			s.plain[place] = true
		case is && has != "" && len(s.plain) < mostAlike && !s.plain[place]:
			vote(s, place, u, has)
		}
		left = (keepLeft(s, place) && is) || left
	}
	return left
}

// keepLeft notes whether a place is known. The caller holds mu.
func keepLeft(s *SessionIDs, place string) bool {
	if !s.isKnown(place) {
		s.left.Delete(place)
		return false
	}
	s.left.Store(place, true)
	return true
}

// vote takes one more URL of a place of which eight are to have something in common. The caller holds mu.
func vote(s *SessionIDs, place string, u site.URL, has string) {
	switch l := s.learned[place]; {
	case l == nil && len(s.learned) >= mostAlike:
	case l == nil || (l.Pairs == 1 && l.Twice != has && l.Differs == ""):
		s.learned[place] = &urls.SessionID{
			Twice: has,
			Pairs: 1,
			Pair:  []string{u.String()},
			Run:   s.run,
		}
	case l.Pairs < alikePairs && l.Twice == has && !slices.Contains(l.Pair, u.String()):
		l.Pair = append(l.Pair, u.String())
		if l.Pairs++; l.Pairs == alikePairs {
			s.some.Store(true)
		}
	}
}

// isKnown reports whether eight URLs of a place had something in common, and none did not. The caller holds
// mu.
func (s *SessionIDs) isKnown(place string) bool {
	l := s.learned[place]
	return (l != nil) && (l.Pairs >= alikePairs) && (l.Differs == "")
}
