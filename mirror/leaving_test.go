// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// Files that the new rules of a job refuse, and those that only such files linked to, are no loss.
func TestNewRulesAreNotSuspicious(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Hub", `<a href="/keep.html">k</a> <a href="/old/">old</a>`))
	w.Set(home+"/keep.html", mirrortest.HTML("Keep", "stays"))
	var links strings.Builder
	for i := range 20 {
		fmt.Fprintf(&links, `<a href="/notes/%d.html">%d</a> <a href="%d.html">%d</a>`, i, i, i, i)
		w.Set(fmt.Sprintf("%s/notes/%d.html", home, i), mirrortest.HTML(fmt.Sprint("Note ", i), "note"))
		w.Set(fmt.Sprintf("%s/old/%d.html", home, i), mirrortest.HTML(fmt.Sprint("Old ", i), "old"))
	}
	w.Set(home+"/old/", mirrortest.HTML("Old", links.String()))
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	m.Set("scope.exclude", `["/old/**"]`)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "41 files left because the job changed")
	wantPaths(t, m, "index.html", "keep.html")
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if text := mirrortest.Text(s); strings.Contains(text, "because the job changed") {
		t.Error(text)
	}
}

// Pages that become resources of another type or extension are no deletions.
func TestChangedTypesAreNoDeletions(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w *mirrortest.Web, i int)
		link   string
	}{
		{"redirect to another type", func(w *mirrortest.Web, i int) {
			w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Redirect(fmt.Sprintf("/page%02d.pdf", i)))
			w.Set(fmt.Sprintf("%s/page%02d.pdf", home, i), mirrortest.Page{Body: fmt.Sprint("pdf ", i)})
		}, "page%02d.html"},
		{"another type at the same URL", func(w *mirrortest.Web, i int) {
			p := mirrortest.HTML(fmt.Sprint("Page ", i), "<p>as XML</p>")
			p.Header["Content-Type"] = "application/xhtml+xml"
			p.Body = fmt.Sprintf(`<html xmlns="http://www.w3.org/1999/xhtml"><head><title>%d</title></head></html>`, i)
			w.Set(fmt.Sprintf("%s/page%02d.html", home, i), p)
		}, "page%02d.html"},
		{"another extension", func(w *mirrortest.Web, i int) {
			w.Remove(fmt.Sprintf("%s/page%02d.html", home, i))
			w.Set(fmt.Sprintf("%s/page%02d.php", home, i), mirrortest.HTML(fmt.Sprint("Page ", i), "<p>as PHP"))
		}, "page%02d.php"},
		{"another extension, and the old one answers", func(w *mirrortest.Web, i int) {
			w.Set(fmt.Sprintf("%s/page%02d.php", home, i), mirrortest.HTML(fmt.Sprint("Page ", i), "<p>as PHP"))
		}, "page%02d.php"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 20)
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			var links strings.Builder
			for i := range 20 {
				c.change(w, i)
				fmt.Fprintf(&links, "<a href=/"+c.link+">%d</a> ", i, i)
			}
			w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.Files != 21 {
				t.Error(mirrortest.Text(s))
			}
		})
	}
}
