// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// folder is a directory of text files behind nginx's index.
type folder struct {
	url   string
	files map[string]file
	dirs  []string
}

type file struct {
	text string
	at   time.Time
}

var longAgo = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

// serve puts the directory, with its index page, on the web.
func (f *folder) serve(w *mirrortest.Web) {
	var b strings.Builder
	path := strings.TrimPrefix(f.url, home)
	fmt.Fprintf(&b,
		"<html>\r\n<head><title>Index of %s</title></head>\r\n<body>\r\n<h1>Index of %s</h1><hr><pre><a "+
			"href=\"../\">../</a>\r\n", path, path)
	for _, d := range f.dirs {
		fmt.Fprintf(&b, "<a href=\"%s/\">%s/</a>%s%s                   -\r\n", d, d, strings.Repeat(" ", 50-len(d)),
			longAgo.Format("02-Jan-2006 15:04"))
	}
	for i := range 1000 {
		name := fmt.Sprintf("f%03d.txt", i)
		x, ok := f.files[name]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "<a href=\"%s\">%s</a>%s%s %19d\r\n", name, name, strings.Repeat(" ", 51-len(name)),
			x.at.Format("02-Jan-2006 15:04"), len(x.text))
		w.Set(f.url+name, mirrortest.Page{
			Header: map[string]string{
				"Content-Type":  "text/plain",
				"Last-Modified": x.at.Format(time.RFC1123)[:26] + "GMT",
			},
			Body: x.text,
		})
	}
	b.WriteString("</pre><hr></body>\r\n</html>\r\n")
	w.Set(f.url, mirrortest.Page{Header: map[string]string{"Content-Type": "text/html"}, Body: b.String()})
}

func archive(n int) (*folder, *folder) {
	top := &folder{url: home + "/pub/", files: map[string]file{}, dirs: []string{"sub"}}
	sub := &folder{url: home + "/pub/sub/", files: map[string]file{}}
	for i := range n {
		for _, f := range []*folder{top, sub} {
			f.files[fmt.Sprintf("f%03d.txt", i)] = file{fmt.Sprintf("file %d of %s\n", i, f.url), longAgo}
		}
	}
	return top, sub
}

const archiveJob = "url = \"" + home + "/pub/\"\n"

func TestListingSparesItsDirectory(t *testing.T) {
	w := mirrortest.Start(t)
	top, sub := archive(100)
	top.serve(w)
	sub.serve(w)
	m := mirrortest.New(t, w, archiveJob)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Stamps()

	seen := len(w.Requests())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if n := len(w.Requests()) - seen; n > 2+1+3 {
		t.Errorf(
			"%d requests for 2 unchanged directories of 100 files, want at most one for each, robots.txt and 3 audits",
			n)
	}
	if s.Spared["listing"] < 190 {
		t.Errorf("spared %v, want nearly all of 200", s.Spared)
	}
	if n := last(t, m).Audited.Len(); n != 3 {
		t.Errorf("%d audits noted, want 3", n)
	}
	if after := m.Stamps(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a run that changed nothing touched the tree")
	}

	sub.files["f042.txt"] = file{"another text\n", longAgo.Add(24 * time.Hour)}
	sub.files["f100.txt"] = file{"a new file\n", longAgo.Add(24 * time.Hour)}
	delete(top.files, "f007.txt")
	w.Remove(top.url + "f007.txt")
	top.serve(w)
	sub.serve(w)
	seen = len(w.Requests())
	was := m.Tree()
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	var grew int64
	for path, body := range m.Tree() {
		if old, ok := was[path]; !ok || old != body {
			grew += int64(len(body))
		}
	}
	if grew < 24 || s.NewBytes != grew {
		t.Errorf("%d bytes are new, want %d", s.NewBytes, grew)
	}
	if s.Added != 1 || s.Changed != 3 || s.Removed != 1 { // two index pages and a file
		t.Errorf("added %d, changed %d, removed %d; want 1, 3, 1\n%s", s.Added, s.Changed, s.Removed,
			mirrortest.Text(s))
	}
	if n := len(w.Requests()) - seen; n > 2+1+3+2+2 {
		t.Errorf("%d requests for one changed, one new and one deleted file", n)
	}
	if got := m.Tree()["sub/f042.txt"]; got != "" && got != "another text\n" {
		t.Errorf("f042.txt is %q", got)
	}
}

func TestSortLinksOfAListingAreNotAsked(t *testing.T) {
	w := mirrortest.Start(t)
	body := `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
<html>
 <head>
  <title>Index of /pub</title>
 </head>
 <body>
<h1>Index of /pub</h1>
<pre>      <a href="?C=N;O=D">Name</a>                    <a href="?C=M;O=A">Last modified</a>      <a href="?C=S;O=A">Size</a>  <a href="?C=D;O=A">Description</a><hr>      <a href="/">Parent Directory</a>                             -   
      <a href="f001.txt">f001.txt</a>                2024-03-01 12:00   12   
<hr></pre>
</body></html>
`
	w.Set(home+"/pub/", mirrortest.Page{
		Header: map[string]string{"Content-Type": "text/html;charset=UTF-8"},
		Body:   body,
	})
	w.Set(home+"/pub/f001.txt", mirrortest.Page{Body: "hello world\n"})
	m := mirrortest.New(t, w, archiveJob)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for u := range w.Asked() {
		if strings.Contains(u, "?C=") {
			t.Errorf("asked for %s", u)
		}
	}
	if len(m.Paths()) != 2 {
		t.Errorf("files %q, want the index and the file", m.Paths())
	}
}

// mapped is a site of n pages with a sitemap that says when each changed.
func mapped(w *mirrortest.Web, n int, at func(i int) time.Time) {
	var links, locs strings.Builder
	for i := range n {
		u := fmt.Sprintf("%s/p%03d.html", home, i)
		fmt.Fprintf(&links, "<a href=%q>%d</a>\n", u, i)
		fmt.Fprintf(&locs, "<url><loc>%s</loc><lastmod>%s</lastmod></url>\n", u, at(i).Format(time.RFC3339))
		w.Set(u, mirrortest.HTML(fmt.Sprint("Page ", i), fmt.Sprintf("as of %v", at(i))))
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
	w.Set(home+"/robots.txt", mirrortest.Page{Body: "Sitemap: " + home + "/map.xml\n"})
	w.Set(home+"/map.xml", mirrortest.Page{Header: map[string]string{"Content-Type": "application/xml"},
		Body: "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n" +
			locs.String() + "</urlset>\n"})
}

func TestSitemapSparesWhatItKnows(t *testing.T) {
	w := mirrortest.Start(t)
	mapped(w, 200, func(int) time.Time { return longAgo })
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	// pages that came before the sitemap had been read are asked once more
	wantVerdict(t, m.Run(), mirror.Complete, false)

	seen := len(w.Requests())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if n := len(w.Requests()) - seen; n > 1+1+1+3 {
		t.Errorf(
			"%d requests for an unchanged site with a truthful sitemap, want robots.txt, sitemap, entry and 3 audits",
			n)
	}

	mapped(w, 201, func(i int) time.Time {
		if i == 17 || i == 200 {
			return longAgo.Add(time.Hour)
		}
		return longAgo
	})
	seen = len(w.Requests())
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Added != 1 || s.Changed != 3 { // page 17, the hub, the sitemap
		t.Errorf("added %d, changed %d; want 1 and 3\n%s", s.Added, s.Changed, mirrortest.Text(s))
	}
	if n := len(w.Requests()) - seen; n > 1+1+1+3+2+1 { // the page of which only a date changed came twice
		t.Errorf("%d requests", n)
	}
}
