// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/replay"
)

// drawn checks that a drawing is XML that runs nothing and loads nothing, and returns how often each class is
// drawn.
func drawn(t *testing.T, svg []byte) map[string]int {
	t.Helper()
	out := map[string]int{}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	dec.Strict = true
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "svg", "title", "style", "rect", "path", "text":
		default:
			t.Errorf("element %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Name.Local, "href") {
				t.Errorf("attribute %s", a.Name.Local)
			}
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("%s is %q", a.Name.Local, a.Value)
			}
			if a.Name.Local == "class" {
				out[a.Value]++
			}
		}
	}
}

func TestPlot(t *testing.T) {
	h := smallHistory(t)
	o := replay.Options{Policy: policy.Near, Train: 3}
	curves, err := TradeOff([]*replay.History{h}, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPicture(h, o)
	if err != nil {
		t.Fatal(err)
	}
	if p.r.Total.Quiet != nil {
		t.Fatal("the history has quiet weeks by now")
	}
	asked := 0.125
	p.r.Total.Quiet = &asked
	var out bytes.Buffer
	if err := Plot(&out, "small & <sound>", curves, p); err != nil {
		t.Fatal(err)
	}
	classes := drawn(t, out.Bytes())
	// The rules of the first two steps skip what did not change in them, docs, and in docs everything happens
	// that is missed.
	for _, class := range []string{
		"title", "adaptive line", "near dot", "near ring", "other line", "d0", "d2", "d5", "skip", "miss",
		"asked", "bar",
	} {
		if classes[class] == 0 {
			t.Errorf("nothing is drawn as %q", class)
		}
	}
	for _, text := range []string{
		"small &amp; &lt;sound&gt;", ">docs/<", ">news/<", "ask (12.5 % in quiet weeks), CR ",
		"7 directories by weeks", "3 full syncs", ">strict<",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %q in the drawing", text)
		}
	}
}

func TestPictureMarks(t *testing.T) {
	h := smallHistory(t)
	p, err := NewPicture(h, replay.Options{Policy: policy.Near, Train: 3})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	cells := map[string][]pictureCell{}
	for _, r := range p.rows {
		rows = append(rows, strings.Repeat(" ", r.depth)+r.label)
		cells[h.DirPath(r.dir)] = r.cells
	}
	if got, want := strings.Join(rows, "|"),
		"small/| docs/|  1.0/|  2.0/|  3.0/|   api.html/| news/"; got != want {
		t.Errorf("rows %q, want %q", got, want)
	}
	for _, c := range []struct {
		dir  string
		step int
		want pictureCell
	}{
		{"", 0, pictureCell{there: true, doc: 3.0 / 15}}, // 9 files and 5 directories, 1 new
		{"docs", 1, pictureCell{there: true}},            // a quiet week
		{"docs", 2, pictureCell{
			there: true,
			doc:   1.0 / 7,
			blind: true,
			miss:  true,
		}}, // 4 files and 3 directories
		{"docs/3.0", 2, pictureCell{}}, // not there yet
		{"docs/3.0", 3, pictureCell{
			there: true,
			doc:   1,
			blind: true,
			miss:  true,
		}}, // never heard of
		{"news", 2, pictureCell{there: true, doc: 2.0 / 5}},
		{"", 4, pictureCell{there: true, doc: 3.0 / 19, miss: true}},
	} {
		if got := cells[c.dir][c.step]; got != c.want {
			t.Errorf("%q, step %d: %+v, want %+v", c.dir, c.step, got, c.want)
		}
	}
}

// What a site calls its directories is text, and a picture of thousands of directories stays small.
func TestPictureBounds(t *testing.T) {
	var b replay.Builder
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	var records []replay.Record
	for i := range 3000 {
		path := strings.Repeat("d<&\"'>/", 1+i%3) + string(rune('一'+i)) + "/\xff\x01\ufffex"
		records = append(records, replay.Record{Path: path, Blob: "1", Size: 1})
	}
	slices.SortFunc(records, func(a, b replay.Record) int { return strings.Compare(a.Path, b.Path) })
	for i := range 5 {
		for j := range records {
			records[j].Blob = string(rune('a' + i*(j%2)))
		}
		if err := b.Add(at.AddDate(0, 0, i), "", records); err != nil {
			t.Fatal(err)
		}
	}
	h := b.History()
	p, err := NewPicture(h, replay.Options{Policy: policy.Full, Train: 1})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Plot(&out, "many", nil, p); err != nil {
		t.Fatal(err)
	}
	drawn(t, out.Bytes())
	if len(p.rows) != pictureRows || out.Len() > 100_000 {
		t.Errorf("%d rows, %d bytes", len(p.rows), out.Len())
	}
}
