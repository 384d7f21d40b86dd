// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"mirrord/phm"
)

func files(list ...string) (out []phm.File) {
	for _, s := range list {
		var f phm.File
		fmt.Sscan(s, &f.Path, &f.SHA256, &f.Size)
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b phm.File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func TestTrees(t *testing.T) {
	a := files("index.html a 10", "x/1 b 5", "x/2 c 5", "x/y/3 d 7", "x-y/4 e 1", "x.txt f 1",
		"gone/a/b/c g 100")
	b := files("index.html A 12", "x/1 b 5", "x/2 C 5", "x/y/3 d 7", "x/y/new n 30", "x-y/4 e 1",
		"x.txt f 1", "z/1 h 1")
	var got []string
	d := Trees(a, b)
	d.Walk(func(d *Dir, depth int) {
		got = append(got, fmt.Sprintf("%s%s +%d ~%d -%d %d", strings.Repeat(" ", depth), d.Path, d.Added, d.Changed,
			d.Removed, d.Bytes))
		for _, f := range d.Files {
			got = append(got,
				fmt.Sprintf("%s %s %s %d %d", strings.Repeat(" ", depth), f.What, f.Path, f.Before, f.After))
		}
	})
	want := []string{
		". +2 ~2 -1 -67", " changed index.html 10 12",
		" gone +0 ~0 -1 -100", "  gone/a +0 ~0 -1 -100", "   gone/a/b +0 ~0 -1 -100",
		"    removed gone/a/b/c 100 0",
		" x +1 ~1 -0 30", "  changed x/2 5 5", "  x/y +1 ~0 -0 30", "   added x/y/new 0 30",
		" z +1 ~0 -0 1", "  added z/1 0 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d.Total() != 5 {
		t.Errorf("total %d", d.Total())
	}
	for path, want := range map[string]int{
		".":        5,
		"x":        2,
		"x/y":      1,
		"x-y":      0,
		"gone/a/b": 1,
		"x/y/new":  0,
		"nosuch":   0,
	} {
		n := 0
		if f := d.Find(path); f != nil {
			n = f.Total()
		}
		if n != want {
			t.Errorf("%s: %d differ, want %d", path, n, want)
		}
	}
	d.DropFiles()
	if b, _ := json.Marshal(d); strings.Contains(string(b), "files") {
		t.Errorf("files are left: %s", b)
	}
	if n := Trees(a, a).Total(); n != 0 {
		t.Errorf("a table differs from itself in %d files", n)
	}
	if d := Trees(nil, b); d.Added != len(b) || d.Removed != 0 {
		t.Errorf("from nothing: %+v", d)
	}
}

// The counts of a directory are those of a slow look at every path.
func TestTreesAgainstCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		table := func() []phm.File {
			var list []string
			for range rng.IntN(30) {
				list = append(list, fmt.Sprintf("%c%c/%c/%c %d %d", 'a'+rng.IntN(2), "-./0"[rng.IntN(2)],
					"-.0"[rng.IntN(3)], 'a'+rng.IntN(3), rng.IntN(3), rng.IntN(9)))
			}
			out := files(list...)
			return slices.CompactFunc(out, func(a, b phm.File) bool { return a.Path == b.Path })
		}
		a, b := table(), table()
		d := Trees(a, b)
		find := func(fs []phm.File, p string) *phm.File {
			for i := range fs {
				if fs[i].Path == p {
					return &fs[i]
				}
			}
			return nil
		}
		d.Walk(func(d *Dir, _ int) {
			var add, change, remove int
			var bytes int64
			in := func(p string) bool { return d.Path == "." || strings.HasPrefix(p, d.Path+"/") }
			for _, f := range b {
				switch was := find(a, f.Path); {
				case !in(f.Path):
				case was == nil:
					add, bytes = add+1, bytes+f.Size
				case was.SHA256 != f.SHA256:
					change, bytes = change+1, bytes+f.Size-was.Size
				}
			}
			for _, f := range a {
				if in(f.Path) && find(b, f.Path) == nil {
					remove, bytes = remove+1, bytes-f.Size
				}
			}
			if add != d.Added || change != d.Changed || remove != d.Removed || bytes != d.Bytes {
				t.Fatalf("%s: %+v, want +%d ~%d -%d %d\n%v\n%v", d.Path, d, add, change, remove, bytes, a, b)
			}
		})
	}
}

func page(s string) Body { return Body{[]byte(s), "text/html"} }

