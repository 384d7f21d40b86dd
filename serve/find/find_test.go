// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newIndex makes an index in a folder of the test.
func newIndex(t *testing.T) (*Index, string) {
	t.Helper()
	dir := t.TempDir()
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x, dir
}

// put settles pages of a mirror that say the same from version 1 on.
func put(t *testing.T, x *Index, job string, pages map[string]PageText) {
	t.Helper()
	change(t, x, job, func(b *IndexChange) error {
		for url, p := range pages {
			err := b.Settle(url, []Interval{{First: 1, Body: 1}}, func(int) (PageText, bool, error) {
				return p, true, nil
			})
			if err != nil {
				return err
			}
		}
		return b.Done(Stand{Version: 1, At: day(1)})
	})
}

func change(t *testing.T, x *Index, job string, f func(b *IndexChange) error) {
	t.Helper()
	b, err := x.Begin(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f(b), b.Commit()); err != nil {
		t.Fatal(err)
	}
}

func day(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }

// urls are the results of a search.
func urls(t *testing.T, x *Index, s TextSearch) []string {
	t.Helper()
	r, err := x.Search(t.Context(), s)
	if err != nil {
		t.Fatalf("%q: %v", s.Words, err)
	}
	out := []string{}
	for _, p := range r.Results {
		out = append(out, p.URL)
	}
	return out
}

// hits are the marked parts of the first result.
func hits(t *testing.T, x *Index, words string) (out []string) {
	t.Helper()
	r, err := x.Search(t.Context(), TextSearch{Words: words})
	if err != nil || len(r.Results) == 0 {
		t.Fatalf("%q: %v, %v", words, r, err)
	}
	for _, e := range r.Results[0].Excerpt {
		if e.Hit {
			out = append(out, e.Text)
		}
	}
	return out
}

// Each language has a sentence, a query that must find it, the marked words, and a query that must not.
func TestTenLanguages(t *testing.T) {
	x, _ := newIndex(t)
	langs := []struct{ name, text, query, marked, other string }{
		{"German", "Die Straße führt über die Brücke nach Köln.", "strasse koln", "Straße", "Strassburg"},
		{"Hungarian", "Az árvíztűrő tükörfúrógép a műhelyben van.", "arvizturo", "árvíztűrő", "tükör"},
		{"French", "Le cœur de l’été est à Orléans, où l'élève étudie.", "eleve orleans", "Orléans", "leve"},
		{"Russian", "Ёлка стояла в углу большой комнаты.", "елка КОМНАТЫ", "Ёлка", "комната"},
		{"Greek", "Ο Οδυσσέας γύρισε στην Ιθάκη ύστερα από χρόνια.", "ΟΔΥΣΣΕΑΣ ιθακη", "Οδυσσέας", "Τροία"},
		{"Arabic", "كِتَابُ اللُّغَةِ الْعَرَبِيَّةِ لِلْمُبْتَدِئِينَ", "كتاب العربية", "كِتَابُ", "مكتب"},
		{"Hindi", "हिन्दी भाषा में लिखी गयी किताब अच्छी है।", "किताब हिन्दी", "हिन्दी", "कताब"},
		{"Chinese", "中华人民共和国的首都是北京。", "首都是北京", "首都是北京", "东京是首"},
		{"Japanese", "東京都はカタカナとひらがなの看板が多い。", "カタカナ 東京", "東京", "京都府"},
		{"Thai", "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำ", "ระดับเสียง", "ระดับเสียง", "เสียงดัง"},
	}
	pages := map[string]PageText{}
	for _, l := range langs {
		pages["https://a.example/"+l.name] = PageText{Path: l.name, Title: "A page", Said: l.text}
	}
	put(t, x, "a", pages)
	for _, l := range langs {
		want := []string{"https://a.example/" + l.name}
		if got := urls(t, x, TextSearch{Words: l.query}); !slices.Equal(got, want) {
			t.Errorf("%s: %q finds %v", l.name, l.query, got)
			continue
		}
		if got := hits(t, x, l.query); !slices.Contains(got, l.marked) {
			t.Errorf("%s: %q marks %q, want %q", l.name, l.query, got, l.marked)
		}
		if got := urls(t, x, TextSearch{Words: l.other}); len(got) > 0 {
			t.Errorf("%s: %q finds %v", l.name, l.other, got)
		}
	}
	for _, q := range []string{"京", "北京", "ไทย", "都", "東京都はカ"} { // one and two characters, and many
		if got := urls(t, x, TextSearch{Words: q}); len(got) == 0 {
			t.Errorf("%q finds nothing", q)
		}
	}
}

