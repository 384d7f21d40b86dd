// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/env"
	"mirrord/app/spaces"
	"mirrord/phm/space"
)

// The picture of a space has an arrow for each pair of mirrors of which one links to the other; the table
// says the same in both directions.
func TestViewSpace(t *testing.T) {
	s := &spaces.LookedSpace{Overview: space.Overview{
		Space: "s",
		Mirrors: []space.Resident{
			{Name: "a", Files: 9, To: []space.Count{{Name: "b", Links: 1000}, {Name: "c", Links: 1}}},
			{Name: "b", To: []space.Count{{Name: "a", Links: 2}}, Stale: map[string]string{"x": "why"}},
			{Name: "c"},
		},
		Left: map[string]string{"c": "locked"},
	}}
	d := viewSpace(s)
	if d.Graph == nil || len(d.Graph.Nodes) != 3 || len(d.Graph.Edges) != 3 {
		t.Fatalf("%+v", d.Graph)
	}
	if e := d.Graph.Edges[0]; e.What != "a links to 1000 files of b" || e.Thick != "5.5" {
		t.Errorf("%+v", e)
	}
	for _, n := range d.Graph.Nodes {
		if n.X < 0 || n.X > graphWidth || n.LabelY < 0 || n.LabelY > graphHeight {
			t.Errorf("%+v is outside", n)
		}
	}
	if by := d.Rows[0].By; len(by) != 1 || by[0] != (space.Count{Name: "b", Links: 2}) {
		t.Errorf("%+v", by)
	}
	if !strings.Contains(d.Rows[1].Note, "1 page ") || !strings.Contains(d.Rows[2].Note, "locked") {
		t.Errorf("%+v", d.Rows)
	}
	s.Mirrors = s.Mirrors[:1]
	if viewSpace(s).Graph != nil {
		t.Error("a picture of one mirror")
	}
}

// putSpace puts two mirrors that lead to one another into a space of a state.
func putSpace(t testing.TB, a *env.App) {
	t.Helper()
	state, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(state, space.Folder, "library")
	left, err := json.Marshal(map[string]string{"other": evilText})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"files/index.html":    "",
		"left":                string(left),
		"seed":                "12345678",
		"mirrors/site.json":   `{"name": "site", "version": 1, "files": 7}`,
		"mirrors/site.pages":  `{"path": "a.html", "links": 3, "to": [{"mirror": "other", "path": "b.html"}]}`,
		"mirrors/other.json":  `{"name": "other", "version": 2, "files": 5}`,
		"mirrors/other.pages": `{"path": "b.html", "links": 1, "to": [{"mirror": "site", "path": "a.html"}]}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The page of the spaces shows each with its picture and its table.
func TestSpacesPage(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.login(Read)
	none := b.want(http.StatusOK, "There is no space", "/spaces", nil)
	putSpace(t, a)
	page := b.want(http.StatusOK, "library", "/spaces", nil)
	if strings.Contains(none, `href="/spaces"`) {
		t.Error(none)
	}
	for _, want := range []string{
		`<a href="/spaces" aria-current="page">Spaces</a>`, "site links to 1 file of other", ">other 1<",
		"stays as it was: &lt;script&gt;", "2 pages have 4 links to other mirrors",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
}
