// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"embed"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// content has a folder for each version, with the files that it adds or changes at their paths; letters
// beyond ASCII are percent-encoded there. A body has origin in place of the site's address. The old pages are
// in other encodings than UTF-8, each declared in another way: of the logbook only the header names the
// charset, so that a copy has to declare it.
//
//go:embed content
var content embed.FS

// edition is what a version changes, beside the files of its folder.
type edition struct {
	changes string
	gone    string // paths that begin so are deleted
	moved   map[string]string
}

// timeline has the versions.
func timeline() []edition {
	const news = "two pieces of news"
	return []edition{
		{changes: "the first version"},
		{changes: news},
		{changes: news + "; the handbook's page on focusing is revised; a picture is added"},
		{changes: news + "; an observer joins; one catalogue entry is corrected"},
		{
			changes: news + "; the handbook moves from /docs/manual/ to /docs/handbook/; February's almanac appears",
			gone:    "/docs/manual/",
			moved:   map[string]string{"/docs/manual/": "/docs/handbook/"},
		},
		{
			changes: news + "; the page on film plates and one picture are deleted; opening hours change",
			gone:    "/docs/handbook/film-plates.html /gallery/small/mist.png /gallery/large/mist.png",
		},
		{changes: news + "; two catalogue entries are added"},
		{changes: news + "; the lamp of the style sheet turns green"},
	}
}

// build makes the files of all versions.
func build() (all []map[string]*file) {
	files := map[string]*file{
		"/old-home":   {status: http.StatusMovedPermanently, location: "/"},
		"/docs/first": {status: http.StatusFound, location: "/docs/"},
	}
	for i, e := range timeline() {
		for prefix := range strings.FieldsSeq(e.gone) {
			maps.DeleteFunc(files, func(name string, _ *file) bool { return strings.HasPrefix(name, prefix) })
		}
		for from, to := range e.moved {
			files[from] = &file{status: http.StatusMovedPermanently, location: to}
		}
		folder := fmt.Sprintf("content/%d", i+1)
		err := fs.WalkDir(content, folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			body, err := content.ReadFile(name)
			if err != nil {
				return err
			}
			at, err := url.PathUnescape(strings.TrimPrefix(name, folder))
			at = strings.TrimSuffix(at, "index.html")
			files[at] = newFile(at, body, i+1)
			return err
		})
		if err != nil {
			panic(fmt.Sprintf("demosite: %v", err)) // the files are in this program
		}
		all = append(all, maps.Clone(files))
	}
	return all
}

// mimeOf returns the media type of the file at a path.
func mimeOf(name string) string {
	switch {
	case strings.HasPrefix(name, "/ja/"), name == "/archive/telegram.html":
		return "text/html"
	case name == "/archive/logbook.html":
		return "text/html; charset=windows-1252"
	case name == "/card/script.js":
		return "text/javascript"
	case name == "/sitemap.xml":
		return "application/xml"
	}
	switch ext := path.Ext(name); ext {
	case "", ".html":
		return "text/html; charset=utf-8"
	case ".css", ".vtt":
		return "text/" + ext[1:]
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".json":
		return "application/json"
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	case ".wav":
		return "audio/wav"
	case ".webm":
		return "video/webm"
	case ".webmanifest":
		return "application/manifest+json"
	case ".woff2":
		return "font/woff2"
	case ".xml":
		return "application/atom+xml; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

const notFound = "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Not " +
	"here</title><h1>Nothing at this position</h1><p>Try <a href=\"/\">the front page</a>.</p></html>\n"

// program answers like a CGI program: never the same for two queries, never to be mirrored.
func program(name, query string) []byte {
	query = html.EscapeString(query)
	return []byte("<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>Answer</title><p>The program " +
		html.EscapeString(name) + " was asked " + query + ".</p><p><a href=\"?" + query +
		"+more\">More</a></p>\n")
}
