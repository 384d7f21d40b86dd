// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"mirrord/app/runs"
)

// InManyCharsets serves pages whose encodings are said in all places where they can be.
func InManyCharsets(t *testing.T) http.Handler {
	t.Helper()
	encode := func(name, text string) []byte {
		e, err := htmlindex.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.NewEncoder().Bytes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const russian, japanese, german = "Зеркало сайта обновляется каждую ночь", "鏡像は毎晩更新されます。ミラー",
		"Größere Übertragung täglich"
	pages := map[string]struct {
		kind string
		body []byte
	}{
		"/header.html": {"text/html; charset=windows-1251",
			encode("windows-1251", "<title>x</title><p>"+russian+`<a href="/">x</a>`)},
		"/against.html": {"text/html; charset=windows-1251",
			encode("windows-1251", `<meta charset="koi8-r"><p>`+russian+`<a href="/">x</a>`)},
		"/meta.html": {"text/html",
			encode("shift_jis", `<meta charset="shift_jis"><p>`+japanese+`<a href="/">x</a>`)},
		"/headerjp.html": {"text/html; charset=EUC-JP", encode("euc-jp", "<p>"+japanese+`<a href="/">x</a>`)},
		"/bom.html":      {"text/html; charset=windows-1251", []byte("\ufeff<p>" + russian + `<a href="/">x</a>`)},
		"/guess.html":    {"text/html", []byte("<p>" + russian + `<a href="/">x</a>`)},
		"/latin.html":    {"text/html", encode("windows-1252", "<p>"+german+`<a href="/">x</a>`)},
		"/unknown.html":  {"text/html; charset=nonsense", []byte("<p>" + german + `<a href="/">x</a>`)},
		"/page.xhtml": {"application/xhtml+xml",
			[]byte(`<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>` +
				german + `</p><a href="/">x</a></body></html>`)},
		"/plain.txt":  {"text/plain; charset=windows-1251", encode("windows-1251", russian)},
		"/binary.txt": {"text/plain", []byte("a\x00b")},
		"/wide.html":  {"text/html", append([]byte("\xff\xfe"), wide("<p>"+german+`<a href="/">x</a>`)...)},
		"/entities.html": {"text/html",
			[]byte(
				`<p>Gr&ouml;&szlig;ere &Uuml;bertragung<!-- x --> t&#228;glich<script src="x.js"></script><a href="/">x</a>`)},
		"/script.html": {"text/html",
			[]byte(`<p>` + german + `<script>var u = "/page.xhtml";</script><a href="/">x</a>`)},
		"/relocated.html": {"text/html",
			[]byte(`<base href="/deep/down/"><p>` + german + `<a href="../../">x</a>`)},
		"/integrity.html": {"text/html",
			[]byte(`<link rel=stylesheet href=/s.css integrity="sha256-x"><p>` + german + `<a href="/">x</a>`)},
		"/s.css":           {"text/css", []byte("p { color: red }")},
		"/x.js":            {"text/javascript", []byte("1")},
		"/deep/down/x.txt": {"text/plain", []byte(german)},
	}
	var links strings.Builder
	for p := range pages {
		fmt.Fprintf(&links, "<a href=%q>x</a>", p)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, links.String())
			return
		}
		p, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", p.kind)
		w.Write(p.body)
	})
}

func wide(s string) (b []byte) {
	for _, r := range s {
		b = append(b, byte(r), byte(r>>8))
	}
	return b
}

// RunMirror runs the job of a site that a server on loopback has.
func RunMirror(t *testing.T, state, name, url string) {
	t.Helper()
	a := TestApp(state)
	a.Jobs = t.TempDir()
	Put(t, a.Jobs, name+".toml", "url = \""+url+"/\"\npolite.delay = \"0s\"\npolite.factor = 0\n")
	if _, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: name}); err != nil {
		t.Fatal(err)
	}
}
