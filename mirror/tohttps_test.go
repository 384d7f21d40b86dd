// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
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
