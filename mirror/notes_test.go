// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"testing"

	"mirrord/internal/mirrortest"
	"mirrord/mirror"
)

// wantNote checks that a summary notes something, of so many URLs with one as the example.
func wantNote(t *testing.T, s *mirror.Summary, what string, n int, example string) {
	t.Helper()
	for _, x := range s.Notes {
		if x.What == what {
			if (x.Count != n) || (x.Examples[0] != example) {
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