func textOf(t *testing.T, p *Page) string {
	t.Helper()
	var b strings.Builder
	if err := p.WriteText(&b, Titles{"old", "new"}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(b.String(), "--- old\n+++ new\n")
}

func TestPages(t *testing.T) {
	utf16 := func(s string) string {
		b, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	jis, err := japanese.ShiftJIS.NewEncoder().String("<meta charset=shift_jis><p>日本")
	if err != nil {
		t.Fatal(err)
	}
	long := func(change string) string {
		var b strings.Builder
		for i := range 20 {
			if i == 10 {
				b.WriteString(change)
			}
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	for _, tc := range []struct {
		name string
		a, b Body
		want string
	}{
		{"a line", page("a\nb\nc\n"), page("a\nB\nc\n"), "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"context", Body{[]byte(long("")), "text/plain"}, Body{[]byte(long("new\n")), "text/plain"},
			"@@ -8,6 +8,7 @@\n line 7\n line 8\n line 9\n+new\n line 10\n line 11\n line 12\n"},
		{"from nothing", page(""), page("a\n"), "@@ -0,0 +1,1 @@\n+a\n"},
		{"to nothing", page("a\nb\n"), page(""), "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"the last newline", page("a\n"), page("a"), "(nothing to be seen differs)\n"},
		{"line ends", page("a\r\nb\rc"), page("a\nb\nc"), "(nothing to be seen differs)\n"},
		{"a page of one line", page("<p>one</p><p>two</p><div><b>three</b> x</div>"),
			page("<p>one</p><p>2</p><div><b>three</b> x</div>"),
			"@@ -1,3 +1,3 @@\n <p>one</p>\n-<p>two</p>\n+<p>2</p>\n <div><b>three</b> x</div>\n"},
		{"UTF-16 against UTF-8", Body{[]byte(utf16("a\nä\n")), "text/plain"}, Body{[]byte("a\nö\n"), "text/plain"},
			"@@ -1,2 +1,2 @@\n a\n-ä\n+ö\n"},
		{"Shift_JIS against UTF-8", page(jis), page("<meta charset=utf-8><p>日本"),
			"@@ -1,2 +1,2 @@\n-<meta charset=shift_jis>\n+<meta charset=utf-8>\n <p>日本\n"},
		{"windows-1252 without a word", page("<p>caf\xe9"), page("<p>caf\xe8"),
			"@@ -1,1 +1,1 @@\n-<p>café\n+<p>cafè\n"},
		{"UTF-8 without a word", page("<p>日本"), page("<p>日木"), "@@ -1,1 +1,1 @@\n-<p>日本\n+<p>日木\n"},
		{"no text", Body{[]byte("a"), "image/png"}, Body{[]byte("b"), "image/png"},
			"(the files differ; they are no text)\n"},
		{"NUL bytes", Body{[]byte("a\x00b"), ""}, Body{[]byte("b"), ""}, "(the files differ; they are no text)\n"},
		{"a picture that is text", Body{[]byte("<svg><g id=1/></svg>"), "image/svg+xml"},
			Body{[]byte("<svg><g id=2/></svg>"), "image/svg+xml"},
			"@@ -1,2 +1,2 @@\n <svg>\n-<g id=1/></svg>\n+<g id=2/></svg>\n"},
		{"what acts on a terminal", page("a\n"), page("\x1b[2J\u202ex\tb\n"),
			"@@ -1,1 +1,1 @@\n-a\n+␛[2J\ufffdx\tb\n"},
		{"large", Body{make([]byte, MaxBytes+1), "text/html"}, page("a"),
			"(the files differ; they are too large to be compared line by line)\n"},
		{"many lines", page(strings.Repeat("\n", maxLines)), page("a\n"),
			"(the files differ; they are too large to be compared line by line)\n"},
	} {
		if got := textOf(t, Pages(tc.a, tc.b, Options{})); got != tc.want {
			t.Errorf("%s:\n%q\nwant\n%q", tc.name, got, tc.want)
		}
	}
	if p := Pages(page("a"), page("a"), Options{}); len(p.Hunks) != 0 || p.Binary {
		t.Errorf("the same: %+v", p)
	}
}

func TestPagesMarkWords(t *testing.T) {
	p := Pages(page("The opening is on 12 March.\n"), page("The opening is on 14 March.\n"), Options{})
	if len(p.Hunks) != 1 || len(p.Hunks[0].Lines) != 2 || p.Added != 1 || p.Removed != 1 {
		t.Fatalf("%+v", p)
	}
	old, now := p.Hunks[0].Lines[0].Spans, p.Hunks[0].Lines[1].Spans
	if !slices.Contains(old, Span{"12", true}) || !slices.Contains(now, Span{"14", true}) || len(old) != 3 {
		t.Errorf("%+v, %+v", old, now)
	}
	p = Pages(page("entirely one thing\n"), page("0123456789\n"), Options{})
	if s := p.Hunks[0].Lines[0].Spans; len(s) != 1 || s[0].Changed {
		t.Errorf("lines that have nothing to do with one another are marked: %+v", s)
	}
}

// Words that moved to another line are not marked: only those that changed are, in lines of any number.
func TestPagesMarkWordsAcrossLines(t *testing.T) {
	p := Pages(Body{[]byte("We open on\nFridays at 19:00, and at noon.\n"), "text/plain"},
		Body{[]byte("We open\non Fridays\nat 20:30, and at noon.\n"), "text/plain"}, Options{})
	var marked []string
	for _, l := range p.Hunks[0].Lines {
		for _, s := range l.Spans {
			if s.Changed {
				marked = append(marked, l.Op+s.Text)
			}
		}
	}
	if got := strings.Join(marked, " "); got != "-19 -00 +20 +30" {
		t.Errorf("marked: %s", got)
	}
}

// No byte of the pages becomes markup of the page that shows their difference.
func TestWriteHTML(t *testing.T) {
	p := Pages(page("<script>alert(1)</script>\n<p title=\"x\">same\n"),
		page("<script>alert('2')</script>\n<p title=\"x\">same\n"), Options{})
	p.Cut = true
	var b strings.Builder
	if err := p.WriteHTML(&b, "<b>title", Titles{"old & <i>", "new"}); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			seen[n.Data]++
		}
	}
	if seen["script"]+seen["b"]+seen["i"] > 0 || seen["ins"] == 0 || seen["del"] == 0 || seen["tr"] != 4 {
		t.Errorf("elements %v in\n%s", seen, b.String())
	}
}

func TestPagesUnrelatedOneLinersEnd(t *testing.T) {
	build := func(seed uint64) Body {
		rng := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range 30000 {
			fmt.Fprintf(&b, "<p>%d</p>", rng.Uint64())
		}
		return page(b.String())
	}
	start := time.Now()
	p := Pages(build(1), build(2), Options{Timeout: 200 * time.Millisecond})
	if took := time.Since(start); took > 5*time.Minute || p.Added == 0 {
		t.Errorf("took %v, %d lines", took, p.Added)
	}
}

// checkPages wants every line of both sides in their order when all context is shown.
func checkPages(t *testing.T, a, b Body) {
	t.Helper()
	p := Pages(a, b, Options{Context: math.MaxInt32})
	if p.Binary || p.Large || len(p.Hunks) == 0 {
		return
	}
	x, _ := decode(a)
	y, _ := decode(b)
	var old, now strings.Builder
	for _, h := range p.Hunks {
		n, m := 0, 0
		for i := range h.Lines {
			l := &h.Lines[i]
			if l.Op != "+" {
				old.WriteString(l.Text() + "\n")
				n++
			}
			if l.Op != "-" {
				now.WriteString(l.Text() + "\n")
				m++
			}
		}
		if n != h.OldLines || m != h.NewLines {
			t.Errorf("a hunk of %d and %d lines says %d and %d", n, m, h.OldLines, h.NewLines)
		}
	}
	if len(p.Hunks) != 1 || old.String() != split(x, isMarkup(a)) || now.String() != split(y, isMarkup(b)) {
		t.Errorf("%q and %q come out as %d hunks with %q and %q", x, y, len(p.Hunks), old.String(), now.String())
	}
}

func FuzzPages(f *testing.F) {
	f.Add([]byte("<p>a</p><p>b"), []byte("<p>a</p>\n<p>c"), "text/html")
	f.Add([]byte("a\r\nb\x1b"), []byte("\xff\xfea\x00"), "text/plain")
	f.Add([]byte("\x00"), []byte(""), "")
	f.Add([]byte("x\ny\nz"), []byte("y\nx\n"), "application/json")
	f.Fuzz(func(t *testing.T, a, b []byte, mime string) {
		if len(a)+len(b) > 1<<14 {
			return
		}
		checkPages(t, Body{a, mime}, Body{b, mime})
	})
}

func BenchmarkPages(b *testing.B) {
	build := func(changed int) Body {
		rng := rand.New(rand.NewPCG(1, 1))
		var s strings.Builder
		for i := 0; s.Len() < 1<<20; i++ {
			n := rng.Uint64()
			if rng.IntN(1000) < changed {
				n = uint64(i)
			}
			fmt.Fprintf(&s, "<p>This is a line of a page, with %d in it, and a few words more.</p>\n", n)
		}
		return page(s.String())
	}
	was := build(0)
	for _, permille := range []int{1, 50, 500} {
		now := build(permille)
		b.Run(fmt.Sprintf("changed=%d/1000", permille), func(b *testing.B) {
			b.SetBytes(int64(len(was.Data)))
			for b.Loop() {
				Pages(was, now, Options{})
			}
		})
	}
}

// Shorten keeps the directories in which most differs, and examples from below them.
func TestShorten(t *testing.T) {
	var b []phm.File
	for _, p := range []string{"a/1", "b/1", "b/x/2", "b/x/3", "c/1", "c/2", "i", "j", "k"} {
		b = append(b, phm.File{Path: p, SHA256: p})
	}
	d := Trees(nil, b)
	d.KeepFiles(2)
	d.Shorten(2, 2)
	var got []string
	d.Walk(func(d *Dir, _ int) {
		got = append(got, fmt.Sprint(d.Path, d.Added, len(d.Files), d.More, d.MoreDirs))
	})
	want := []string{".9 2 1 1", "b3 2 1 0", "c2 2 0 0"}
	if !slices.Equal(got, want) || d.Dirs[0].Files[1].Path != "b/x/2" {
		t.Errorf("%q, want %q; %+v", got, want, d.Dirs[0].Files)
	}
}
