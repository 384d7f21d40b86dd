// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTrapsCheck(t *testing.T) {
	long := strings.Repeat("a", 2100)
	token := "0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		name   string
		traps  Traps
		url    string
		reason string
	}{
		{"plain", Traps{}, "http://h/a/b/c.html?x=1&y=2", ""},
		{"root", Traps{}, "http://h/", ""},
		{"long", Traps{}, "http://h/" + long, "URL of 2109 bytes, the limit is 2048"},
		{"long is allowed", Traps{MaxURLLen: 3000}, "http://h/" + long, ""},
		{"no limit still fits a key", Traps{MaxURLLen: -1}, "http://h/" + strings.Repeat("a", 40000),
			"URL of 40009 bytes, the limit is 32000"},
		{"deep", Traps{MaxSame: -1}, "http://h" + deepPath(33), "path of 33 segments, the limit is 32"},
		{"deep enough", Traps{}, "http://h" + deepPath(32), ""},
		{"depth off", Traps{MaxDepth: -1}, "http://h" + deepPath(100), ""},
		{"x/x/x", Traps{}, "http://h/loop/x/x/x/", `path repeats "x/" 3 times`},
		{"x/x", Traps{}, "http://h/loop/x/x/", ""},
		{"a/b thrice", Traps{}, "http://h/a/b/a/b/a/b", `path repeats "a/b/" 3 times`},
		{"a/b twice", Traps{}, "http://h/a/b/a/b/", ""},
		{"a/b twice, strict", Traps{MaxRepeat: 2}, "http://h/a/b/a/b/", `path repeats "a/b/" 2 times`},
		{"repeats off", Traps{MaxRepeat: -1}, "http://h/x/x/x/x/", ""},
		{"series of three", Traps{}, "http://h/s/a/b/c/a/b/c/a/b/c/d", `path repeats "a/b/c/" 3 times`},
		{"coordinates", Traps{}, "http://h/tiles/1/1/1.png", ""},
		{"numbers thrice", Traps{}, "http://h/tiles/1/1/1/", ""},
		{"numbers six times", Traps{}, "http://h/1/1/1/1/1/1/", `path repeats "1/" 6 times`},
		{"empty segments", Traps{}, "http://h/a////b", `path repeats "/" 3 times`},
		{"same segment", Traps{}, "http://h/x/a/x/b/x/c/x/d/x/e/x/f", `path has the segment "x" 6 times`},
		{"same parameter and value", Traps{}, "http://h/a?x=1&x=1&x=1", `query repeats the parameter "x" 3 times`},
		{"same parameter, other values", Traps{}, "http://h/a?f[]=1&f[]=2&f[]=3&f[]=4", ""},
		{"same parameter, too many", Traps{}, "http://h/a?f=1&f=2&f=3&f=4&f=5&f=6&f=7&f=8&f=9",
			`query repeats the parameter "f" 9 times`},
		{"nested", Traps{}, "http://h/login?next=/login?next=/login?next=/x",
			`query nests the parameter "next" 3 times`},
		{"nested, escaped", Traps{}, "http://h/login?next=%2Flogin%3Fnext%3D%252Flogin%253Fnext%253D%25252Fx",
			`query nests the parameter "next" 3 times`},
		{"nested once", Traps{}, "http://h/login?next=/login?next=/x", ""},
		{"other name's end", Traps{}, "http://h/?page=1,subpage=2,mypage=3", ""},
		{"parameters off", Traps{MaxParam: -1}, "http://h/a?x=1&x=1&x=1", ""},
		{"jsessionid", Traps{}, "http://h/a;jsessionid=1A2B?x", "session id jsessionid"},
		{"phpsessid", Traps{}, "http://h/a?x=1&PHPSESSID=abc", "session id PHPSESSID"},
		{"sid", Traps{}, "http://h/a?sid=" + token, "session id sid"},
		{"sid that is a number", Traps{}, "http://h/a?sid=12", ""},
		{"search", Traps{}, "http://h/?s=internationalization", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if reason, trapped := c.traps.Check(mustParse(t, c.url)); reason != c.reason ||
				trapped != (c.reason != "") {
				t.Errorf("got %q, want %q", reason, c.reason)
			}
		})
	}
	if _, trapped := (Traps{}).Check(URL{}); trapped {
		t.Error("the zero URL is trapped")
	}
}

