// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// notes36 serves 36 different notes of one template: the same title, links and size.
func notes36(w *mirrortest.Web) {
	var links strings.Builder
	for i := range 36 {
		p := fmt.Sprintf("/note%02d.html", i)
		fmt.Fprintf(&links, "<a href=%q>%d</a> ", p, i)
		w.Set(home+p,
			mirrortest.HTML("Note", fmt.Sprintf(`<a href="/">all</a><p>%s`, mirrortest.Words(uint32(i+1), 40))))
	}
	w.Set(home+"/", mirrortest.HTML("Notes", links.String()))
}

// A first run finds pages that say the same: they cannot have become anything. It says so, and publishes.
func TestFirstRunOfAWall(t *testing.T) {
	w := mirrortest.Start(t)
	notes36(w)
	for i := range 36 {
		w.Set(fmt.Sprintf("%s/note%02d.html", home, i), mirrortest.HTML("Log in",
			fmt.Sprintf("<p>To see /note%02d.html you must log in. Request %x.", i, 1000*i)))
	}
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "36 of 37 pages say the same, such as http://www.example.org/note", "login or error page")
}

// Pages of one template look the same and are no wall, because each has words of its own.
func TestFirstRunOfAlikePages(t *testing.T) {
	w := mirrortest.Start(t)
	notes36(w)
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if text := mirrortest.Text(s); strings.Contains(text, "login or error page") {
		t.Error(text)
	}
	w.Set(home+"/note07.html", mirrortest.HTML("Note", `<a href="/">all</a><p>Another text of this note.`))
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Changed != 1 {
		t.Error(mirrortest.Text(s))
	}
	for i := range 36 { // now they do become something
		w.Set(fmt.Sprintf("%s/note%02d.html", home, i), mirrortest.HTML("Log in", "<form action=/login></form>"))
	}
	s = m.Run()
	wantVerdict(t, s, mirror.Suspicious, false)
	wantText(t, s, "have become the same page")
}

// A small site may lose up to three files in a run, for any share that this is; limits.max_delete = 0 still
// says none.
func TestMaxDeleteHasAFloor(t *testing.T) {
	for _, c := range []struct {
		name string
		max  string
		lose int
		want mirror.Verdict
	}{
		{"one of nine", "10%", 1, mirror.Complete},
		{"three of nine", "10%", 3, mirror.Complete},
		{"four of nine", "10%", 4, mirror.Suspicious},
		{"one of nine, none allowed", "0%", 1, mirror.Suspicious},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, lose := range map[string]func(w *mirrortest.Web){
				"gone": func(w *mirrortest.Web) {
					for i := range c.lose {
						w.Remove(fmt.Sprintf("%s/page%02d.html", home, i))
					}
				},
				"not linked": func(w *mirrortest.Web) {
					var links strings.Builder
					for i := c.lose; i < 8; i++ {
						fmt.Fprintf(&links, "<a href=/page%02d.html>%d</a> ", i, i)
					}
					w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
				},
			} {
				w := mirrortest.Start(t)
				hub(w, 8)
				m := mirrortest.New(t, w, job(fmt.Sprintf("limits.max_delete = %q", c.max)))
				wantVerdict(t, m.Run(), mirror.Complete, true)
				lose(w)
				if s := m.Run(); s.Verdict != c.want || (c.want == mirror.Complete && s.Removed != c.lose) {
					t.Errorf("%s: %s", how, mirrortest.Text(s))
				}
			}
		})
	}
}
