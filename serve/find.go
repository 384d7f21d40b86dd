// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mirrord/serve/find"
)

// TextLookup looks for texts of mirrors. Both are called from several goroutines.
type TextLookup struct {
	// Find looks for pages. Its errors are those of find.Index.Search and find.OpenToRead.
	Find func(context.Context, find.TextSearch) (*find.SearchResults, error)
	// Made reports whether there is an index, or one is being made.
	Made func() bool
}

const findPath = wellKnown + "find"

// How much one may look for at a time.
const (
	perFind       = 10
	mostFindPage  = 100
	maxFinds      = 4    // under way; one more gets 503
	mostFindWords = 1000 // bytes that are shown again
)

// finding is what the page shows.
type finding struct {
	W       *words
	Words   string
	Site    string
	Under   string
	Problem string
	Found   *find.SearchResults
	Behind  string // mirrors that are not searched yet, ten at most
	Rows    []findingRow
	Before  string // the page before; "" without one
	After   string
}

// findingRow is a result.
type findingRow struct {
	*find.FoundPage
	Link string
}

// When says which versions have a page, unless all do.
func (f *finding) When(row findingRow) string {
	switch p := row.FoundPage; {
	case p.Gone && p.Until != nil:
		return say(f.W.Left, "date", f.W.Day(*p.Until))
	case !p.Gone && p.First > 1 && p.Since != nil:
		return say(f.W.Added, "date", f.W.Day(*p.Since))
	}
	return ""
}

// Within is where the pages of one copy of a collection are found.
func (f *finding) Within(under string) string { return f.page(under, 1) }

func (f *finding) page(under string, n int) string {
	q := url.Values{"q": {f.Words}}
	for key, value := range map[string]string{"site": f.Site, "under": under} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if n > 1 {
		q.Set("page", strconv.Itoa(n))
	}
	return findPath + "?" + q.Encode()
}

// serveFind shows the page of the texts of all mirrors. It lies on the base host, where no mirrored page has
// rights, and not on the hosts of mirrors.
func (s *Server) serveFind(w http.ResponseWriter, r *http.Request) {
	if s.Texts == nil {
		s.notFound(w, r, s.wordsFor(r).NoSearch)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	q := r.URL.Query()
	f := &finding{
		W:     s.wordsFor(r),
		Words: strings.TrimSpace(q.Get("q")),
		Site:  strings.TrimSpace(q.Get("site")),
		Under: q.Get("under"),
	}
	page, _ := strconv.Atoi(q.Get("page"))
	page = min(max(page, 1), mostFindPage)
	code := http.StatusOK
	if f.Words != "" {
		code = s.look(r, f, page)
	}
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	f.Words = f.Words[:min(len(f.Words), mostFindWords)]
	s.sendPage(w, r, code, "find", f)
}

// look asks the index, and returns the status of the answer.
func (s *Server) look(r *http.Request, f *finding, page int) int {
	only := s.Only
	if f.Site != "" {
		if _, err := s.open(f.Site); err != nil {
			f.Problem = f.W.NoMirror
			return http.StatusNotFound
		}
		only = []string{f.Site}
	}
	select {
	case s.finds <- struct{}{}:
		defer func() { <-s.finds }()
	default:
		f.Problem = f.W.Busy
		return http.StatusServiceUnavailable
	}
	found, err := s.Texts.Find(r.Context(), find.TextSearch{
		Words: f.Words,
		Only:  only,
		Under: f.Under,
		Skip:  (page - 1) * perFind,
		Limit: perFind,
	})
	switch {
	case find.IsQuery(err):
		f.Problem = err.Error()
		return http.StatusUnprocessableEntity
	case errors.Is(err, find.ErrNoIndex), errors.Is(err, find.ErrDamaged):
		f.Problem = f.W.NoIndex
		return http.StatusServiceUnavailable
	case err != nil:
		s.log.Error("search failed", "err", err)
		f.Problem = f.W.Broken
		return http.StatusServiceUnavailable
	}
	f.Found, f.Behind = found, strings.Join(found.Behind[:min(len(found.Behind), 10)], ", ")
	for i := range found.Results {
		f.Rows = append(f.Rows, s.findingRow(r, &found.Results[i]))
	}
	if page > 1 {
		f.Before = f.page(f.Under, page-1)
	}
	if page*perFind < found.Lines && page < mostFindPage {
		f.After = f.page(f.Under, page+1)
	}
	return http.StatusOK
}

// findingRow links to the page as it is, or as it was when it had the words.
func (s *Server) findingRow(r *http.Request, p *find.FoundPage) findingRow {
	row := findingRow{FoundPage: p}
	at := s.siteAddress(r, p.Job)
	row.Link = at + "/" + escapePath(p.Path)
	if p.Gone && p.Until != nil { // the version that was in effect a second before
		row.Link = at + wellKnown + "memento/" + p.Until.UTC().Add(-1e9).Format(stamp) + "/" + p.URL
	}
	return row
}

// siteAddress is where a mirror is: by host where the request came by a host name, else by path.
func (s *Server) siteAddress(r *http.Request, name string) string {
	if net.ParseIP(normalHost(r.Host)) != nil {
		return "/" + name
	}
	return s.scheme(r) + "://" + withPort(name+"."+s.base, r)
}

// searched reports whether the list of mirrors has a box to search them.
func (s *Server) searched(r *http.Request) *finding {
	if s.Texts == nil || !s.Texts.Made() {
		return nil
	}
	f := &finding{W: s.wordsFor(r)}
	if len(s.Only) == 1 {
		f.Site = s.Only[0]
	}
	return f
}
