// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// TestEncodingOfThePage: a style sheet or script that names no encoding and is not UTF-8 is read in that of
// the page that links to it, through imports too, as browsers read it; also in later runs, in which the page
// is as it was.
func TestEncodingOfThePage(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	set := func(path, mime, text string) {
		body, err := charmap.Windows1251.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		w.Set(home+path, mirrortest.Page{Header: map[string]string{"Content-Type": mime}, Body: body})
	}
	png := func(names ...string) {
		for _, name := range names {
			w.Set(home+"/"+url.PathEscape(name), mirrortest.Page{
				Header: map[string]string{"Content-Type": "image/png"},
				Body:   name,
			})
		}
	}
	set("/", "text/html", `<meta charset="windows-1251"><title>Дом</title><link rel=stylesheet href=/lead>`+
		`<link rel=stylesheet href=/utf8.css><script src=/s.js></script><script src=/old.js></script>`)
	w.Set(home+"/lead", mirrortest.Redirect("/a.css"))
	set("/a.css", "text/css", `@import "b.css";`)
	set("/b.css", "text/css", `a{background:url("/фон.png")}p{background:url(/q?и=1)}`)
	set("/s.js", "text/javascript", `show("/вид.png")`)
	const script = `write("Дом", "/вид.png")`
	set("/old.js", "application/x-javascript; charset=windows-1251", script)
	w.Set(home+"/utf8.css", mirrortest.Page{
		Header: map[string]string{"Content-Type": "text/css"},
		Body:   `a{background:url("/знак.png")}`,
	})
	w.Set(home+"/q?%E8=1", mirrortest.Page{Header: map[string]string{"Content-Type": "image/png"}, Body: "q"})
	png("фон.png", "вид.png", "знак.png", "новый.png")
	m := mirrortest.New(t, w, job(""))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for _, p := range []string{"фон.png", "вид.png", "знак.png"} {
		if m.Tree()[p] != p {
			t.Errorf("%s is not in the mirror: %q", p, m.Paths())
		}
	}
	css := m.Tree()["b.css"]
	want := fmt.Sprintf(`@charset "windows-1251";a{background:url("%s")}p{background:url(q@`, url.PathEscape("фон.png"))
	if !strings.HasPrefix(css, want) {
		t.Errorf("b.css is %q, want %q", css, want)
	}
	if css = m.Tree()["utf8.css"]; css != `a{background:url("`+url.PathEscape("знак.png")+`")}` {
		t.Errorf("utf8.css is %q", css)
	}
	if js := m.Tree()["old.js"]; js != "\ufeff"+script {
		t.Errorf("old.js is %q", js)
	}
	set("/b.css", "text/css", `a{background:url("/новый.png")}/* ю */`)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if m.Tree()["новый.png"] == "" {
		t.Errorf("новый.png is not in the mirror: %q\n%s", m.Paths(), mirrortest.Text(s))
	}
}