// No query is an error of the database, with any text in it.
func TestBadQueries(t *testing.T) {
	x, _ := newIndex(t)
	put(t, x, "a", map[string]PageText{"https://a.example/": {
		Title: "Near things",
		Said:  "a NEAR thing; C and R <b>bold</b> title:x",
	}})
	says := map[string]string{
		"":                               "give at least one word",
		"  \t\n":                         "give at least one word",
		"AND OR NOT":                     "only operators",
		`"" - * " `:                      "no letter or digit",
		"*":                              "no letter or digit",
		"-thing -bold":                   "only words that pages must not have",
		"a*":                             "at least 3 letters",
		strings.Repeat("word ", 2000):    "10000 bytes",
		strings.Repeat("ab ", 50):        "50 words",
		"!!! ??? ((( )))":                "no letter or digit",
		"%_":                             "no letter or digit",
		"\x00\xff\xfe":                   "no letter or digit",
		strings.Repeat("\"", 500) + "OR": "operators",
	}
	for q, want := range says {
		_, err := x.Search(t.Context(), TextSearch{Words: q})
		if !IsQuery(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", q, err, want)
		}
	}
	for _, q := range []string{
		"a", "C", "NEAR(a b)", "title:x", "{title}:thing", `a" OR "b`, "near AND (", "^near",
		"near + thing", "'; DROP TABLE text; --",
		"<b>bold</b>", "<script>", "near OR", "OR near", "thing -", "thing -zebra", "near*",
		`"near thing"`, `"near thing`, "a:b:c",
		"thing\x00near", "near OR zebra", "NOT zebra near",
	} {
		if _, err := x.Search(t.Context(), TextSearch{Words: q}); err != nil {
			t.Errorf("%q: %v", q, err)
		}
	}
	parts := []string{
		`"`, "*", "-", "NEAR", "OR", "NOT", "(", ")", ":", "{", "^", " ", " ", "a", "thing", "東京", "+", "'", "\\",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q strings.Builder
		for range random.IntN(12) {
			q.WriteString(parts[random.IntN(len(parts))])
		}
		if _, err := x.Search(t.Context(), TextSearch{Words: q.String()}); err != nil && !IsQuery(err) {
			t.Errorf("%q: %v", q.String(), err)
		}
	}
	for q, want := range map[string]int{
		`"near thing"`: 1, `"thing near"`: 0, "thing -bold": 0, "thing -zebra": 1, "near OR zebra": 1, "nea*": 1,
		"zebra": 0, "thin": 0,
	} {
		if got := urls(t, x, TextSearch{Words: q}); len(got) != want {
			t.Errorf("%q finds %v, want %d", q, got, want)
		}
	}
}

// A text that changes is found as of the versions in which it was, and the index says when a word went.
func TestVersions(t *testing.T) {
	x, _ := newIndex(t)
	const url = "https://a.example/news"
	texts := map[uint64]string{
		1: "the harvest festival", 2: "the harvest festival is over", 3: "winter is here", 4: "winter is here",
	}
	reads := 0
	settle := func(all []Interval, keep ...int) {
		t.Helper()
		change(t, x, "a", func(b *IndexChange) error {
			err := b.Settle(url, all, func(i int) (PageText, bool, error) {
				reads++
				return PageText{Path: "news", Said: texts[all[i].Body]}, true, nil
			})
			var vs []DatedVersion
			for _, n := range keep {
				vs = append(vs, DatedVersion{Number: n, At: day(n)})
			}
			last := keep[len(keep)-1]
			return errors.Join(err, b.Keep(vs), b.Done(Stand{Version: last, At: day(last)}))
		})
	}
	settle([]Interval{{First: 1, Body: 1}}, 1, 2)
	settle([]Interval{{First: 1, Last: 2, Body: 1}, {First: 3, Body: 2, Next: true}}, 1, 2, 3)
	settle([]Interval{
		{First: 1, Last: 2, Body: 1}, {First: 3, Last: 3, Body: 2, Next: true}, {First: 4, Body: 3, Next: true},
	}, 1, 2, 3, 4)
	before := reads
	settle([]Interval{
		{First: 1, Last: 2, Body: 1}, {First: 3, Last: 3, Body: 2, Next: true},
		{First: 4, Last: 4, Body: 3, Next: true}, {First: 5, Body: 4, Next: true},
	}, 1, 2, 3, 4, 5)
	if reads != before+1 {
		t.Errorf("%d bodies were read for one that is new", reads-before)
	}
	one := func(s TextSearch) FoundPage {
		t.Helper()
		r, err := x.Search(t.Context(), s)
		if err != nil || len(r.Results) != 1 {
			t.Fatalf("%v: %+v, %v", s, r, err)
		}
		return r.Results[0]
	}
	p := one(TextSearch{Words: "harvest"})
	if !p.Gone || p.First != 1 || p.Last != 3 || !p.Since.Equal(day(1)) || !p.Until.Equal(day(4)) {
		t.Errorf("harvest: %+v", p)
	}
	if p := one(TextSearch{Words: "winter"}); p.Gone || p.First != 4 || p.Last != 0 || p.Until != nil {
		t.Errorf("winter: %+v", p)
	}
	if p := one(TextSearch{Words: "harvest", Job: "a", At: 2}); p.First != 1 {
		t.Errorf("harvest in version 2: %+v", p)
	}
	if got := urls(t, x, TextSearch{Words: "over", Job: "a", At: 2}); len(got) != 0 {
		t.Errorf("over in version 2: %v", got)
	}
	if got := urls(t, x, TextSearch{Words: "over", AtTime: day(3)}); len(got) != 1 {
		t.Errorf("over on day 3: %v", got)
	}
	change(t, x, "a", func(b *IndexChange) error { // versions 1 to 3 are dropped
		return b.Keep([]DatedVersion{{4, day(4)}, {5, day(5)}})
	})
	if got := urls(t, x, TextSearch{Words: "harvest"}); len(got) != 0 {
		t.Errorf("a text of dropped versions is found: %v", got)
	}
	change(t, x, "a", func(b *IndexChange) error { return b.Settle(url, nil, nil) }) // taken out of all versions
	if got := urls(t, x, TextSearch{Words: "winter"}); len(got) != 0 {
		t.Errorf("a forgotten text is found: %v", got)
	}
}

