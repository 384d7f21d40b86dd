// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/testing/apptest"
)

// A page that stays as it is while a style that it loads changes has a record in that version, and so has
// the style in between; a page that does not load it has none.
func TestExportShownAnew(t *testing.T) {
	s := &apptest.Changing{App: apptest.TestApp(t.TempDir())}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".css") {
			w.Header().Set("Content-Type", "text/css")
		}
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, "<title>Start</title><a href=styled.html>s</a><a href=plain.html>p</a>")
		case "/styled.html":
			fmt.Fprint(w, "<title>Styled</title><link rel=stylesheet href=a.css>")
		case "/plain.html":
			fmt.Fprint(w, "<p>plain")
		case "/a.css":
			fmt.Fprint(w, `@import "b.css";`)
		case "/b.css":
			fmt.Fprintf(w, "p { margin-left: %dpx }", min(s.Version.Load(), 2))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	s.Mirror(t, 3)
	var out bytes.Buffer
	o := ExportRequest{
		Job:         "site",
		Out:         "-",
		Format:      "warc",
		Stream:      &out,
		AllVersions: true,
	}
	if _, err := Export(t.Context(), s.App, o); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, r := range RecordsIn(t, s, &out) {
		got = append(got, r.brief())
	}
	for day, records := range []string{
		"response /,response /styled.html,response /plain.html,response /a.css,response /b.css",
		"response /b.css,revisit /,revisit /styled.html,revisit /a.css",
		"revisit /,revisit /styled.html,revisit /plain.html,revisit /a.css,revisit /b.css",
	} {
		date := time.Unix(apptest.ChangingStart+int64(day)*86400, 0).UTC().Format(" 01-02")
		for r := range strings.SplitSeq(records, ",") {
			want = append(want, r+date)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("records\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
