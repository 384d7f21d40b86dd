// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// A site whose files have hashes in their names is deployed anew each week, and a quarter of its addresses
// change: what pages load and what they link to, in the same folder or another one. The old ones answer 404,
// or still answer. They leave, and nothing waits for a user to accept it.
func TestDeploysInBulk(t *testing.T) {
	for _, policy := range []string{"full", "adaptive"} {
		for _, gone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gone %v", policy, gone), func(t *testing.T) {
				r := rand.New(rand.NewPCG(58, 25))
				w := mirrortest.Start(t)
				m := mirrortest.New(t, w, fmt.Sprintf("policy = %q\n", policy)+job())
				var last []string
				for week := range 12 {
					now := deploy(w, r, week%4 == 3)
					if gone {
						for _, u := range last {
							w.Remove(u)
						}
					}
					last = now
					s := m.Run()
					wantVerdict(t, s, mirror.Complete, true)
					if s.Files > 64 {
						t.Errorf("week %d: %d files", week, s.Files)
					}
				}
			})
		}
	}
}

// deploy puts a site of 31 pages and 11 files with hashes on a web, and returns the URLs of the files. Some
// weeks also their folder is another one.
func deploy(w *mirrortest.Web, r *rand.Rand, elsewhere bool) (files []string) {
	hash := func() string { return fmt.Sprintf("%08xa1", r.Uint32()) }
	build := hash()
	at := "/assets"
	if elsewhere {
		at = fmt.Sprintf("/build%c", 'a'+r.IntN(20))
	}
	var head strings.Builder
	for i := range 11 {
		name := string(rune('a' + i))
		p := []string{
			fmt.Sprintf("%s/app%s.%s.js", at, name, hash()),
			fmt.Sprintf("/static/%s/%s.css", build, name),
			fmt.Sprintf("%s/guide%s-%s.pdf", at, name, hash()),
			fmt.Sprintf("/data%s.txt?v=%s", name, hash()),
		}[i%4]
		switch i % 4 {
		case 0:
			fmt.Fprintf(&head, "<script src=%q></script>", p)
			w.Set(home+p, mirrortest.Page{Body: "var x = " + fmt.Sprint(r.IntN(1000))})
		case 1:
			fmt.Fprintf(&head, "<link rel=stylesheet href=%q>", p)
			w.Set(home+p, mirrortest.Page{Body: "p { margin: " + fmt.Sprint(r.IntN(1000)) + "px }"})
		default:
			fmt.Fprintf(&head, "<a href=%q>guide</a>", p)
			w.Set(home+p, mirrortest.Page{Body: mirrortest.Words(r.Uint32(), 40)})
		}
		files = append(files, home+p)
	}
	var links strings.Builder
	for i := range 30 {
		fmt.Fprintf(&links, "<a href=/page%02d.html>%d</a> ", i, i)
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.HTML(fmt.Sprint("Page ", i), "<p>"+prose(i, 0)))
	}
	w.Set(home+"/", mirrortest.HTML("Hub", head.String()+links.String()))
	return files
}
