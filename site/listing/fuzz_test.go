// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"os"
	"strings"
	"testing"
)

// Listings that Parse returns are sound, for any page.
func FuzzParse(f *testing.F) {
	for _, c := range pages() {
		f.Add(sample(f, c.file), c.path)
	}
	for _, page := range []string{
		nginxHead + nginxRow + nginxTail, apacheHead + apacheParent + apacheRow + apacheTail,
	} {
		f.Add([]byte(page), "/pub/")
		f.Add([]byte(page), "/pub/?P=*")
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if strings.Contains(file.Name(), "empty") {
			f.Add(sample(f, file.Name()), "/pub/empty/")
		}
	}
	f.Fuzz(func(t *testing.T, page []byte, path string) {
		u, _, err := mustURL(t, "http://h.example/").Resolve(path)
		if err != nil {
			return
		}
		l, ok := Parse(page, u)
		if !ok {
			if l != nil {
				t.Error("no listing was recognized as one")
			}
			return
		}
		if l.Server == "" || !strings.HasSuffix(u.Path(), "/") {
			t.Errorf("listing of %s by %q", u, l.Server)
		}
		for i, e := range l.Entries {
			checkSound(t, e)
			if i > 0 && l.Entries[i-1].Name >= e.Name {
				t.Errorf("%q before %q", l.Entries[i-1].Name, e.Name)
			}
			if name, _, ok := child(u, e.URL); !ok || name != e.Name {
				t.Errorf("%q is called %s in %s", e.Name, e.URL, u)
			}
			if got, ok := l.Lookup(u, e.URL); !ok || got != e {
				t.Errorf("Lookup(%s) = %v, %v; want %v", e.URL, got, ok, e)
			}
		}
		again, ok := Parse(page, u)
		if !ok || again.Digest() != l.Digest() {
			t.Error("not the same twice")
		}
	})
}

func checkSound(t *testing.T, e Entry) {
	t.Helper()
	if e.Name == "" || e.Name == "." || e.Name == ".." || strings.ContainsAny(e.Name, "/\x00") {
		t.Errorf("name %q", e.Name)
	}
	if (e.Precision == TimeUnknown) != e.Modified.IsZero() {
		t.Errorf("%s: time %s, precision %d", e, e.Modified, e.Precision)
	}
	if unit := e.Precision.Unit(); e.Precision < ToSecond && unit > 0 &&
		!e.Modified.Equal(e.Modified.Truncate(unit)) {
		t.Errorf("%s: time %s, precision %d", e, e.Modified, e.Precision)
	}
	unknown := e.Size == -1 && e.SizeMin == -1 && e.SizeMax == -1 && !e.SizeExact
	if !unknown && (e.Dir || e.SizeMin < 0 || e.Size < e.SizeMin || e.SizeMax < e.Size ||
		e.SizeExact != (e.SizeMin == e.SizeMax)) {
		t.Errorf("%s: size %d, %d to %d, exact %v", e, e.Size, e.SizeMin, e.SizeMax, e.SizeExact)
	}
	if e.Evidence() != "" && (e.Dir || e.Precision == TimeUnknown) {
		t.Errorf("%s: evidence %q", e, e.Evidence())
	}
}

// Costs of a page that is no listing, and of one entry.
func BenchmarkParse(b *testing.B) {
	u := mustURL(b, "http://h.example/pub/")
	const n = 10_000
	for _, form := range []string{"html", "table", "json", "xml"} {
		page := largePage(form, n)
		b.Run(form, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				if l, ok := Parse([]byte(page), u); !ok || len(l.Entries) != n {
					b.Fatal("not recognized")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
		})
	}
	ordinary, err := os.ReadFile("../../relocate/testdata/api.html")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("ordinary", func(b *testing.B) {
		b.SetBytes(int64(len(ordinary)))
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := Parse(ordinary, u); ok {
				b.Fatal("recognized as a listing")
			}
		}
	})
}