// TestTrapsWithoutDepth: without a limit of depth only the first segments are compared, so that a URL costs
// no more than those.
func TestTrapsWithoutDepth(t *testing.T) {
	traps := Traps{MaxDepth: -1, MaxURLLen: -1}
	u, _, err := Parse("http://h.test" + deepPath(maxSegments) + "/a/a/a/a/a/a/a/a")
	if err != nil {
		t.Fatal(err)
	}
	if reason, trapped := traps.Check(u); trapped {
		t.Error(reason)
	}
	u, _, err = Parse("http://h.test" + deepPath(maxSegments-10) + "/a/a/a/a/a/a/a/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, trapped := traps.Check(u); !trapped {
		t.Error("a path that repeats a segment passes")
	}
}

// deepPath returns a path of n different segments.
func deepPath(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "/s%d", i)
	}
	return b.String()
}

func TestStripSession(t *testing.T) {
	token := "0123456789abcdef0123456789ABCDEF"
	for _, c := range []struct{ in, want string }{
		{"http://h/a?b=c", ""},
		{"http://h/a;v=1/b", ""},
		{"http://h/a;jsessionid=12.ab!3", "http://h/a"},
		{"http://h/a;jsessionid=1;v=2/b;JSESSIONID=3?x=y", "http://h/a;v=2/b?x=y"},
		{"http://h/;jsessionid=1", "http://h/"},
		{"http://h/(S(0123456789abcdefghijklmn))/a.aspx", "http://h/a.aspx"},
		{"http://h/(S(0123456789abcdefghijklmn))", "http://h/"},
		{"http://h/(S(short))/a.aspx", ""},
		{"http://h/a?PHPSESSID=x", "http://h/a"},
		{"http://h/a?b=c&PHPSESSID=x", "http://h/a?b=c"},
		{"http://h/a?PHPSESSID=x&b=c", "http://h/a?b=c"},
		{"http://h/a?b=c;phpsessid=x;d", "http://h/a?b=c;d"},
		{"http://h/a?b&c=&sid=" + token + "&d=%20", "http://h/a?b&c=&d=%20"},
		{"http://h/a?cfid=1&cftoken=2", "http://h/a"},
		{"http://h/a?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX", "http://h/a"},
		{"http://h/a?sid=1&s=word", ""},
	} {
		in := mustParse(t, c.in)
		got, had := StripSession(in)
		want := c.want
		if want == "" {
			want = c.in
		}
		if got.String() != want || had != (c.want != "") {
			t.Errorf("%s: got %s, %v", c.in, got, had)
		}
		if again, had := StripSession(got); had || again != got {
			t.Errorf("%s: a second time %s", got, again)
		}
		if p := mustParse(t, got.String()); p != got {
			t.Errorf("%s is not canonical", got)
		}
	}
}

// countUntilTrapped adds what urls yields until a URL is refused, at most limit times.
func countUntilTrapped(t *testing.T, traps Traps, limit int, url func(int) string) (n int, reason string) {
	t.Helper()
	c := NewTrapCounter(traps)
	for n < limit {
		reason, trapped := c.Add(Canonical(url(n)))
		if trapped {
			return n, reason
		}
		n++
	}
	return n, ""
}

