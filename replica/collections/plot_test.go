// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
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
	var marks []Mark
	for i := range 100 {
		marks = append(marks, Mark{2 + i%7, 10 + i*i, fmt.Sprintf("h%d.test/<doc>&%s", i, strings.Repeat("x", i))})
	}
	marks = append(marks, marks[5], marks[5])
	for _, tc := range []struct {
		marks []Mark
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
	c := DirCluster{}
	for i := range 50 {
		c.Copies = append(c.Copies, Copy{
			Address{fmt.Sprintf("h%d.test", i), "/a<b/"}, 100 - i, float64(100-i) / 100,
		})
		if i > 0 {
			c.Pairs = append(c.Pairs, DirPair{A: c.Copies[0].Address, B: c.Copies[i].Address, Pages: 100 - i})
		}
	}
	for n, want := range map[int][2]int{2: {2, 1}, 50: {40, 39}} {
		var b strings.Builder
		if err := PlotCluster(&b, DirCluster{c.Copies[:n], c.Pairs[:n-1]}); err != nil {
			t.Fatal(err)
		}
		count, texts := elements(t, b.String())
		if count["circle"] != want[0] || count["path"] != want[1] || len(texts) != want[0]+2 {
			t.Errorf("%d copies: %v and %d texts", n, count, len(texts))
		}
	}
}

// Labels that no XML may hold, copies without pages and clusters without copies are drawn all the same.
func TestPlotOdd(t *testing.T) {
	odd := "h.test/\x00\x1b[31m\xff\ufffe</text><script>'\""
	var b strings.Builder
	if err := Plot(&b, []Mark{{Label: odd}, {2, 1 << 30, odd}, {-1, -5, ""}}); err != nil {
		t.Fatal(err)
	}
	if count, _ := elements(t, b.String()); count["circle"] != 3 || count["script"] != 0 {
		t.Errorf("%v", count)
	}
	for _, c := range []DirCluster{
		{}, {
			Copies: []Copy{{Address{odd, odd}, 0, 0}, {Address{"b", "/"}, 0, 0}},
			Pairs: []DirPair{
				{A: Address{odd, odd}, B: Address{"b", "/"}}, {A: Address{"c", "/"}, B: Address{"b", "/"}},
			},
		},
	} {
		b.Reset()
		if err := PlotCluster(&b, c); err != nil {
			t.Fatal(err)
		}
		if count, _ := elements(t, b.String()); count["circle"] != len(c.Copies) || count["path"] > 1 {
			t.Errorf("%v", count)
		}
	}
}
