// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"mirrord/internal/count"
	"mirrord/scheduler/status"
	"mirrord/site"
)

// pagesHTML has the templates of our own pages.
//
//go:embed pages.html
var pagesHTML string

// parsePages parses the templates.
func parsePages() (*template.Template, error) {
	return template.New("pages").Funcs(template.FuncMap{
		"day":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
		"iso":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"size": count.Bytes,

		"say":    say,
		"strong": strong,
		"head":   func(lang, title string) headOf { return headOf{lang, title} },
		"age":    func(t *time.Time, now time.Time) string { return count.Ago(now.Sub(*t)) },
		"shown":  status.Shown,
		"n":      count.OfAny,
	}).Parse(pagesHTML)
}

// headOf is what the head of a page is made of.
type headOf struct{ Lang, Title string }

// notFound is what the page for a missing address says.
type notFound struct {
	W           *words
	Title, Path string
	What        string     // sentences; may be empty
	Open        barLink    // a version that has it; may be empty
	Origin      string     // where the original is; may be empty
	Start       string     // where the mirror begins; may be empty
	Had         []barMonth // the versions that have it
	Near, Above string     // address and path of a directory above it that the version has; may be empty
	Words       string     // of its path, to search for; may be empty
	Bar         *bar
	Framed      bool // the bar is shown
}

// notFound says one sentence.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request, what string) {
	s.sendMissing(w, r, notFound{W: s.wordsFor(r), Title: what})
}

func (s *Server) sendMissing(w http.ResponseWriter, r *http.Request, n notFound) {
	w.Header().Set("Cache-Control", "no-store")
	s.sendPage(w, r, http.StatusNotFound, "missing", n)
}

// never says that no version has a URL.
func (s *Server) never(w http.ResponseWriter, r *http.Request, u site.URL) {
	texts := s.wordsFor(r)
	s.sendMissing(w, r, notFound{
		W:      texts,
		Title:  texts.Missing,
		Path:   u.String(),
		What:   texts.Never,
		Origin: u.String(),
	})
}

// isForeign reports whether an address is a place that a file of another origin would have: its URL is not
// known.
func isForeign(u site.URL) bool { return strings.HasPrefix(u.Path(), "/@") }

// missing says that the version lacks a URL, since when and why, and has links to the versions that have it;
// below a bar when a browser navigates.
func (v *view) missing(u site.URL) error {
	w := v.wordsFor(v.r)
	n := notFound{
		W:     w,
		Title: w.Missing,
		Start: v.prefix + "/",
	}
	if isForeign(u) && !v.Nowhere {
		n.Origin = v.Primary + "/"
		v.sendMissing(v.w, v.r, n)
		return nil
	}
	by := *v
	if !isNavigation(v.r) {
		by.bar = ""
	}
	if by.bar != "" {
		v.w.Header().Add("Vary", "Sec-Fetch-Dest")
	}
	if by.bar != "" && v.framed == "" {
		v.w.Header().Set("Cache-Control", "no-store")
		redirect(v.w, http.StatusFound, barred{v}.below(v.r.URL.EscapedPath()+query(v.r.URL)))
		return nil
	}
	all, known, err := states(v.r.Context(), v.site, u)
	if err != nil {
		return err
	}
	b, err := barred{&by}.says(u, u, w, func(number int) bool {
		is := stateIn(all, number)
		return is != nil && !is.Missing
	})
	if err != nil {
		return err
	}
	n.Path, n.Origin, n.Open = u.RequestURI(), b.Live, b.Earlier
	if n.Open.Address == "" {
		n.Open = b.Later
	}
	if known {
		n.What = b.why(all)
	}
	if n.Above, err = v.above(u); n.Above != "" {
		n.Near = v.prefix + n.Above
	}
	if err != nil {
		return err
	}
	if b.Find != "" {
		n.Words = wordsOf(u)
	}
	n.Had, b.Calendar = b.Calendar, nil
	n.Bar, n.Framed = b, by.bar != ""
	v.sendMissing(v.w, v.r, n)
	return nil
}

// above is the path of the nearest directory above a URL, but the top, that the version has; "" for none.
func (v *view) above(u site.URL) (string, error) {
	for dir := path.Dir(u.Path()); len(dir) > 1; dir = path.Dir(dir) {
		at, _, err := u.Resolve(dir + "/")
		if err != nil {
			return "", err
		}
		if r, ok, err := v.Table.Find(at); err != nil || (ok && r.Path != "") {
			return at.Path(), err
		}
	}
	return "", nil
}

// wordsOf are the words of a URL's path, without the ending of a file.
func wordsOf(u site.URL) string {
	name, err := url.PathUnescape(strings.TrimSuffix(u.Path(), path.Ext(u.Path())))
	if err != nil {
		return ""
	}
	apart := func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) }
	return strings.Join(strings.FieldsFunc(name, apart), " ")
}

