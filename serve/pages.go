// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
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
	"mirrord/site"
)

// parsePages parses the templates of our own pages.
func parsePages() (*template.Template, error) {
	return pagesOf(map[string]string{
		"head":    headPage,
		"missing": missingPage,
		"framed":  barPage,
		"bar":     barText,
		"step":    barStep,
		"days":    barDays,
		"above":   barAbove,
		"search":  searchForm,
		"changed": changedPage,
		"line":    changedLine,
		"index":   indexPage,
		"find":    findPage,
	}, nil)
}

// pagesOf parses templates that have some functions, and those of all pages.
func pagesOf(texts map[string]string, funcs template.FuncMap) (*template.Template, error) {
	t := template.New("pages").Funcs(template.FuncMap{
		"day":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
		"iso":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"size": count.Bytes,

		"say":    say,
		"strong": strong,
		"head":   func(lang, title string) headOf { return headOf{lang, title} },
	}).Funcs(funcs)
	for name, text := range texts {
		if _, err := t.New(name).Parse(text); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// headOf is what the head of a page is made of.
type headOf struct{ Lang, Title string }

const headPage = `<!DOCTYPE html>
<html lang="{{.Lang}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<link rel="icon" href="/.well-known/mirrord/icon.svg" type="image/svg+xml">
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --paper: #f7f8fa; --panel: #fff; --line: #e3e6ea; --link: #0b5cad; --good: #176f33; --warn: #855700; --bad: #b42318; --ins: #c9f0d1; --del: #ffd2cd }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --soft: #9aa5b1; --paper: #0f1317; --panel: #171c22; --line: #2a313a; --link: #6fb1f5; --good: #5fce80; --warn: #e8b450; --bad: #ff8d80; --ins: #123d1f; --del: #4d1a17 } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 1.5rem auto; padding: 0 1rem; color: var(--ink); background: var(--paper) }
h1 { font-size: 1.6rem; letter-spacing: -.015em } a { color: var(--link) } small { color: var(--soft) } td:first-child > a { font-weight: 600 } label { white-space: nowrap }
input, button { font: inherit; color: inherit; background: var(--panel); border: 1px solid #7f8893; border-radius: 6px; padding: .35rem .7rem; margin: .2rem 0 } :focus-visible { outline: 3px solid var(--link) }
.wide { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 8px } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: start; padding: .5rem .9rem; border-bottom: 1px solid var(--line); vertical-align: top } tr:last-child td { border-bottom: 0 } th { font-size: .84rem; color: var(--soft); white-space: nowrap }
section { overflow-wrap: anywhere } section h2 { font-size: 1.1rem; margin: 1.5rem 0 0 } section p { margin: .2rem 0 }
td.n, th.n { text-align: end } td.n, td.day { white-space: nowrap }
main.one { max-width: 42rem; margin: 2rem auto } main.one h1 { margin-bottom: 0; text-wrap: balance; word-break: auto-phrase } code { color: var(--soft); overflow-wrap: anywhere }
.panel { padding: .3rem 1.1rem .8rem; background: var(--panel); border: 1px solid var(--line); border-radius: 8px } .panel h2 { font-size: 1rem; margin: 1.2rem 0 .3rem } .panel + .panel { margin-top: 1rem } .panel + .panel h2 { margin-top: .5rem }
.panel .b { display: inline-block; margin: .2rem .3rem .2rem 0; padding: .4rem .8rem; border: 1px solid #7f8893; border-radius: 6px; color: inherit; text-decoration: none } .panel .first { background: var(--link); border-color: var(--link); color: var(--panel) }
.panel dl { margin: 0 } .panel dl div { display: flex } .panel dt { flex: none; width: 6.5em; padding: 3px 0; color: var(--soft) } .panel dd { margin: 0 } .panel dd a { display: inline-block; min-width: 1.5em; padding: 3px 5px; text-align: center }
del { background: var(--del) } ins { background: var(--ins) } del, ins { border-radius: 3px; padding: 0 .1em }
.changed { table-layout: fixed } .changed p { position: relative; margin: .3rem 0; padding-inline-start: 1rem; overflow-wrap: anywhere; color: var(--soft) } .changed :is(.was, .is) { color: inherit } .changed :is(.was, .is)::before { position: absolute; inset-inline-start: 0 } .changed .was::before { content: "\2212"; color: var(--bad) } .changed .is::before { content: "+"; color: var(--good) }
@media (max-width: 600px) { .more { display: none } .changed thead { position: absolute; clip-path: inset(50%); width: 1px; overflow: hidden } .changed :is(tbody, tr, td), .changed { display: block } .changed td:first-child { border-bottom: 0; padding-bottom: 0 } .changed td::before { content: attr(data-label); font-size: .84rem; font-weight: 600; color: var(--soft) } }
body:has(.status) { max-width: 96rem }
.status td, .status th { font-size: .9rem } .status :is(th, time, td.n, .s, td:first-child) { white-space: nowrap } .bad { font-weight: bold }
.s::before { content: "\25CF\00A0"; color: var(--soft) } .ok::before { color: var(--good) } .failed::before, .damaged::before, .suspicious::before { color: var(--bad) } .stale::before, .gaps::before, .partial::before, .invalid::before { color: var(--warn) }
</style></head>
`

const missingPage = `{{template "head" (head .W.Lang .Title)}}<body>{{if .Framed}}{{template "above" .Bar}}{{end}}<main class="one">
<h1>{{.Title}}</h1>
{{with .Path}}<p><code>{{.}}</code></p>
{{end}}{{if or .What .Origin .Start}}<div class="panel">{{with .What}}<p>{{.}}</p>
{{end}}<p>{{with .Open.Address}}<a class="b first" href="{{.}}">{{say $.W.Open "date" $.Open.Day}}</a>
{{end}}{{with .Origin}}<a class="b" href="{{.}}" rel="noreferrer">{{$.W.Live}} ↗</a>
{{end}}{{with .Start}}<a class="b" href="{{.}}">{{$.W.Start}}</a>
{{end}}</p>{{with .Had}}<h2>{{$.W.Had}}</h2>
{{template "days" .}}{{end}}</div>
{{end}}{{if or .Near .Words}}<div class="panel"><h2>{{.W.Near}}</h2><p>{{with .Near}}<a class="b" href="{{.}}">{{$.Above}}</a>
{{end}}{{with .Words}}<a class="b" href="{{$.Bar.Find}}?site={{$.Bar.Name}}&amp;q={{.}}">{{$.W.Find}}: {{.}}</a>{{end}}</p></div>
{{end}}</main></body></html>
`

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
