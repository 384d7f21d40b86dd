// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	htmltemplate "html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// content has the files of the site: those of site at their paths; pages.tmpl makes those that change or
// that are many, from what data.json has of each version. A file that begins with "title: " is a page of the
// site's own layout.
//
//go:embed content
var content embed.FS

// feedOnly is a page that only the feed links to; sitemapOnly one that only the sitemap does.
const (
	feedOnly    = "/news/for-feed-readers.html"
	sitemapOnly = "/about/colophon.html"
)

// timeline says what each version changes; its length is the number of versions.
func timeline() []string {
	return []string{
		"the first version",
		"two pieces of news",
		"two pieces of news; the handbook's page on focusing is revised; a picture is added",
		"two pieces of news; an observer joins; one catalogue entry is corrected",
		"two pieces of news; the handbook moves from /docs/manual/ to /docs/handbook/; February's almanac appears",
		"two pieces of news; the page on film plates and one picture are deleted; opening hours change",
		"two pieces of news; two catalogue entries are added",
		"two pieces of news; the lamp of the style sheet turns green",
	}
}

// edition is what the templates know of a version.
type edition struct {
	Version      int
	Book         string
	News, Latest []newsItem // the oldest first, and the latest
	Catalogue    []struct{ Slug, Name, Kind, Text string }
	Chapters     []struct{ Slug, Title, Text string }
	Pictures     map[string]picture
	Months       []time.Time
}

type newsItem struct {
	Slug, Title, Lead, Body string

	Path string
	Date time.Time
}

// Stamp is the date in a feed.
func (n newsItem) Stamp() string { return n.Date.Format(time.RFC3339) }

func newEdition(version int) *edition {
	e := &edition{Version: version, Book: "manual"}
	if version >= 5 {
		e.Book = "handbook"
	}
	must(json.Unmarshal(render("data.json", e), e))
	e.News = e.News[:2*version]
	for i := range e.News {
		n := &e.News[i]
		n.Date = Published(i/2 + 1)
		n.Path = n.Date.Format("/news/2006-01/") + n.Slug + ".html"
	}
	e.Latest = slices.Clone(e.News)
	slices.Reverse(e.Latest)
	for m := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC); !m.After(Published(version)); m = m.AddDate(0, 1, 0) {
		e.Months = append(e.Months, m)
	}
	return e
}

// render executes a template of content.
func render(name string, data any) []byte {
	t := template.New(name).Funcs(template.FuncMap{"nights": nights})
	var out bytes.Buffer
	must(template.Must(t.ParseFS(content, "content/"+name)).Execute(&out, data))
	return out.Bytes()
}

// must panics: what fails is our own.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("demosite: %v", err))
	}
}

// builder makes the files of all versions. It draws pictures once.
type builder struct {
	layout *htmltemplate.Template
	drawn  map[string]*painting
}

func newBuilder() *builder {
	return &builder{
		layout: htmltemplate.Must(htmltemplate.ParseFS(content, "content/layout.html")),
		drawn:  map[string]*painting{},
	}
}

// build returns all files of a version but the sitemap.
func (b *builder) build(version int) map[string]*file {
	e := newEdition(version)
	files := map[string]*file{
		"/old-home":   redirect(http.StatusMovedPermanently, "/"),
		"/docs/first": redirect(http.StatusFound, "/docs/"),
	}
	if version >= 5 {
		files["/docs/manual/"] = redirect(http.StatusMovedPermanently, "/docs/handbook/")
	}
	add := func(name string, body []byte) {
		name = strings.TrimSuffix(name, "index.html")
		files[name] = b.file(name, body)
	}
	site, err := fs.Sub(content, "content/site")
	must(err)
	must(fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(site, name)
		add("/"+name, body)
		return err
	}))
	_, made, _ := strings.Cut(string(render("pages.tmpl", e)), "\n-- ")
	for part := range strings.SplitSeq(made, "\n-- ") {
		name, body, _ := strings.Cut(part, " --\n")
		add(name, []byte(strings.TrimSpace(body)+"\n"))
	}
	for slug, p := range e.Pictures {
		files["/gallery/small/"+slug+".png"] = b.draw(slug, p, 320, 200)
		files["/gallery/large/"+slug+".png"] = b.draw(slug, p, 640, 400)
	}
	files["/card/"].link = "<link-header.css>; rel=preload; as=style"
	return files
}

