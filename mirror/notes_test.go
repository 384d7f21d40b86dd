// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"slices"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// wantNote checks that a summary notes something, of so many URLs with one as the example.
func wantNote(t *testing.T, s *mirror.Summary, what string, n int, example string) {
	t.Helper()
	for _, x := range s.Notes {
		if x.What == what {
			if (x.Count != n) || !slices.Contains(x.Examples, example) {
				t.Errorf("note %+v, want %d, such as %s", x, n, example)
			}
			return
		}
	}
	t.Errorf("no note that there are %s:\n%s", what, mirrortest.Text(s))
}

// A page whose text its scripts make is noted in each run, also when it did not change, and the run is
// complete.
func TestPagesWithoutText(t *testing.T) {
	const what = "pages that have no text of their own: their scripts make it, which may not work in a copy"
	app := mirrortest.Page{
		Header: map[string]string{"Content-Type": "text/html", "ETag": `"1"`},
		Body:   "<title>App</title><script src=/app.js></script><div id=root></div>",
	}
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", "<a href=/app>app</a> <a href=/empty.html>none</a>"))
	w.Set(home+"/app", app)
	w.Set(home+"/app.js", mirrortest.Page{
		Header: map[string]string{"Content-Type": "text/javascript"},
		Body:   "render()",
	})
	w.Set(home+"/empty.html", mirrortest.HTML("", "<p>text</p><script>a()</script>"))
	m := mirrortest.New(t, w, job())
	for run := range 3 {
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, run == 0)
		wantNote(t, s, what, 1, home+"/app")
	}
}

// Listings in JSON and XML, of folders and of buckets, are followed, over all their pages, and kept as they
// came. Under other rules the stored ones are read again.
func TestListingsForPrograms(t *testing.T) {
	typed := func(mime, body string) mirrortest.Page {
		return mirrortest.Page{Header: map[string]string{"Content-Type": mime}, Body: body}
	}
	const when = `"mtime":"Thu, 29 Feb 2024 13:05:07 GMT"`
	bucket := func(inside string) mirrortest.Page {
		return typed("application/xml", `<?xml version="1.0"?><ListBucketResult `+
			`xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`+inside+`</ListBucketResult>`)
	}
	text := typed("text/plain", "text")
	for name, pages := range map[string]map[string]mirrortest.Page{
		"nginx json": {
			"/":            typed("application/json", `[{ "name":"d", "type":"directory", `+when+` }]`),
			"/d/":          typed("application/json", `[{ "name":"a b.txt", "type":"file", `+when+`, "size":4 }]`),
			"/d/a%20b.txt": text,
		},
		"nginx xml": {
			"/": typed("text/xml", "<?xml version=\"1.0\"?>\n<list>\n"+
				"<file mtime=\"2024-02-29T13:05:07Z\" size=\"4\">a.txt</file>\n</list>\n"),
			"/a.txt": text,
		},
		"bucket": {
			"/":              bucket(`<IsTruncated>true</IsTruncated><Contents><Key>a.txt</Key></Contents>`),
			"/?marker=a.txt": bucket(`<Contents><Key>d/b.txt</Key></Contents>`),
			"/a.txt":         text,
			"/d/b.txt":       text,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			w.SetAll(home, pages)
			m := mirrortest.New(t, w, job())
			for run := range 2 {
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, run == 0)
				if n := len(m.Paths()); (n != len(pages)) || (len(s.Notes) > 0) {
					t.Errorf("%d files, want %d:\n%s", n, len(pages), mirrortest.Text(s))
				}
			}
			m.Set("scope.exclude", `["/*.txt", "/d/*.txt"]`)
			m.Run()
			m.Set("scope.exclude", "[]")
			m.Run() // the stored listings are read again, with the new rules
			if n := len(m.Paths()); n != len(pages) {
				t.Errorf("%d files when the rules are the old ones again, want %d", n, len(pages))
			}
		})
	}
}

// An answer for programs that leads nowhere is noted; data that a page loads or links to as a file is not.
func TestAnswersForPrograms(t *testing.T) {
	data := mirrortest.Page{
		Header: map[string]string{"Content-Type": "application/json"},
		Body:   `{"items": ["/one", "/two"]}`,
	}
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", "<a href=/api/items>items</a> <a href=/data.json>data</a>"))
	w.Set(home+"/api/items", data)
	w.Set(home+"/data.json", data)
	m := mirrortest.New(t, w, job())
	for run := range 2 {
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, run == 0)
		const what = "answers for programs that lead nowhere: what they name in other ways is not in the mirror"
		wantNote(t, s, what, 1, home+"/api/items")
	}
}

// What noarchive keeps out of the mirror is counted, by the header and by meta robots.
func TestNoteOfNoArchive(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", "<a href=/a.html>a</a><a href=/b.html>b</a><a href=/c.html>c</a>"))
	w.Set(home+"/a.html", mirrortest.Page{Header: map[string]string{"X-Robots-Tag": "noarchive"}, Body: "a"})
	w.Set(home+"/b.html", mirrortest.HTML("b", "<meta name=robots content=noarchive> b"))
	w.Set(home+"/c.html", mirrortest.HTML("c", "<meta name=robots content=noindex> c"))
	m := mirrortest.New(t, w, job("polite.connections = 1"))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	const what = "robots noarchive: such pages are not in the mirror, nor what only they link to"
	wantNote(t, s, what, 2, home+"/a.html")
	if n := len(m.Paths()); n != 2 {
		t.Errorf("%d files, want 2: noindex keeps nothing out", n)
	}
	wantSum(t, s, 0)
}
