// SPDX-License-Identifier: Apache-2.0

package drawings

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"mirrord/replica/collections"
)

// elements reads a drawing as XML and counts its elements; texts are what it says.
func elements(t *testing.T, svg string) (count map[string]int, texts []string) {
	t.Helper()
	count = map[string]int{}
	in := ""
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count, texts
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			count[token.Name.Local]++
			in = token.Name.Local
			for _, a := range token.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s=%q", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			if in == "text" && strings.TrimSpace(string(token)) != "" {
				texts = append(texts, string(token))
			}
		}
	}
}

func TestPlot(t *testing.T) {
	var marks []PlotMark
	for i := range 100 {
		marks = append(marks, PlotMark{
			2 + i%7, 10 + i*i, fmt.Sprintf("h%d.test/<doc>&%s", i, strings.Repeat("x", i)),
		})
	}
	marks = append(marks, marks[5], marks[5])
	for _, tc := range []struct {
		marks []PlotMark
		dots  int
		says  string
	}{{nil, 0, "0 clusters"}, {marks[:1], 1, "h0.test/<doc>&"}, {marks, 100, "102 clusters"}} {
		var b strings.Builder
		if err := Plot(&b, tc.marks); err != nil {
			t.Fatal(err)
		}
		count, texts := elements(t, b.String())
		if count["circle"] != tc.dots {
			t.Errorf("%d dots, want %d", count["circle"], tc.dots)
		}
		if !strings.Contains(strings.Join(texts, "\n"), tc.says) {
			t.Errorf("%q does not say %q", texts, tc.says)
		}
	}
}

func TestPlotCluster(t *testing.T) {
	c := collections.DirCluster{}
	for i := range 50 {
		c.Copies = append(c.Copies, collections.Copy{
			Address: collections.Address{Host: fmt.Sprintf("h%d.test", i), Path: "/a<b/"},
			Pages:   100 - i,
			Share:   float64(100-i) / 100,
			Shared:  100 - i,
		})
		if i > 0 {
			c.Pairs = append(c.Pairs, collections.DirPair{
				A:     c.Copies[0].Address,
				B:     c.Copies[i].Address,
				Pages: 100 - i,
			})
		}
	}
	const legend = 3 // of shapes, lines and texts
	for n, want := range map[int][2]int{2: {2, 1}, 50: {40, 39}} {
		var b strings.Builder
		if err := PlotCluster(&b, collections.DirCluster{Copies: c.Copies[:n], Pairs: c.Pairs[:n-1]}); err != nil {
			t.Fatal(err)
		}
		count, texts := elements(t, b.String())
		shapes := count["circle"] + count["rect"] - 1 + count["polygon"]
		if shapes != want[0]+legend || count["path"] != want[1]+legend || len(texts) != want[0]+2+legend {
			t.Errorf("%d copies: %v and %d texts", n, count, len(texts))
		}
	}
}

// Copies that are exact, near and partial have other colours, lines and shapes; copies of which only follows
// how much they have in common have no line.
func TestPlotClusterLikeness(t *testing.T) {
	at := func(name string) collections.Address { return collections.Address{Host: name + ".test", Path: "/"} }
	pair := func(name string, pages, of, places, same int) collections.DirPair {
		return collections.DirPair{
			A:      at("first"),
			B:      at(name),
			Pages:  pages,
			OfA:    40,
			OfB:    of,
			Places: places,
			Same:   same,
		}
	}
	exactly, nearly, part := pair("a", 40, 40, 30, 30), pair("b", 40, 40, 30, 29), pair("c", 20, 20, 20, 20)
	for p, want := range map[*collections.DirPair]likeness{&exactly: exact, &nearly: near, &part: partial} {
		if got := likenessOf(p); got != want {
			t.Errorf("%v: %s, want %s", p.B, got, want)
		}
	}
	var b strings.Builder
	c := collections.Clusters([]collections.DirPair{exactly, nearly, part, {
		A:     at("b"),
		B:     at("d"),
		Pages: 38,
		OfA:   40,
		OfB:   40,
	}})[0]
	if err := PlotCluster(&b, c); err != nil {
		t.Fatal(err)
	}
	count, _ := elements(t, b.String())
	// the page is a rect; the legend has one of each
	want := map[string]int{"circle": 1 + 2, "rect": 2 + 2, "polygon": 1 + 1, "path": 3 + 4}
	for name, n := range want {
		if count[name] != n {
			t.Errorf("%d of %s, want %d", count[name], name, n)
		}
	}
	for _, class := range []string{"like exact", "like near", "like partial"} {
		if strings.Count(b.String(), class) < 2 {
			t.Errorf("no line of %s", class)
		}
	}
}

// Labels that no XML may hold, copies without pages and clusters without copies are drawn all the same.
func TestPlotOdd(t *testing.T) {
	odd := "h.test/\x00\x1b[31m\xff\ufffe</text><script>'\""
	var b strings.Builder
	if err := Plot(&b, []PlotMark{{Label: odd}, {2, 1 << 30, odd}, {-1, -5, ""}}); err != nil {
		t.Fatal(err)
	}
	if count, _ := elements(t, b.String()); count["circle"] != 3 || count["script"] != 0 {
		t.Errorf("%v", count)
	}
	strange, plain := collections.Address{Host: odd, Path: odd}, collections.Address{Host: "b", Path: "/"}
	elsewhere := collections.Address{Host: "c", Path: "/"}
	for _, c := range []collections.DirCluster{
		{}, {
			Copies: []collections.Copy{{Address: strange}, {Address: plain}},
			Pairs:  []collections.DirPair{{A: strange, B: plain}, {A: elsewhere, B: plain}},
		},
	} {
		b.Reset()
		if err := PlotCluster(&b, c); err != nil {
			t.Fatal(err)
		}
		count, _ := elements(t, b.String())
		if shapes := count["circle"] + count["rect"] + count["polygon"]; shapes != len(c.Copies)+4 {
			t.Errorf("%v", count)
		}
	}
}