// A collection with copies has one line; copies take no places, and what they link to is linked to once.
func TestRolledUp(t *testing.T) {
	x, _ := newIndex(t)
	fam := NewFamilies([][]string{{"a.example/manual", "b.example/m", "c.example/copies/manual"}})
	own := LinkHash("https://own.example/tool")
	bases := []string{"https://b.example/m/", "https://a.example/manual/", "https://c.example/copies/manual/"}
	for i, base := range bases {
		put(t, x, fmt.Sprint("job", i), map[string]PageText{
			base + "index.html": {
				Title: "Manual",
				Said:  "the compiler of copy " + base,
				Links: []uint32{own, LinkHash(base + "flags.html")},
			},
			base + "flags.html": {
				Title: "Flags",
				Said:  "flags of the compiler " + base,
				Links: []uint32{own},
			},
		})
	}
	put(t, x, "own", map[string]PageText{
		"https://own.example/tool": {Title: "Tool", Said: "a compiler of my own"},
		"https://own.example/":     {Title: "Home", Said: "I wrote a compiler", Links: []uint32{own}},
	})
	if err := x.Weigh(t.Context(), fam); err != nil {
		t.Fatal(err)
	}
	r, err := x.Search(t.Context(), TextSearch{Words: "compiler", Families: fam})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]FoundPage{}
	for _, p := range r.Results {
		got[p.URL] = p
	}
	if len(got) != 3 || r.Lines != 3 || r.Matches != 8 {
		t.Fatalf("%d lines, %d matches: %v", r.Lines, r.Matches, got)
	}
	if n := got["https://own.example/tool"].Linked; n != 3 { // two pages of the manual, and the home page
		t.Errorf("%d links to the tool, want 3", n)
	}
	for u, p := range got {
		if p.Collection == nil {
			continue
		}
		want := &FoundCollection{At: "a.example/manual/", Matches: 2, Replicas: []FoundReplica{
			{"b.example/m/", 2}, {"c.example/copies/manual/", 2},
		}}
		if !strings.HasPrefix(u, "https://a.example/manual/") || !reflect.DeepEqual(p.Collection, want) {
			t.Errorf("%s: %+v", u, p.Collection)
		}
	}
	under := urls(t, x, TextSearch{Words: "compiler", Under: "b.example/m/"})
	slices.Sort(under)
	if !slices.Equal(under, []string{"https://b.example/m/flags.html", "https://b.example/m/index.html"}) {
		t.Errorf("under one copy: %v", under)
	}
	if got := urls(t, x, TextSearch{Words: "compiler", Only: []string{"own"}, Families: fam}); len(got) != 2 {
		t.Errorf("only one mirror: %v", got)
	}
}

// Of two collections that say the same, the one with more replicas comes first.
func TestReplicasWeigh(t *testing.T) {
	for _, more := range []string{"a", "b"} {
		x, _ := newIndex(t)
		copies := map[string][]string{}
		for _, name := range []string{"a", "b"} {
			n := 2
			if name == more {
				n = 4
			}
			for i := range n {
				dir := fmt.Sprintf("%s%d.example/manual/", name, i)
				copies[name] = append(copies[name], dir)
				put(t, x, fmt.Sprint("job-", name, i), map[string]PageText{
					"https://" + dir + "index.html": {Title: "Manual " + name, Said: "how to brew tea"},
				})
			}
		}
		fam := NewFamilies([][]string{copies["a"], copies["b"]})
		r, err := x.Search(t.Context(), TextSearch{Words: "brew", Families: fam})
		if err != nil || len(r.Results) != 2 || r.Results[0].Title != "Manual "+more {
			t.Errorf("%s has four copies: %+v, %v", more, r, err)
		}
	}
}

