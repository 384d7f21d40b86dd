// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mirrord/site"
)

func TestNamerConflicts(t *testing.T) {
	const o = "https://h.example"
	hashed := func(stem, url, ext string) string { return stem + qualifier(o+url) + ext }
	for _, c := range []struct {
		name, mime string
		urls, want []string
	}{
		{"case", "text/html", []string{"/A.html", "/a.html"}, []string{"A.html", hashed("a", "/a.html", ".html")}},
		{"normalization", "text/html", []string{"/%C3%A9.html", "/e%CC%81.html"},
			[]string{"é.html", hashed("é", "/e%CC%81.html", ".html")}},
		{"full folding", "text/html", []string{"/SS.html", "/%C3%9F.html"},
			[]string{"SS.html", hashed("ß", "/%C3%9F.html", ".html")}},
		{"index", "text/html", []string{"/a/", "/a/index.html"},
			[]string{"a/index.html", hashed("a/index", "/a/index.html", ".html")}},
		{"extension", "text/html", []string{"/a", "/a.html"}, []string{"a.html", hashed("a", "/a.html", ".html")}},
		{"page beside directory", "text/html", []string{"/a", "/a/b"}, []string{"a.html", "a/b.html"}},
		{"file beside directory", "text/plain", []string{"/a", "/a/b", "/a/c/d"},
			[]string{"a", "a" + qualifier("a") + "/b", "a" + qualifier("a") + "/c/d"}},
		{"directory beside file", "text/plain", []string{"/a/b", "/a"}, []string{"a/b", hashed("a", "/a", "")}},
		{"directory case", "text/html", []string{"/A/x.html", "/a/y.html"}, []string{"A/x.html", "a/y.html"}},
	} {
		n := Namer{Layout: Layout{Primary: o}}
		var got []string
		for _, u := range c.urls {
			got = append(got, n.Assign(mustURL(t, o+u), c.mime, ""))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNamerReserve(t *testing.T) {
	n := Namer{Layout: Layout{Primary: "https://h.example"}}
	if err := n.Reserve("a/B.html"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a/b.html", "a", "a/b.html/c"} {
		if err := n.Reserve(path); !errors.Is(err, ErrTaken) {
			t.Errorf("Reserve(%q) = %v, want ErrTaken", path, err)
		}
	}
	if err := n.Reserve("../x"); !errors.Is(err, ErrPath) {
		t.Errorf("Reserve(../x) = %v, want ErrPath", err)
	}
	b := mustURL(t, "https://h.example/a/b.html")
	if got := n.Assign(b, "text/html", ""); !strings.HasPrefix(got, "a/b~") {
		t.Errorf("a reserved path was given away: %q", got)
	}
}

// TestNamerLastResort: a path whose directory is taken and that is nearly too long.
func TestNamerLastResort(t *testing.T) {
	n := Namer{Layout: Layout{Primary: "https://h.example"}}
	if err := n.Reserve("a"); err != nil {
		t.Fatal(err)
	}
	u := mustURL(t, "https://h.example/a/"+strings.Repeat(strings.Repeat("d", 200)+"/", 5)+"0123456789.css")
	first := n.Assign(u, "text/css", "")
	if !strings.HasPrefix(first, "a"+qualifier("a")+"/ddd") ||
		!strings.HasSuffix(first, "/0123456789"+qualifier(u.String())+".css") || CheckPath(first) != nil {
		t.Errorf("got %q", first)
	}
	// The same once more stands for another URL with the same hashes.
	sum := sha256.Sum256([]byte(u.String()))
	if got, want := n.Assign(u, "text/css", ""), "~"+hex.EncodeToString(sum[:16])+".css"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if third := n.Assign(u, "text/css", ""); CheckPath(third) != nil || !strings.HasPrefix(third, "~") {
		t.Errorf("a third time: %q", third)
	}
}

// genURLs draws sets of URLs that are likely to meet: few letters, both cases, escapes, queries, device
// names.
func genURLs() *rapid.Generator[[]site.URL] {
	atom := rapid.SampledFrom([]string{"a", "A", "b", "é", "%C3%A9", "e%CC%81", "%2F", ".", "..", "/", "/", "/",
		"index", ".html", "con", "%20", "~", "@", ":", "phm.json", "%", "%e9", "ß", "ss", "%EF%BF%BD", "|", "%2e"})
	return rapid.Custom(func(t *rapid.T) []site.URL {
		seen := map[site.URL]bool{}
		var urls []site.URL
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			s := rapid.SampledFrom([]string{"https://h.example/", "https://h.example/", "http://h.example/",
				"https://o.example/"}).Draw(t, "origin")
			s += strings.Join(rapid.SliceOfN(atom, 0, 5).Draw(t, "path"), "")
			if rapid.IntRange(0, 4).Draw(t, "query?") == 0 {
				s += "?" + strings.Join(rapid.SliceOfN(atom, 0, 3).Draw(t, "query"), "")
			}
			if u, _, err := site.Parse(s); err == nil && !seen[u] {
				seen[u] = true
				urls = append(urls, u)
			}
		}
		return urls
	})
}

var someTypes = []string{"text/html", "text/plain", "", "image/png", "application/octet-stream",
	"application/json"}

// TestNamerProperties: every path is valid, no two are one name and none is the directory of another; the
// same set gives the same paths; owners that are reserved keep theirs regardless of additions.
func TestNamerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Layout{Primary: "https://h.example"}
		urls := genURLs().Draw(t, "urls")
		mimes := map[site.URL]string{}
		for _, u := range urls {
			mimes[u] = rapid.SampledFrom(someTypes).Draw(t, "mime")
		}
		old := urls[:rapid.IntRange(0, len(urls)).Draw(t, "old")]
		assign := func(n *Namer, urls []site.URL, into map[site.URL]string) {
			urls = slices.Clone(urls)
			slices.SortFunc(urls, Compare)
			for _, u := range urls {
				if _, ok := into[u]; !ok {
					into[u] = n.Assign(u, mimes[u], "")
				}
			}
		}
		first := map[site.URL]string{}
		assign(&Namer{Layout: l}, old, first)
		again := map[site.URL]string{}
		assign(&Namer{Layout: l}, old, again)
		all := map[site.URL]string{}
		next := NewNamer(l, len(urls))
		for u, path := range first {
			if again[u] != path {
				t.Fatalf("%v: %q, then %q", u, path, again[u])
			}
			if err := next.Reserve(path); err != nil {
				t.Fatal(err)
			}
			all[u] = path
		}
		assign(next, urls, all)
		if err := disjoint(all); err != nil {
			t.Fatal(err)
		}
		for u, path := range first {
			if all[u] != path {
				t.Fatalf("%v moved from %q to %q", u, path, all[u])
			}
		}
	})
}

