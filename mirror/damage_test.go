// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/upkeep"
	"mirrord/testing/mirrortest"
)

// ownFrame is a text so long that its page has a frame of its own, and no bundle with other pages: harm to it
// reaches no other.
func ownFrame() string {
	return strings.Repeat("<p>A frame of its own, not a bundle with other pages.", 11_000)
}

// A stored body that the disk lost is noticed when it is needed, and the page is asked for again instead of
// never being published.
func TestDamagedPackHeals(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 8)
	lost := `<p>the one that is lost: <a href="target.html">x</a>` + ownFrame()
	w.Set(home+"/page03.html", mirrortest.HTML("Three", lost))
	w.Set(home+"/target.html", mirrortest.Status(404))
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	harmPack(t, m, home+"/page03.html", 1, false)
	m.Damaged = true
	// so that page03 must be relocated again
	w.Set(home+"/target.html", mirrortest.HTML("Target", "now it is there"))
	for i := range 3 {
		s := m.Run()
		if s.Published {
			if i == 0 {
				t.Errorf("published in spite of the damage:\n%s", mirrortest.Text(s))
			}
			break
		}
		wantText(t, s, "damaged", "page03.html")
	}
	// The body that came again is that of version 1, too: Verify finds no damage.
	m.Damaged = false
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if got := m.Tree()["page03.html"]; !bytes.Contains([]byte(got),
		[]byte(`the one that is lost: <a href="target.html">`)) {
		t.Errorf("page03.html is %q", got)
	}
}

// A body on disk that went bad, or missing, is found by Verify and asked for again by the next run, although
// the site says that it has not changed; the published file is whole again, in the same version. So is the
// other tree when it is its turn.
func TestDamagedBlobIsFoundAndHealed(t *testing.T) {
	for _, c := range []struct {
		name    string
		damage  func(path string) error
		fetched int64
	}{
		{"other bytes", func(p string) error { // of the same size, through every name of the file
			f, err := os.OpenFile(p, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("?"), 2)
			return errors.Join(err, f.Close())
		}, 1},
		{"cut", func(p string) error { return os.Truncate(p, 3) }, 1},
		{"missing", os.Remove, 0}, // the published file has it
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 8)
			w.Set(home+"/page03.html", mirrortest.HTML("Three", `<img src="logo.png"><img src="other.png">`))
			body := map[string]mirrortest.Page{
				"/logo.png":  {Body: "the one that is lost"},
				"/other.png": {Body: "another"},
			}
			w.SetAll(home, body)
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			w.Set(home+"/page04.html", mirrortest.HTML("Four", "changed, so that both trees have files"))
			wantVerdict(t, m.Run(), mirror.Complete, true)
			tree := m.Tree()

			d := sha256.Sum256([]byte("the one that is lost"))
			name := hex.EncodeToString(d[:])
			blob := filepath.Join(m.Dir, "blobs", name[:2], name)
			if err := c.damage(blob); err != nil {
				t.Fatal(err)
			}
			found := 0
			m.Site(func(s *store.Site) {
				if _, err := report.Verify(t.Context(), s, func(p upkeep.Problem) {
					if p.Kind == upkeep.BadBlob && p.Subject == home+"/logo.png" {
						found++
					}
				}); err != nil {
					t.Fatal(err)
				}
			})
			if found == 0 {
				t.Fatal("Verify did not find it")
			}
			w.Requests()
			s := m.Run() // Verify of the helper says that all is well again
			wantVerdict(t, s, mirror.Complete, false)
			if n := s.Fetched; n != c.fetched {
				t.Errorf("%d fetched, want %d", n, c.fetched)
			}
			if got := m.Tree(); !maps.Equal(got, tree) {
				t.Errorf("the published tree is not whole: logo.png is %q", got["logo.png"])
			}
			for i := range 3 {
				w.Set(home+"/page04.html", mirrortest.HTML("Four", fmt.Sprint("changed again ", i)))
				w.Requests()
				wantVerdict(t, m.Run(), mirror.Complete, true)
				if got := m.Tree()["logo.png"]; got != "the one that is lost" {
					t.Errorf("version %d has %q", 3+i, got)
				}
				for _, r := range w.Requests() {
					if r.URL == home+"/logo.png" && !r.Conditional && i > 1 {
						t.Error("it is still asked for without condition")
					}
				}
			}
		})
	}
}

