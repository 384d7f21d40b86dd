// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

const (
	outside4, outside6 = "93.184.216.34", "2606:2800:220:1::1"
	metadata4          = "169.254.169.254"
)

// guarded is a mirror of http://site.test/ in a network whose names change, with the memory of its state.
func guarded(t *testing.T, toml string) (*mirrortest.Web, *mirrortest.FakeNetwork, *mirrortest.Mirror) {
	t.Helper()
	w := mirrortest.NewWeb()
	setSite(w)
	n := mirrortest.StartNetwork(t, w)
	for _, name := range []string{"site.test", "img.test", "map.test", "alt.test"} {
		n.Name(name, outside4)
	}
	m := mirrortest.New(t, nil, "url = \"http://site.test/\"\nrequisites = \"any\"\n"+toml)
	st, err := store.OpenState(m.Dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	m.World.Network, m.World.Names = n, st.PublicNames
	return w, n, m
}

func setSite(w *mirrortest.Web) {
	w.SetAll("http://site.test", map[string]mirrortest.Page{
		"/": mirrortest.HTML("home",
			`<a href="a.html">a</a> <img src="http://img.test/x.png"> <a href="gone.html">b</a>`),
		"/a.html": mirrortest.HTML("a", "<p>the page of outside</p>"),
		"/robots.txt": {Body: "User-agent: *\nDisallow:\nSitemap: http://map.test/sitemap.xml\nSitemap: " +
			"http://site.test/sitemap.xml\n"},
		"/sitemap.xml": {Body: `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://site.test/only.html</loc></url></urlset>`},
		"/only.html":   mirrortest.HTML("only", "<p>only in the sitemap</p>"),
	})
	w.Set("http://img.test/x.png", mirrortest.Page{Body: "\x89PNG"})
}

func wantNothingInside(t *testing.T, n *mirrortest.FakeNetwork, m *mirrortest.Mirror) {
	t.Helper()
	for _, r := range n.Inside.Requests() {
		t.Errorf("%s was asked inside", r.URL)
	}
	if !m.Published() {
		return
	}
	for path, body := range m.Tree() {
		if strings.Contains(body, "SECRET") {
			t.Errorf("%s is published from inside", path)
		}
	}
}

// Who owns the site points its name, and those that it refers to, at the network of the mirror: between two
// requests of a run, and between two runs.
func TestRebinding(t *testing.T) {
	for _, tt := range []struct {
		name, toml string
		answers    []string // of site.test, from the second run on
		want       string   // what the report says
	}{
		{"loopback", "", []string{"127.0.0.1"},
			`add allow_private = ["site.test:80"] to the table [polite] of test.toml`},
		{"loopback, IPv6", "", []string{"::1"}, `add allow_private = ["site.test:80"]`},
		{"unique-local", "", []string{"fd00::1"}, "unique-local"},
		{"mapped", "", []string{"::ffff:10.0.0.1"}, "private"},
		{"both", "", []string{"127.0.0.1 ::1"}, "loopback"},
		{"allowed, but it was public", "[polite]\nallow_private = true\n", []string{"127.0.0.1"},
			"mirrord forget --address site.test"},
		{"metadata", "[polite]\nallow_private = true\n", []string{metadata4}, "metadata"},
		{"metadata, IPv6", "[polite]\nallow_private = [\"site.test\"]\n", []string{"fd00:ec2::254"}, "metadata"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, n, m := guarded(t, tt.toml)
			n.Name("img.test", tt.answers...) // never public: allowed where the job says so
			n.Name("map.test", metadata4)
			if tt.toml != "" {
				n.Name("img.test", outside6)
			}
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			wantNothingInside(t, n, m)

			n.Name("site.test", tt.answers...)
			s = m.Run()
			wantVerdict(t, s, mirror.Partial, false)
			wantText(t, s, tt.want)
			wantNothingInside(t, n, m)
			if m.Tree()["a.html"] == "" {
				t.Error("the old copy is gone")
			}
		})
	}
	t.Run("within a run", func(t *testing.T) {
		_, n, m := guarded(t, "[limits]\nretries = 0\n")
		var turns []string
		for range 20 {
			turns = append(turns, outside4, "127.0.0.1", outside6, "::1", "10.0.0.1")
		}
		n.Name("site.test", turns...)
		n.Name("img.test", turns...)
		m.Run() // when the entry point is asked for at a turn inside, there is no version
		wantNothingInside(t, n, m)
	})
}

// A private network that the job allows is mirrored, and nothing else of it.
func TestAllowedPrivate(t *testing.T) {
	_, n, m := guarded(t, "[polite]\nallow_private = [\"10.0.0.0/8:80\", \"img.test:80\"]\n")
	setSite(n.Inside)
	n.Inside.Set("*", mirrortest.Status(404))
	n.Name("site.test", "10.0.0.7")
	n.Name("img.test", "fd00::9")
	n.Name("map.test", "192.168.0.1")
	wantVerdict(t, m.Run(), mirror.Complete, true)
	asked := n.Inside.Asked()
	if asked["http://site.test/only.html"] == 0 || asked["http://img.test/x.png"] == 0 ||
		asked["http://map.test/sitemap.xml"] != 0 {
		t.Errorf("asked %v", asked)
	}
}

// An alternate is asked where the job may reach it, and not by its name alone; so is one that cures links
// that are gone.
func TestAlternateInside(t *testing.T) {
	w, n, m := guarded(t, "repair = true\nalternates = [\"http://alt.test/\"]\n[limits]\nretries = 0\n")
	n.Name("alt.test", "127.0.0.1")
	m.Run()
	w.Set("http://site.test/a.html", mirrortest.Status(500))
	w.Set("http://site.test/only.html", mirrortest.Status(404))
	m.Run()
	m.Run()
	wantNothingInside(t, n, m)
}
