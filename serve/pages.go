// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
)

// parsePages parses the templates of our own pages.
func parsePages() (*template.Template, error) {
	return pagesOf(map[string]string{
		"head":    headPage,
		"missing": missingPage,
		"framed":  barPage,
		"bar":     barText,
		"step":    barStep,
		"above":   barAbove,
		"search":  searchForm,
		"index":   indexPage,
		"find":    findPage,
	}, nil)
}

// pagesOf parses templates that have some functions, and those of all pages.
func pagesOf(texts map[string]string, funcs template.FuncMap) (*template.Template, error) {
	t := template.New("pages").Funcs(template.FuncMap{
		"day":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
		"iso":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"size": sizeText,

		"strong": strong,
	}).Funcs(funcs)
	for name, text := range texts {
		if _, err := t.New(name).Parse(text); err != nil {
			return nil, err
		}
	}
	return t, nil
}

const headPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.}}</title>
<link rel="icon" href="/.well-known/mirrord/icon.svg" type="image/svg+xml">
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --paper: #f7f8fa; --panel: #fff; --line: #e3e6ea; --link: #0b5cad; --good: #176f33; --warn: #855700; --bad: #b42318 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --soft: #9aa5b1; --paper: #0f1317; --panel: #171c22; --line: #2a313a; --link: #6fb1f5; --good: #5fce80; --warn: #e8b450; --bad: #ff8d80 } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 1.5rem auto; padding: 0 1rem; color: var(--ink); background: var(--paper) }
h1 { font-size: 1.6rem; letter-spacing: -.015em } a { color: var(--link) } small { color: var(--soft) } td > a { font-weight: 600 }
input, button { font: inherit; color: inherit; background: var(--panel); border: 1px solid #7f8893; border-radius: 6px; padding: .35rem .7rem } :focus-visible { outline: 3px solid var(--link) }
.wide { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 8px } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: start; padding: .5rem .9rem; border-bottom: 1px solid var(--line); vertical-align: top } tr:last-child td { border-bottom: 0 } th { font-size: .84rem; color: var(--soft); white-space: nowrap }
section { overflow-wrap: anywhere } section h2 { font-size: 1.1rem; margin: 1.5rem 0 0 } section p { margin: .2rem 0 }
td.n, th.n { text-align: end }
body:has(.status) { max-width: 96rem }
.status td, .status th { font-size: .9rem } .status :is(th, time, td.n, .s, td:first-child) { white-space: nowrap } .bad { font-weight: bold }
.s::before { content: "\25CF\00A0"; color: var(--soft) } .ok::before { color: var(--good) } .failed::before, .damaged::before, .suspicious::before { color: var(--bad) } .stale::before, .gaps::before, .partial::before, .invalid::before { color: var(--warn) }
</style></head>
`

const missingPage = `{{template "head" "Not mirrored"}}<body>{{template "above" .}}<main>
<h1>Not mirrored</h1>
<p>{{.What}}</p>
{{with .Had}}<p>Earlier versions had it:</p>
<ul>{{range .}}<li><a href="{{.At}}">as of <time datetime="{{iso .Time}}">{{day .Time}}</time> UTC</a></li>
{{end}}</ul>
{{end}}{{if .Origin}}<p>The original is at <a href="{{.Origin}}" rel="noreferrer">{{.Origin}}</a>.</p>
{{end}}{{if .Start}}<p>The mirror of {{.Name}} begins <a href="{{.Start}}">here</a>.</p>
{{end}}</main></body></html>
`

// notFound is what the page for a missing address says.
type notFound struct {
	Name   string // of the mirror; may be empty
	What   string // a sentence
	Origin string // where the original is; may be empty
	Start  string // where the mirror begins; may be empty
	Had    []hadVersion
	Bar    *bar // nil for none
}

// hadVersion is a version of a mirror that has a URL, in the state that it has from then on.
type hadVersion struct {
	Time time.Time
	At   string // its address
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request, n notFound) {
	w.Header().Set("Cache-Control", "no-store")
	policy := pagePolicy
	if n.Bar != nil {
		policy = formPolicy
	}
	s.sendPage(w, r, http.StatusNotFound, "missing", n, policy)
}

// page sends one of our own pages, without a form.
func (s *Server) page(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	s.sendPage(w, r, status, name, data, pagePolicy)
}

func (s *Server) sendPage(
	w http.ResponseWriter, r *http.Request, status int, name string, data any, policy string,
) {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, data); err != nil {
		s.log.Error("page failed", "page", name, "err", err)
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	isolatePage(w.Header())
	w.Header().Set("Content-Security-Policy", policy)
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

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	units := [...]string{"B", "kB", "MB", "GB", "TB", "PB"}
	f, i := float64(n), 0
	for f >= 999.5 && i < len(units)-1 {
		f /= 1000
		i++
	}
	if i == 0 || f >= 9.95 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