func TestTrapCounterFinds(t *testing.T) {
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		traps  Traps
		url    func(int) string
		want   int
		reason string
	}{
		{"counter in a query", Traps{}, func(i int) string {
			return fmt.Sprintf("http://h/cal/?d=%d", i)
		}, 2000, "more than 2000 URLs of /cal/?d=…"},
		{"order of parameters", Traps{MaxTemplate: 10}, func(i int) string {
			return fmt.Sprintf([]string{"http://h/l?a=%d&b=1", "http://h/l?b=1&a=%d"}[i%2], i)
		}, 10, "more than 10 URLs of /l?a=…&b=…"},
		{"choices in any order", Traps{}, func(i int) string {
			rest := []string{"red", "blue", "new", "small", "large", "cheap"}
			q := ""
			for n := len(rest); n > 0; n-- { // the digits of i say which comes next
				q += "&by=" + rest[i%n]
				rest = slices.Delete(rest, i%n, i%n+1)
				i /= n
			}
			return "http://h/shop?" + q[1:]
		}, 101, "more than 100 URLs of /shop with the parameters of others in another order"},
		{"months in a query", Traps{}, func(i int) string {
			return fmt.Sprintf("http://h/cal?year=%d&month=%d", 2026+i/12, i%12+1)
		}, 200, "more than 200 dates of /cal?year=…&month=…"},
		{"date in a value", Traps{}, func(i int) string {
			return "http://h/e?at=" + start.AddDate(0, 0, i).Format("2006-01-02")
		}, 200, "more than 200 dates of /e?at=…"},
		{"days in a path", Traps{}, func(i int) string {
			return "http://h/cal/" + start.AddDate(0, 0, i).Format("2006/01/02/")
		}, 4000, "more than 4000 dates of /cal/#/#/#/"},
		{"months in a path", Traps{}, func(i int) string {
			return "http://h/cal/" + start.AddDate(0, i, 0).Format("2006/01/")
		}, 60*12 + 2 - 12, "more than 60 years of /cal/#/#/"},
		{"back in time", Traps{}, func(i int) string {
			return "http://h/cal-" + start.AddDate(0, -i, 0).Format("2006-01") + ".html"
		}, 59*12 + 11, "more than 60 years of /cal-#-#.html"},
		{"years", Traps{}, func(i int) string {
			return fmt.Sprintf("http://h/cal?year=%d", 1900+i)
		}, 60, "more than 60 years of /cal?year=…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n, reason := countUntilTrapped(t, c.traps, 20000, c.url); n != c.want || reason != c.reason {
				t.Errorf("trapped after %d by %q; want %d by %q", n, reason, c.want, c.reason)
			}
		})
	}
}

func TestTrapCounterLetsPass(t *testing.T) {
	start := time.Date(1996, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		n    int
		url  func(int) string
	}{
		{"flat directory", 50000, func(i int) string { return fmt.Sprintf("http://h/doc/%d.html", i) }},
		{"numbered directories", 50000, func(i int) string {
			return fmt.Sprintf("http://h/doc/%d/%d/", i/100, i%100)
		}},
		{"mailing list", 50000, func(i int) string {
			return fmt.Sprintf("http://h/list/%d/%02d/msg%05d.html", 1996+i%30, i/30%12+1, i)
		}},
		{"mailing list's months", 31 * 12, func(i int) string {
			return "http://h/list/" + start.AddDate(0, i, 0).Format("2006-01") + "/thread.html"
		}},
		{"blog", 20000, func(i int) string {
			return "http://h/" + start.AddDate(0, 0, i/2).Format("2006/01/02/") + fmt.Sprintf("post-%d-x/", i)
		}},
		{"ten years of days", 3650, func(i int) string {
			return "http://h/" + start.AddDate(0, 0, i).Format("2006/01/02/")
		}},
		{"pages with a print version", 70000, func(i int) string {
			return fmt.Sprintf("http://h/doc/%d.html?print=1", i)
		}},
		{"versions of files", 20000, func(i int) string { return fmt.Sprintf("http://h/f/a%d.css?v=20261120", i) }},
		{"two orders", 190, func(i int) string {
			return fmt.Sprintf([]string{"http://h/l?a=%d&b=1", "http://h/l?b=1&a=%d"}[i%2], i/2)
		}},
		{"many shapes", 1500, func(i int) string { return fmt.Sprintf("http://h/l?a=%d", i) }},
		{"six digits", 50000, func(i int) string { return fmt.Sprintf("http://h/node/%d.html", 180000+i) }},
		{"eight digits", 50000, func(i int) string { return fmt.Sprintf("http://h/node/%d.html", 20000000+i) }},
		{"hashes", 20000, func(i int) string { return fmt.Sprintf("http://h/%08d", i*7919%99999999) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n, reason := countUntilTrapped(t, Traps{}, c.n, c.url); n != c.n {
				t.Errorf("trapped after %d by %q", n, reason)
			}
		})
	}
}

