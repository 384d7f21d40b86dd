// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

const secure = "https://www.example.org"

// movingSite is a site of 40 pages that moves from http to https.
type movingSite struct {
	t *testing.T
	w *mirrortest.Web
	m *mirrortest.Mirror
}

// moving runs a test on a moving site of which some weekly runs were made.
func moving(t *testing.T, runs int, lines string, test func(s *movingSite)) {
	synctest.Test(t, func(t *testing.T) {
		w := mirrortest.NewWeb()
		m := mirrortest.New(t, w, "url = \""+home+"/\"\n"+lines)
		fake := &mirrortest.Fake{Web: w, Takes: time.Millisecond}
		m.Fetcher, m.Robots = fake, fake
		s := &movingSite{t: t, w: w, m: m}
		s.serve(home)
		for i := range runs {
			wantVerdict(t, s.run(), mirror.Complete, i == 0)
		}
		test(s)
	})
}

func (s *movingSite) run() *mirror.Summary {
	time.Sleep(7 * 24 * time.Hour)
	return s.m.Run()
}

// serve sets the pages of the site at an origin.
func (s *movingSite) serve(origin string) {
	var links strings.Builder
	for i := range 40 {
		p := fmt.Sprintf("/d%d/page%02d.html", i/10, i)
		fmt.Fprintf(&links, "<a href=%q>%d</a>\n", p, i)
		s.w.Set(origin+p,
			mirrortest.HTML(fmt.Sprintf("Page %d", i), fmt.Sprintf("<p>text of %d <a href=/>home</a>", i)))
	}
	s.w.Set(origin+"/", mirrortest.HTML("Hub", links.String()))
}

// moveHalf moves the site, of which half is missing then, so that the run is held back.
func (s *movingSite) moveHalf() {
	s.t.Helper()
	s.move()
	for i := range 20 {
		s.w.Remove(fmt.Sprintf("%s/d%d/page%02d.html", secure, i/10, i))
	}
	wantVerdict(s.t, s.run(), mirror.Suspicious, false)
}

// move lets each page redirect to https.
func (s *movingSite) move() {
	s.w.Clear()
	s.serve(secure)
	for i := range 40 {
		p := fmt.Sprintf("/d%d/page%02d.html", i/10, i)
		s.w.Set(home+p, mirrortest.Page{Status: 301, Header: map[string]string{"Location": secure + p}})
	}
	s.w.Set(home+"/", mirrortest.Page{Status: 301, Header: map[string]string{"Location": secure + "/"}})
}

// wantRoot checks that the files lie where they lay, and which origin the root is of.
func (s *movingSite) wantRoot(what, primary string, files int) {
	s.t.Helper()
	paths := s.m.Paths()
	for _, p := range paths {
		if strings.HasPrefix(p, "@") || strings.Contains(p, "~") {
			s.t.Errorf("%s: %s", what, p)
		}
	}
	if len(paths) != files {
		s.t.Errorf("%s: %d files, want %d", what, len(paths), files)
	}
	s.m.Site(func(site *store.Site) {
		vs, err := site.Versions.List()
		if err != nil {
			s.t.Fatal(err)
		}
		if got := render.MetaOf(&vs[len(vs)-1]).Primary; got != primary {
			s.t.Errorf("%s: the primary origin is %s, want %s", what, got, primary)
		}
	})
}

// A site that moves to https keeps the paths of its files, under any policy.
func TestMoveToHTTPS(t *testing.T) {
	for _, policy := range [...]string{"full", "adaptive", "near"} {
		t.Run(policy, func(t *testing.T) {
			moving(t, 6, fmt.Sprintf("policy = %q", policy), func(s *movingSite) {
				s.wantRoot("before", home, 41)
				s.move()
				for i := range 4 {
					wantVerdict(t, s.run(), mirror.Complete, i == 0)
					s.wantRoot(fmt.Sprint("run ", i), secure, 41)
				}
			})
		})
	}
}

// The rest of what a move may meet: it comes in two halves, a page fails meanwhile, the run is interrupted,
// the mirror is rolled back, or the site loses pages with it, so that the version waits for accept.
func TestMoveToHTTPSMeets(t *testing.T) {
	redirect := func(s *movingSite, from, to string, numbers ...int) {
		for _, i := range numbers {
			p := fmt.Sprintf("/d%d/page%02d.html", i/10, i)
			s.w.Set(from+p, mirrortest.Page{Status: 301, Header: map[string]string{"Location": to + p}})
		}
	}
	for name, test := range map[string]func(s *movingSite){
		"two halves": func(s *movingSite) {
			s.move()
			for i := range 40 {
				p := fmt.Sprintf("/d%d/page%02d.html", i/10, i)
				if i%2 == 0 {
					s.w.Set(home+p, mirrortest.HTML(fmt.Sprintf("Page %d", i), "<a href=/>home</a>"))
					redirect(s, secure, home, i)
				}
			}
			s.run()
			if !slices.Contains(s.m.Paths(), "@www.example.org/d0/page01.html") {
				s.t.Errorf("half of the pages: %v", s.m.Paths())
			}
			s.move()
			s.run()
			s.wantRoot("all pages", secure, 41)
		},
		"one fails": func(s *movingSite) {
			s.move()
			s.w.Set(home+"/d1/page11.html", mirrortest.Page{Status: 500})
			s.w.Set(secure+"/d1/page11.html", mirrortest.Page{Status: 500})
			s.run()
			s.wantRoot("without one", secure, 40)
			s.move()
			s.run()
			s.run()
			s.wantRoot("with all", secure, 41)
		},
		"interrupted": func(s *movingSite) {
			s.move()
			for n := 60; n > 0; n -= 15 {
				ctx, stop := context.WithCancel(s.t.Context())
				left := n
				s.w.Hook(func(*http.Request) {
					if left--; left == 0 {
						stop()
					}
				})
				if _, err := s.m.RunWith(ctx, func(*mirror.Options) {}); err != nil {
					s.t.Fatal(err)
				}
				stop()
			}
			s.w.Hook(nil)
			s.run()
			s.wantRoot("afterwards", secure, 41)
		},
		"rolled back": func(s *movingSite) {
			s.move()
			s.run()
			back(s.t, s.m, 1)
			s.wantRoot("rolled back", home, 41)
			if sum := s.run(); sum.Held == nil {
				s.t.Errorf("not held: %s", mirrortest.Text(sum))
			}
			s.wantRoot("held", home, 41)
			s.w.Set(secure+"/d0/page01.html", mirrortest.HTML("Page 1", "news <a href=/>home</a>"))
			s.run()
			s.wantRoot("another site", secure, 41)
		},
		"held back and accepted": func(s *movingSite) {
			s.moveHalf()
			s.wantRoot("held back", home, 41)
			wantVerdict(s.t, s.m.Accept(), mirror.Complete, true)
			s.wantRoot("accepted", secure, 21)
			s.run()
			s.wantRoot("afterwards", secure, 21)
		},
		"held back, and the site moves back": func(s *movingSite) {
			s.moveHalf()
			s.w.Clear()
			s.serve(home)
			wantVerdict(s.t, s.run(), mirror.Complete, false)
			s.wantRoot("afterwards", home, 41)
			s.w.Set(home+"/d0/page01.html", mirrortest.HTML("Page 1", "news <a href=/>home</a>"))
			wantVerdict(s.t, s.run(), mirror.Complete, true)
			s.wantRoot("later", home, 41)
		},
	} {
		t.Run(name, func(t *testing.T) { moving(t, 2, "", test) })
	}
}