// stateIn returns the state in a version, nil before the first.
func stateIn(all []State, number int) (is *State) {
	for i := range all {
		if all[i].Number <= number {
			is = &all[i]
		}
	}
	return is
}

// why says since when a version lacks a URL, and why.
func (b *bar) why(all []State) string {
	is := stateIn(all, b.Number)
	text := b.W.Never
	switch {
	case b.Earlier.Address != "":
		text = say(b.W.Left, "date", b.W.Day(is.Time))
	case b.Later.Address != "":
		return say(b.W.Added, "date", b.Later.Day)
	}
	if is == nil {
		return text
	}
	switch is.Outcome {
	case site.Gone, site.Failed:
		if is.Status > 0 {
			text += " " + say(b.W.Said, "status", is.Status)
		}
	case site.Disallowed:
		text += " " + b.W.Robots
	case site.OutOfScope, site.Trapped, site.Program:
		text += " " + b.W.LeftOut
	}
	return text
}

// wordsFor returns the words for a reader of a page of ours.
func (s *Server) wordsFor(r *http.Request) *words {
	return s.languages.choose(r.Header.Get("Accept-Language"), "")
}

// sendPage sends one of our own pages, in the language of the reader; more are added to its policy.
func (s *Server) sendPage(
	w http.ResponseWriter, r *http.Request, status int, name string, data any, more ...string,
) {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, data); err != nil {
		s.log.Error("page failed", "page", name, "err", err)
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	isolatePage(h)
	h.Set("Content-Security-Policy", strings.Join(append([]string{pagePolicy}, more...), "; "))
	h.Add("Vary", "Accept-Language")
	sendText(w, r, status, "text/html; charset=utf-8", b.Bytes())
}

// sendText sends a body of ours.
func sendText(w http.ResponseWriter, r *http.Request, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", itoa(int64(len(body))))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body) // an error means that the client has disconnected
	}
}

// listed is one mirror in the list.
type listed struct {
	Name      string    `json:"name"`
	Title     string    `json:"title,omitempty"`
	Authors   []string  `json:"authors,omitempty"`
	Copyright string    `json:"copyright,omitempty"`
	Abstract  string    `json:"abstract,omitempty"`
	Origin    string    `json:"origin"`  // primary origin, without a slash at its end
	Address   string    `json:"address"` // of the mirror: by host where the request came by a host name
	ByPath    string    `json:"by_path"` // the same by path
	Version   int       `json:"version"`
	Retrieved time.Time `json:"retrieved"`
	Files     int       `json:"files"`
	Bytes     int64     `json:"bytes"`
	Form      string    `json:"form,omitempty"` // of a mirror in a file: PHM, WARC, WACZ, ZIM, ARC, HAR, folder
}

// names lists the mirrors that are served.
func (s *Server) names() ([]string, error) {
	all, err := s.Sites.Names()
	if err != nil || s.only == nil {
		return all, err
	}
	var out []string
	for _, n := range all {
		if s.only[n] {
			out = append(out, n)
		}
	}
	return out, nil
}

// list describes all mirrors that can be opened.
func (s *Server) list(r *http.Request) ([]listed, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	out := []listed{}
	for _, name := range names {
		st, err := s.open(name)
		if err != nil {
			continue // removed meanwhile
		}
		snap, err := st.Snapshot(r.Context(), 0)
		if errors.Is(err, ErrNoVersion) || errors.Is(err, ErrNoSite) {
			continue
		}
		if err != nil {
			s.log.Warn("mirror left out of the list", "job", name, "err", err)
			continue
		}
		l := listed{
			Name:      name,
			Title:     snap.Title,
			Authors:   snap.Authors,
			Copyright: snap.Copyright,
			Abstract:  snap.Abstract,
			Origin:    snap.Primary,
			ByPath:    "/" + name + "/" + escapePath(snap.Entry),
			Version:   snap.Number,
			Retrieved: snap.Time.UTC().Truncate(time.Second),
			Files:     snap.Files,
			Bytes:     snap.Bytes,
			Form:      snap.Form,
		}
		if snap.Nowhere {
			l.Origin = ""
		}
		l.Address = s.siteAddress(r, name) + "/" + escapePath(snap.Entry)
		snap.release()
		out = append(out, l)
	}
	return out, nil
}

// aboutLength is how many characters of an abstract the list of mirrors shows.
const aboutLength = 200

// About is the text that the list shows under the title of a mirror: abstract, authors and copyright.
func (l listed) About() string {
	abstract := []rune(l.Abstract)
	if len(abstract) > aboutLength {
		abstract = append(abstract[:aboutLength], '…')
	}
	parts := slices.DeleteFunc([]string{string(abstract), strings.Join(l.Authors, ", "), l.Copyright},
		func(s string) bool { return s == "" })
	return strings.Join(parts, " · ")
}