// A document whose stored body is lost, and which is to be rendered again while the site does not have it:
// nothing crashes, the damage is named, its file stays as good as it was or leaves with the page, and the
// runs after it publish what else is new.
func TestLostBodyOfAPageThatIsGone(t *testing.T) {
	for _, c := range []struct {
		name string
		page mirrortest.Page
	}{{"gone", mirrortest.Status(404)}, {"failing", mirrortest.Status(500)}} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 8)
			link := `<p>three <a href="target.html">x</a> <a href="` + home + `/page02.html">two</a>` +
				ownFrame()
			w.Set(home+"/page03.html", mirrortest.HTML("Three", link))
			w.Set(home+"/target.html", mirrortest.Status(404))
			m := mirrortest.New(t, w, job("limits.retries = 0"))
			wantVerdict(t, m.Run(), mirror.Complete, true)
			harmPack(t, m, home+"/page03.html", 1, false)
			m.Damaged = true
			was := m.Tree()["page03.html"]
			w.Set(home+"/page03.html", c.page)
			w.Set(home+"/target.html", mirrortest.HTML("Target", "now it is there"))
			for i := range 3 {
				w.Set(home+"/page04.html", mirrortest.HTML("Four",
					fmt.Sprint(`<a href="target.html">t</a> changed `, i)))
				s := m.Run()
				got, there := m.Tree()["page03.html"]
				stays := c.name == "failing"
				if !s.Published || there != stays || (there && got != was) {
					t.Errorf("run %d: there is %v, as it was %v\n%s", i, there, got == was, mirrortest.Text(s))
				}
				if stays && i == 0 {
					wantText(t, s, "stays as it was published")
				}
			}
			if len(problems(t, m)) == 0 {
				t.Error("Verify does not name lost bodies")
			}
			w.Set(home+"/page03.html", mirrortest.HTML("Three", link))
			for range 2 {
				m.Run()
			}
			if got := m.Tree()["page03.html"]; !bytes.Contains([]byte(got), []byte(`<a href="target.html">`)) {
				t.Errorf("when it is back it is %q", got)
			}
			if left := problems(t, m); len(left) > 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
}

// A page and a picture without a copy anywhere, and which the site fails to give, do not keep new
// versions from being published: links to them become absolute until they are back.
func TestLostBodiesThatTheSiteFailsToGive(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 8)
	three := mirrortest.HTML("Three", `<p>three <img src="/img/logo.png">`+ownFrame())
	logo := mirrortest.Page{Body: "the picture of the logo"}
	w.Set(home+"/page03.html", three)
	w.Set(home+"/page05.html", mirrortest.HTML("Five", `<img src="/img/logo.png">`))
	w.Set(home+"/img/logo.png", logo)
	m := mirrortest.New(t, w, job("limits.retries = 0"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	m.Damaged = true
	site := filepath.Join(m.Dir, "sites/test")
	harmPack(t, m, home+"/page03.html", 1, false)
	must(t, os.WriteFile(filepath.Join(site, "current/img/logo.png"), []byte("the picture of the LOGO"), 0o644))
	must(t, os.Remove(filepath.Join(site, "current/page03.html")))
	for _, u := range []string{"/page03.html", "/img/logo.png"} {
		w.Set(home+u, mirrortest.Status(500))
	}
	published := false
	for i := range 4 {
		w.Set(home+"/page04.html", mirrortest.HTML("Four", fmt.Sprint("changed ", i)))
		s := m.Run()
		if published = s.Published; published {
			break
		}
		if s.Verdict != mirror.Partial {
			t.Errorf("run %d\n%s", i, mirrortest.Text(s))
		}
	}
	tree := m.Tree()
	if _, there := tree["page03.html"]; !published || there {
		t.Fatalf("published %v, the page is there: %v", published, there)
	}
	for page, link := range map[string]string{
		"page05.html": home + "/img/logo.png",
		"index.html":  home + "/page03.html",
	} {
		if !strings.Contains(tree[page], link) {
			t.Errorf("%s does not lead to %s: %s", page, link, tree[page])
		}
	}
	w.Set(home+"/page03.html", three)
	w.Set(home+"/img/logo.png", logo)
	for range 3 {
		m.Run()
	}
	tree = m.Tree()
	if tree["img/logo.png"] != logo.Body || !strings.Contains(tree["page03.html"], `src="img/logo.png"`) {
		t.Errorf("when they are back: %q, %q", tree["img/logo.png"], tree["page03.html"])
	}
	if left := problems(t, m); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
