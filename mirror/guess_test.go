// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// TestScriptGuessesEnd: a site whose scripts name what it has not, each page something else, is not asked for
// all of it; linked pages are fetched all the same, and the run is complete.
func TestScriptGuessesEnd(t *testing.T) {
	const pages = 300
	w := mirrortest.Start(t)
	hub(w, 0)
	var links strings.Builder
	for i := range pages {
		p := fmt.Sprintf("/d%d/page.html", i)
		fmt.Fprintf(&links, "<a href=%q>%d</a>\n", p, i)
		w.Set(home+p,
			mirrortest.HTML(fmt.Sprint("Page ", i),
				`<script>f("data/here.json", "/img/shared.png")</script><a href="linked.html">x</a>`))
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
	w.Set(home+"/img/shared.png", mirrortest.Page{Body: "png"})
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "addresses in scripts were no longer followed")
	guesses, linked := 0, 0
	for u := range w.Asked() {
		switch {
		case strings.HasSuffix(u, "/data/here.json"):
			guesses++
		case strings.HasSuffix(u, "/linked.html"):
			linked++
		}
	}
	if guesses < 50 || guesses > 120 || linked != pages {
		t.Errorf("asked for %d of %d guesses and %d linked pages", guesses, pages, linked)
	}
	if m.ByURL()[home+"/img/shared.png"] != "png" {
		t.Error("the guess that led somewhere is not in the mirror")
	}

	next := m.Run()
	wantVerdict(t, next, mirror.Complete, false)
	// without the guesses that led nowhere
	if want := int64(1 + 2*pages + 1); s.Known != want || next.Known != want {
		t.Errorf("%d and %d known URLs, want %d in both runs", s.Known, next.Known, want)
	}
	again := 0
	for u := range w.Asked() {
		if strings.HasSuffix(u, "/data/here.json") {
			again++
		}
	}
	if again > guesses/2 {
		t.Errorf("%d of %d guesses that had led nowhere were asked again at once", again, guesses)
	}
}

// TestScriptOfUnknownRules: under new rules the strings of a stored script lead further without the script
// being asked for its body.
func TestScriptOfUnknownRules(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/docs/", mirrortest.HTML("Docs", `<script src="app.js"></script>`))
	w.Set(home+"/docs/app.js", mirrortest.Page{Body: `show("/extra/pic.html"); show("/docs/in.html")`})
	w.Set(home+"/docs/in.html", mirrortest.HTML("In", ""))
	w.Set(home+"/extra/pic.html", mirrortest.HTML("Pic", ""))
	m := mirrortest.New(t, w, fmt.Sprintf("url = %q\n", home+"/docs/"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := m.ByURL(); got[home+"/docs/in.html"] == "" || got[home+"/extra/pic.html"] != "" {
		t.Fatalf("the mirror has %q", m.Paths())
	}
	m.SetJob(w, fmt.Sprintf("url = %q\n[scope]\nkind = \"host\"\n", home+"/docs/"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if m.ByURL()[home+"/extra/pic.html"] == "" {
		t.Fatalf("the mirror has %q", m.Paths())
	}
	m.SetJob(w, fmt.Sprintf("url = %q\nscripts = false\n[limits]\nmax_delete = \"100%%\"\n", home+"/docs/"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := m.ByURL(); len(got) != 2 {
		t.Fatalf("without scripts the mirror has %q", m.Paths())
	}
}