// A title weighs more than a text, and pages that say the same have one line.
func TestTitlesAndTwins(t *testing.T) {
	x, _ := newIndex(t)
	put(t, x, "a", map[string]PageText{
		"https://a.example/1": {Title: "Other", Said: strings.Repeat("kerning ", 30)},
		"https://a.example/2": {Title: "Kerning", Said: "about letters and kerning"},
		"https://a.example/3": {Title: "Kerning", Said: "about letters and kerning"},
	})
	r, err := x.Search(t.Context(), TextSearch{Words: "kerning"})
	if err != nil || len(r.Results) != 2 || r.Results[0].Title != "Kerning" || r.Results[0].Same != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A file that is damaged, cut off or no database is said to be, is made again, and a missing index is no
// error of the disk.
func TestDamaged(t *testing.T) {
	if _, err := OpenToRead(t.TempDir()); !errors.Is(err, ErrNoIndex) {
		t.Errorf("without an index: %v", err)
	}
	pages := map[string]PageText{}
	for i := range 300 {
		said := fmt.Sprint("zebra ", i, strings.Repeat(fmt.Sprint(" word", i), 40))
		pages[fmt.Sprint("https://a.example/", i)] = PageText{Said: said}
	}
	for name, harm := range map[string]func(data []byte) []byte{
		"cut off": func(d []byte) []byte { return d[:len(d)/2] },
		"text":    func([]byte) []byte { return []byte("this is no database at all, in spite of its name") },
		"zeros":   func(d []byte) []byte { clear(d[4096:]); return d },
		"other":   func(d []byte) []byte { d[63] = 9; return d }, // user_version
	} {
		dir := t.TempDir()
		x, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		put(t, x, "a", pages)
		x.Close()
		file := filepath.Join(dir, Folder, fileName)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, harm(data), 0o644); err != nil {
			t.Fatal(err)
		}
		search := func() error {
			x, err := OpenToRead(dir)
			if err != nil {
				return err
			}
			defer x.Close()
			_, err = x.Search(context.Background(), TextSearch{Words: "zebra word200"})
			return err
		}
		if err := search(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if err := Remove(dir); err != nil || !Wanted(dir) {
			t.Errorf("%s: remove: %v", name, err)
		}
		x, err = Open(dir)
		if err != nil {
			t.Fatalf("%s: again: %v", name, err)
		}
		put(t, x, "a", pages)
		x.Close()
		if err := search(); err != nil {
			t.Errorf("%s: made again: %v", name, err)
		}
	}
}

// cpuTime is the processor time of this process.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A search of 100 000 pages takes less than 50 ms of processor time, of which ranking takes most. With
// MIRRORD_LONG.
func TestHundredThousandPagesInBulk(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("figures for docs/engineering/scale.md: set MIRRORD_LONG")
	}
	const pages, each = 100_000, 1000
	x, dir := newIndex(t)
	made := cpuTime(t)
	random := rand.New(rand.NewPCG(1, 2))
	often := rand.NewZipf(random, 1.1, 3, 200_000)
	for n := 0; n < pages; n += each {
		change(t, x, "a", func(b *IndexChange) error {
			for i := n; i < n+each; i++ {
				var said strings.Builder
				for range 50 + random.IntN(500) {
					fmt.Fprintf(&said, "w%x ", often.Uint64())
				}
				p := PageText{Title: fmt.Sprintf("w%x w%x", often.Uint64(), often.Uint64()), Said: said.String()}
				url := fmt.Sprint("https://a.example/", i)
				err := b.Settle(url, []Interval{{First: 1, Body: 1}}, func(int) (PageText, bool, error) {
					return p, true, nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	fi, err := os.Stat(filepath.Join(dir, Folder, fileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes and %v of processor time a page", fi.Size()/pages, (cpuTime(t)-made)/pages)
	for _, q := range []string{
		"w0", "w0 w5", "w20 w30", "w0 w5000", "w300", "w5000", `"w0 w1"`, "w12*", "w123*",
		"w0 NOT w1", "w9 NOT w3", "w0 -w12*", "w0 OR w12*",
	} {
		const times = 20
		before, began := cpuTime(t), time.Now()
		for range times {
			r, err := x.Search(t.Context(), TextSearch{Words: q})
			if err != nil || len(r.Results) == 0 {
				t.Fatalf("%s: %v", q, err)
			}
		}
		took := (cpuTime(t) - before) / times
		t.Logf("%-10s %v of processor time, %v", q, took, time.Since(began)/times)
		if took > 50*time.Millisecond {
			t.Errorf("%s takes %v of processor time", q, took)
		}
	}
}