// sitemap lists the pages of a version that are for visitors.
func sitemap(files map[string]*file) *file {
	pages := map[string]time.Time{}
	for p, f := range files {
		if strings.HasPrefix(f.mime, "text/html") && f.status == 0 && !strings.HasPrefix(p, "/private/") &&
			!strings.HasPrefix(p, "/card/") && p != feedOnly {
			pages[p] = Published(f.changed)
		}
	}
	return &file{mime: "application/xml", body: render("sitemap.xml", pages)}
}

// file makes the file at a path. The old pages are in other encodings than UTF-8, each declared in another
// way: of the logbook only the header names the charset, so that a copy has to declare it.
func (b *builder) file(name string, body []byte) *file {
	f := &file{mime: mimes()[path.Ext(name)], body: body}
	var err error
	switch {
	case bytes.HasPrefix(body, []byte("title: ")):
		f.body = b.page(string(body))
	case strings.HasPrefix(name, "/ja/"):
		f.mime = "text/html"
		f.body, err = japanese.ShiftJIS.NewEncoder().Bytes(body)
	case name == "/archive/telegram.html":
		f.mime = "text/html"
		f.body, err = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(body)
	case name == "/archive/logbook.html":
		f.mime = "text/html; charset=windows-1252"
		f.body, err = charmap.Windows1252.NewEncoder().Bytes(body)
	case name == "/card/script.js":
		f.mime = "text/javascript"
	}
	must(err)
	return f
}

func mimes() map[string]string {
	const html = "text/html; charset=utf-8"
	return map[string]string{
		"":             html,
		".html":        html,
		".css":         "text/css",
		".csv":         "text/csv; charset=utf-8",
		".js":          "text/javascript; charset=utf-8",
		".json":        "application/json",
		".png":         "image/png",
		".svg":         "image/svg+xml",
		".txt":         "text/plain; charset=utf-8",
		".vtt":         "text/vtt",
		".wav":         "audio/wav",
		".webm":        "video/webm",
		".webmanifest": "application/manifest+json",
		".woff2":       "font/woff2",
		".xml":         "application/atom+xml; charset=utf-8",
	}
}

// page renders a page of the site's own layout: title, abstract and what else is for the head, an empty line,
// and the body.
func (b *builder) page(text string) []byte {
	head, body, _ := strings.Cut(text, "\n\n")
	data := map[string]any{"Body": htmltemplate.HTML(strings.TrimSpace(body))}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		data[key] = value
		if key == "head" {
			data[key] = htmltemplate.HTML(value)
		}
	}
	var out bytes.Buffer
	must(b.layout.Execute(&out, data))
	return out.Bytes()
}

// draw returns a picture of the gallery, the same for all versions.
func (b *builder) draw(slug string, p picture, w, h int) *file {
	what := fmt.Sprintf("%s %d %v", slug, w, p)
	if b.drawn[what] == nil {
		b.drawn[what] = &painting{
			what:    what,
			picture: p,
			w:       w,
			h:       h,
		}
	}
	return &file{mime: "image/png", paint: b.drawn[what]}
}

const notFound = "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Not " +
	"here</title><h1>Nothing at this position</h1><p>Try <a href=\"/\">the front page</a>.</p></html>\n"

// program answers like a CGI program: never the same for two queries, never to be mirrored.
func program(name, query string) []byte {
	query = template.HTMLEscapeString(query)
	return []byte("<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>Answer</title><p>The program " +
		template.HTMLEscapeString(name) + " was asked " + query + ".</p><p><a href=\"?" + query +
		"+more\">More</a></p>\n")
}
