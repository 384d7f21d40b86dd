// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"os"
	"slices"
	"testing"
	"time"

	"mirrord/site"
)

func mustURL(t interface {
	Helper()
	Fatal(...any)
}, s string) site.URL {
	t.Helper()
	u, _, err := site.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The directory that the servers in testdata listed.
type file struct {
	name, modified string
	size           int64 // -1 for a directory
}

const long = "a-very-long-file-name-that-every-server-truncates-somewhere-because-it-does-not-fit-1."

func directory() []file {
	const usual = "2024-02-29T13:05:07Z"
	return []file{
		{"100%25.txt", usual, 999}, {"README.txt", "2026-11-19T23:59:59Z", 6}, {"a dir & more", usual, -1},
		{"a&b<c>.txt", usual, 10239},
		{long + "0.tar.gz", usual, 12345}, {long + "1.tar.gz", usual, 12346}, {`back\slash.txt`, usual, 102},
		{"colon:name.txt", usual, 100},
		{"docs", "2025-07-01T06:07:08Z", -1}, {"empty", usual, -1}, {"half k.bin", usual, 1536},
		{"huge.img", usual, 5368709120},
		{"image-1.2.iso", usual, 1536000}, {"q?x=1#frag.html", usual, 2000}, {`quote'"s.txt`, usual, 101},
		{"zero.bin", "1999-12-31T00:00:00Z", 0},
		{"ünïcode-é.txt", usual, 1024},
	}
}

// A server's page and what it gives away.
type served struct {
	file, path string // path is the location that was listed
	server     string
	precision  Precision
	local      bool
	sizes      sizeKind
}

type sizeKind int

const (
	exact sizeKind = iota
	rounded
	none
)

func pages() []served {
	return []served{
		{"nginx.html", "/n/pub/", Nginx, ToMinute, true, exact},
		{"nginx-rounded.html", "/nh/pub/", Nginx, ToMinute, true, rounded},
		{"nginx.json", "/nj/pub/", Nginx, ToSecond, false, exact},
		{"nginx.xml", "/nx/pub/", Nginx, ToSecond, false, exact},
		{"fancyindex.html", "/f/pub/", FancyIndex, ToMinute, true, exact},
		{"fancyindex-rounded.html", "/fe/pub/", FancyIndex, ToSecond, true, rounded},
		{"apache-plain.html", "/plain/pub/", Apache, TimeUnknown, false, none},
		{"apache-pre.html", "/fancy/pub/", Apache, ToMinute, true, rounded},
		{"apache-pre-wide.html", "/pre/pub/", Apache, ToMinute, true, rounded},
		{"apache-table.html", "/table/pub/", Apache, ToMinute, true, rounded},
		{"apache-xhtml.html", "/xhtml/pub/", Apache, ToMinute, true, rounded},
		{"apache-nosize.html", "/nosize/pub/", Apache, ToMinute, true, none},
		{"apache-iconlinks.html", "/iconlinks/pub/", Apache, ToMinute, true, rounded},
		{"lighttpd.html", "/pub/", Lighttpd, ToSecond, true, rounded},
		{"caddy.html", "/pub/", Caddy, ToSecond, false, exact},
		{"caddy-2.10.html", "/pub/", Caddy, ToSecond, false, exact},
		{"caddy.json", "/pub/", Caddy, ToSecond, false, exact},
		{"iis.html", "/pub/", IIS, ToMinute, true, exact},
		{"iis-long.html", "/pub/", IIS, ToMinute, true, exact},
		{"python.html", "/pub/", Python, TimeUnknown, false, none},
	}
}

// Each server listed the same directory; every page must yield the same names, and times and sizes as exact
// as it states them.
func TestServers(t *testing.T) {
	for _, c := range pages() {
		t.Run(c.file, func(t *testing.T) {
			u := mustURL(t, "http://h.example"+c.path)
			l, ok := Parse(sample(t, c.file), u)
			if !ok {
				t.Fatal("not recognized")
			}
			if l.Server != c.server {
				t.Errorf("server %s, want %s", l.Server, c.server)
			}
			want := directory()
			if len(l.Entries) != len(want) {
				t.Fatalf("%d entries, want %d", len(l.Entries), len(want))
			}
			for i, e := range l.Entries {
				checkEntry(t, e, want[i], c)
				if got, ok := l.Lookup(u, e.URL); !ok || got != e {
					t.Errorf("Lookup(%s) = %v, %v", e.URL, got, ok)
				}
			}
		})
	}
}

func checkEntry(t *testing.T, e Entry, want file, c served) {
	t.Helper()
	if e.Name != want.name || e.Dir != (want.size < 0) {
		t.Errorf("got %s, want %s", e, want.name)
	}
	modified, err := time.Parse(time.RFC3339, want.modified)
	if err != nil {
		t.Fatal(err)
	}
	if c.precision != TimeUnknown {
		modified = modified.Truncate(c.precision.Unit())
	} else {
		modified = time.Time{}
	}
	if !e.Modified.Equal(modified) || e.Precision != c.precision || e.Local != c.local {
		t.Errorf("%s: time %s, precision %d, local %v; want %s, %d, %v", e.Name, e.Modified, e.Precision, e.Local,
			modified, c.precision, c.local)
	}
	switch {
	case c.sizes == none || e.Dir:
		if e.Size != -1 || e.SizeMin != -1 || e.SizeMax != -1 || e.SizeExact {
			t.Errorf("%s: size %d, want unknown", e.Name, e.Size)
		}
	case c.sizes == exact:
		if e.Size != want.size || e.SizeMin != e.Size || e.SizeMax != e.Size || !e.SizeExact {
			t.Errorf("%s: size %d (%d to %d), want %d", e.Name, e.Size, e.SizeMin, e.SizeMax, want.size)
		}
	case want.size < e.SizeMin || e.SizeMax < want.size || e.Size < e.SizeMin || e.SizeMax < e.Size:
		t.Errorf("%s: size %d (%d to %d), want %d in it", e.Name, e.Size, e.SizeMin, e.SizeMax, want.size)
	}
	if gone := want.size + 1; e.Agrees(modified, want.size) != true ||
		(e.SizeExact && e.Agrees(modified, gone)) {
		t.Errorf("%s: Agrees is wrong", e.Name)
	}
}

func TestEmptyDirectories(t *testing.T) {
	for _, c := range []struct{ file, path, server string }{
		{"nginx-empty.html", "/n/pub/empty/", Nginx},
		{"nginx-empty.json", "/nj/pub/empty/", Nginx},
		{"nginx-empty.xml", "/nx/pub/empty/", Nginx},
		{"fancyindex-empty.html", "/f/pub/empty/", FancyIndex},
		{"apache-table-empty.html", "/table/pub/empty/", Apache},
		{"apache-pre-empty.html", "/fancy/pub/empty/", Apache},
		{"lighttpd-empty.html", "/pub/empty/", Lighttpd},
		{"caddy-empty.html", "/pub/empty/", Caddy},
		{"python-empty.html", "/pub/empty/", Python},
	} {
		l, ok := Parse(sample(t, c.file), mustURL(t, "http://h.example"+c.path))
		if !ok || l.Server != c.server || len(l.Entries) != 0 {
			t.Errorf("%s: %+v, %v", c.file, l, ok)
		}
	}
}

// The URLs of entries are those that a browser makes of the page's links; where the page has none, those of
// nginx's HTML page.
func TestEntryURLs(t *testing.T) {
	for file, want := range map[string][]string{
		"nginx.html": {"100%2525.txt", "a%20dir%20%26%20more/", "q%3Fx%3D1%23frag.html",
			"%C3%BCn%C3%AFcode-%C3%A9.txt"},
		"nginx.json": {"100%2525.txt", "a%20dir%20%26%20more/", "q%3Fx%3D1%23frag.html",
			"%C3%BCn%C3%AFcode-%C3%A9.txt"},
		"nginx.xml": {"100%2525.txt", "a%20dir%20%26%20more/", "q%3Fx%3D1%23frag.html",
			"%C3%BCn%C3%AFcode-%C3%A9.txt"},
		"apache-table.html": {"100%2525.txt", "a%20dir%20&%20more/", "q%3fx=1%23frag.html",
			"%c3%bcn%c3%afcode-%c3%a9.txt"},
		"caddy.json": {"100%2525.txt", "a%20dir%20&%20more/", "q%3Fx=1%23frag.html",
			"%C3%BCn%C3%AFcode-%C3%A9.txt"},
	} {
		path := pages()[slices.IndexFunc(pages(), func(c served) bool { return c.file == file })].path
		u := mustURL(t, "http://h.example"+path)
		l, ok := Parse(sample(t, file), u)
		if !ok {
			t.Fatalf("%s: not recognized", file)
		}
		for i, at := range []int{0, 2, 13, 16} {
			if got := l.Entries[at].URL.String(); got != u.String()+want[i] {
				t.Errorf("%s: %s, want %s", file, got, u.String()+want[i])
			}
			if e, ok := l.Lookup(u, mustURL(t, u.String()+want[i])); !ok || e.Name != l.Entries[at].Name {
				t.Errorf("%s: Lookup %s = %v, %v", file, want[i], e, ok)
			}
		}
	}
}
