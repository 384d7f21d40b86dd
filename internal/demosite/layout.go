// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"
)

//go:embed content
var content embed.FS

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

// builder makes the files of all versions. It makes expensive files once.
type builder struct {
	layout *template.Template
	drawn  map[string]*painting
	card   map[string]*file
}

func newBuilder() *builder {
	return &builder{
		layout: template.Must(template.ParseFS(content, "content/layout.html")),
		drawn:  map[string]*painting{},
	}
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

// page renders one page of the site's own layout.
func (b *builder) page(title, abstract, body string, head ...string) *file {
	data := struct {
		Title, Abstract string
		Head            []template.HTML
		Body            template.HTML
	}{title, abstract, nil, template.HTML(strings.TrimSpace(body))}
	for _, h := range head {
		data.Head = append(data.Head, template.HTML(h))
	}
	var out bytes.Buffer
	if err := b.layout.Execute(&out, data); err != nil {
		panic(fmt.Sprintf("demosite: layout: %v", err)) // our own template
	}
	return html(out.String())
}

// asset returns an embedded file.
func asset(name, mime string) *file {
	b, err := content.ReadFile("content/" + name)
	if err != nil {
		panic(fmt.Sprintf("demosite: %v", err)) // our own file
	}
	return &file{mime: mime, body: b}
}

func assets(version int) map[string]*file {
	files := map[string]*file{}
	for _, name := range []string{"style.css", "type.css", "colours.css", "print.css", "stars.css"} {
		files["/assets/"+name] = asset(name, "text/css")
	}
	for _, name := range []string{"stars.svg", "icon.svg", "sprite.svg", "moon.svg", "lamp.svg"} {
		files["/assets/"+name] = asset(name, "image/svg+xml")
	}
	files["/assets/night.js"] = asset("night.js", "text/javascript; charset=utf-8")
	lamp := "#e0a33a"
	if version >= 8 {
		lamp = "#6fae5c"
	}
	colours := files["/assets/colours.css"]
	colours.body = bytes.ReplaceAll(colours.body, []byte("{{.Lamp}}"), []byte(lamp))
	return files
}

// lastmodOf stands for the time of a page's last change in the sitemap, until New knows it.
func lastmodOf(path string) string { return "{{changed " + path + "}}" }

// indexFiles are those that list others: robots.txt, sitemap, feed, manifest.
func (b *builder) indexFiles(version int, files map[string]*file) map[string]*file {
	var sitemap, feed strings.Builder
	sitemap.WriteString(
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset " +
			"xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
	var pages []string
	for p, f := range files {
		if strings.HasPrefix(f.mime, "text/html") && f.status == 0 && !strings.HasPrefix(p, "/private/") &&
			!strings.HasPrefix(p, "/card/") && p != feedOnly {
			pages = append(pages, p)
		}
	}
	slices.Sort(pages)
	for _, p := range pages {
		fmt.Fprintf(&sitemap, "  <url><loc>%s%s</loc><lastmod>%s</lastmod></url>\n", origin, p, lastmodOf(p))
	}
	sitemap.WriteString("</urlset>\n")

	fmt.Fprintf(&feed,
		"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n  "+
			"<title>News from Kestrel Point</title>\n"+
			"  <id>tag:kestrel.example,2026:news</id>\n  <updated>%s</updated>\n  <link rel=\"self\" "+
			"href=\"/feed.xml\"/>\n  <link href=\"/news/\"/>\n  <icon>/assets/icon.svg</icon>\n",
		Published(version).Format("2006-01-02T15:04:05Z"))
	for _, n := range newsUpTo(version) {
		fmt.Fprintf(&feed,
			"  <entry><title>%s</title><id>tag:kestrel.example,2026:%s</id><updated>%s</updated><link "+
				"href=\"%s\"/><summary type=\"html\">&lt;img src=\"/gallery/small/m31.png\"&gt; %s</summary></entry>\n",
			n.title, path.Base(n.path), Published(n.version).Format("2006-01-02T15:04:05Z"), n.path, n.lead)
	}
	fmt.Fprintf(&feed,
		"  <entry><title>A note for readers of the "+
			"feed</title><id>tag:kestrel.example,2026:feed</id><updated>%s</updated><link "+
			"href=\"%s%s\"/></entry>\n</feed>\n",
		Published(1).Format("2006-01-02T15:04:05Z"), origin, feedOnly)

	return map[string]*file{
		"/robots.txt": {
			mime: "text/plain; charset=utf-8",
			body: []byte(
				"# The keeper's own pages and the programs are not for robots.\nUser-agent: *\nDisallow: " +
					"/private/\nDisallow: /cgi-bin/\nDisallow: /sky/\nAllow: /private/open.html\n\nSitemap: " + origin +
					"/sitemap.xml\n"),
		},
		"/sitemap.xml": {mime: "application/xml", body: []byte(sitemap.String())},
		"/feed.xml":    {mime: "application/atom+xml; charset=utf-8", body: []byte(feed.String())},
		"/site.webmanifest": {mime: "application/manifest+json", body: []byte(`{"name": "Kestrel Point Observatory", "short_name": "Kestrel", "start_url": "/", "display": "browser",
 "icons": [{"src": "/assets/icon.svg", "sizes": "any", "type": "image/svg+xml"}, {"src": "card/manifest-icon.png", "sizes": "192x192", "type": "image/png"}]}
`)},
		"/private/open.html": b.page("The open drawer",
			"A page that robots.txt allows inside a disallowed directory.",
			`<h1>The open drawer</h1><p>The one page of <code>/private/</code> that robots may read. The <a href="/private/keeper.html">keeper’s log</a> is not.</p>`),
		"/private/keeper.html": b.page("The keeper’s log", "Not for robots.",
			`<h1>The keeper’s log</h1><p>If you read this in a mirror, somebody did not ask <a href="/robots.txt">robots.txt</a>.</p>`),
	}
}

const notFound = "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Not " +
	"here</title><h1>Nothing at this position</h1><p>Try <a href=\"/\">the front page</a>.</p></html>\n"

// program answers like a CGI program: never the same for two queries, never to be mirrored.
func program(name, query string) []byte {
	return []byte("<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>Answer</title><p>The program " +
		template.HTMLEscapeString(name) + " was asked " + template.HTMLEscapeString(query) +
		".</p><p><a href=\"?" + template.HTMLEscapeString(query) + "+more\">More</a></p>\n")
}