// disjoint is the slow obvious check of a naming.
func disjoint(paths map[site.URL]string) error {
	files, dirs := map[string]site.URL{}, map[string]site.URL{}
	for u, path := range paths {
		if err := CheckPath(path); err != nil {
			return err
		}
		f := Fold(path)
		if v, ok := files[f]; ok {
			return fmt.Errorf("%v and %v are both %q", u, v, f)
		}
		files[f] = u
		for i, c := range f {
			if c == '/' {
				dirs[f[:i]] = u
			}
		}
	}
	for d, u := range dirs {
		if v, ok := files[d]; ok {
			return fmt.Errorf("%q is a directory for %v and a file for %v", d, u, v)
		}
	}
	return nil
}

func FuzzPreferred(f *testing.F) {
	for _, s := range []string{
		"/", "/a/b.html", "/CON", "/.%2e/%2E%2e%2f", "/a%00?b=c/d", "/e%CC%81\u0338", "/%F0%9F%98%80?%", "//",
		"/" + strings.Repeat("%C3%A9", 200), "/" + strings.Repeat("a/", 700), "/\u212a/\u1fef",
		"/.%CC%81x/%2A%CC%8A",
	} {
		f.Add(s, "text/html")
		f.Add(s, "")
	}
	l := Layout{Primary: "https://h.example"}
	f.Fuzz(func(t *testing.T, path, mime string) {
		for _, origin := range []string{"https://h.example/", "http://o.example:81/"} {
			u, _, err := site.Parse(origin + strings.TrimPrefix(path, "/"))
			if err != nil {
				return
			}
			p, q := l.Preferred(u, mime), l.Qualified(u, mime)
			for _, s := range []string{p, q} {
				if err := CheckPath(s); err != nil {
					t.Fatalf("%v: %v", u, err)
				}
			}
			n := Namer{Layout: l}
			a, b := n.Assign(u, mime, ""), n.Assign(u, mime, "")
			if a != p || Fold(a) == Fold(b) {
				t.Fatalf("%v twice: %q, %q", u, a, b)
			}
		}
	})
}

func benchURLs(n int) []site.URL {
	urls := make([]site.URL, n)
	for i := range urls {
		urls[i] = site.Canonical(fmt.Sprintf("https://h.example/openjdk/api/java.base/pkg%d/Class%d.html", i/50, i))
	}
	return urls
}

func BenchmarkPreferred(b *testing.B) {
	urls := benchURLs(1000)
	l := Layout{Primary: "https://h.example"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Preferred(urls[i%1000], "text/html")
	}
}

func BenchmarkPreferredQuery(b *testing.B) {
	u := site.Canonical("https://h.example/caf%C3%A9/x.php?q=1&p=2")
	l := Layout{Primary: "https://h.example"}
	b.ReportAllocs()
	for b.Loop() {
		l.Preferred(u, "text/html")
	}
}

func BenchmarkNamerMillion(b *testing.B) {
	urls := benchURLs(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		n := NewNamer(Layout{Primary: "https://h.example"}, len(urls))
		for _, u := range urls {
			n.Assign(u, "text/html", "")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/URL")
}