func TestTrapCounterIsPerHostAndDate(t *testing.T) {
	c := NewTrapCounter(Traps{MaxTemplate: 3, MaxDates: 3})
	for i := range 9 {
		if reason, trapped := c.Add(mustParse(t, fmt.Sprintf("http://h%d/a?x=%d", i/3, i))); trapped {
			t.Errorf("%d: %s", i, reason)
		}
	}
	for i := range 3 {
		if reason, trapped := c.Add(mustParse(t, fmt.Sprintf("http://g/a?date=2026-01-01&n%d", i))); trapped {
			t.Errorf("one date, %d: %s", i, reason)
		}
	}
	off := NewTrapCounter(Traps{
		MaxTemplate:  -1,
		MaxDates:     -1,
		MaxPathDates: -1,
		MaxYears:     -1,
	})
	for i := range 5000 {
		if reason, trapped := off.Add(mustParse(t, fmt.Sprintf("http://h/a?year=%d", 1000+i))); trapped {
			t.Fatal(reason)
		}
	}
}

func TestTrapCounterMemory(t *testing.T) {
	c := NewTrapCounter(Traps{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 150_000 {
		c.Add(Canonical(fmt.Sprintf("http://h/p%d/e?d=%d-01-02&x=1", i, 1000+i%9000)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(c.templates) > maxTemplates || len(c.seen) > maxSeen || len(c.dates) > maxSeen ||
		len(c.queries) > maxSeen {
		t.Errorf("%d templates, %d seen, %d dates, %d queries", len(c.templates), len(c.seen), len(c.dates),
			len(c.queries))
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 10<<20 {
		t.Errorf("%d bytes", grown)
	}
	// A shape with many URLs survives the thinning.
	n := 0
	for i := range 10000 {
		c.Add(Canonical(fmt.Sprintf("http://h/q%d?x", i)))
		if _, trapped := c.Add(Canonical(fmt.Sprintf("http://h/walk?x=%d", i))); trapped {
			n++
		}
	}
	if n != 8000 {
		t.Errorf("%d refused, want 8000", n)
	}
	runtime.KeepAlive(c)
}

func FuzzTraps(f *testing.F) {
	for _, s := range []string{
		"http://h/a/a/a?b=1;b=1", "http://h/2026/11/20?year=2026&month=x", "http://h/;jsessionid=1/(S(a))?sid=&&==",
		"http://h/99999999.html",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, _, err := Parse(s)
		if err != nil {
			return
		}
		if reason, trapped := (Traps{}).Check(u); trapped != (reason != "") {
			t.Errorf("%s: %v, %q", u, trapped, reason)
		}
		if reason, trapped := NewTrapCounter(Traps{}).Add(u); trapped {
			t.Errorf("%s: the first is trapped: %s", u, reason)
		}
		plain, had := StripSession(u)
		if p, _, err := Parse(plain.String()); err != nil || p != plain {
			t.Errorf("%s: stripped to %s, which is not canonical", u, plain)
		}
		if had == (plain == u) {
			t.Errorf("%s: stripped %v, to %s", u, had, plain)
		}
	})
}

func BenchmarkTraps(b *testing.B) {
	u := mustParse(b, testBase)
	b.Run("Check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Traps{}.Check(u)
		}
	})
	c := NewTrapCounter(Traps{MaxTemplate: 1 << 30})
	b.Run("Add", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Add(u)
		}
	})
}
