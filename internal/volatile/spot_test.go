// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// drawn is a page of which some parts are drawn by lot.
func drawn(title, article, quote, related string) []byte {
	return []byte(`<!DOCTYPE html><html><head><title>` + title + `</title>
<script>document.write("<div class=x>");</script></head>
<body class="page"><div id="nav"><ul class="menu"><li><a href="/a">A</a><li><a href="/b">B</a></ul></div>
<div id="main"><h1>` + title + `</h1><p>` + article + `<p>More of <br>it, of which there is a lot: ` +
		strings.Repeat("text ", 40) + `</div>
<div id="side"><div class="box">` + quote + `</div><div class="related"><ul>` + related + `</ul></div></div>
<div id="foot">Generated at 12:00:01</div></body></html>
`)
}

func links(n ...int) (s string) {
	for _, i := range n {
		s += fmt.Sprintf(`<li class="item"><a href="/%d.html">Article %d</a></li>`, i, i)
	}
	return s
}

func TestPlacesOfWhatIsDrawnByLot(t *testing.T) {
	one := drawn("One", "An article.", "<p>Carpe diem.</p>", links(1, 2, 3))
	again := drawn("One", "An article.", "<p>Panta rhei.</p><i>Heraclitus</i>", links(7, 5))
	places := Apart(one, again)
	if len(places) != 2 {
		t.Fatalf("%d places, want the box and the list", len(places))
	}
	later := drawn("One", "An article.", "Cogito.", links(9, 8, 1))
	a, b, tags := Beside(one, later, places)
	if !bytes.Equal(a, b) || strings.Join(tags, " ") != `<div class="box"> <div class="related">` {
		t.Errorf("left at %q:\n%s\n%s", tags, a, b)
	}
	for name, other := range map[string][]byte{
		"article": drawn("One", "An article, corrected.", "Cogito.", links(9)),
		"title":   drawn("Two", "An article.", "Cogito.", links(9)),
	} {
		if a, b, _ := Beside(one, other, places); bytes.Equal(a, b) {
			t.Errorf("%s: a change of it is not seen", name)
		}
	}
	two := drawn("Two", "Another article.", "Alea iacta est.", links(4))
	got := Apart(two, drawn("Two", "Another article.", "Cogito.", links(6, 1)))
	if fmt.Sprint(got) != fmt.Sprint(places) {
		t.Errorf("another page of the site has other places: %v, want %v", got, places)
	}
}

func TestNoPlace(t *testing.T) {
	at := func(s string) []byte { return drawn("One", s, "box", links(1)) }
	for name, c := range map[string][2][]byte{
		"the same":           {at("x"), at("x")},
		"only a time":        {at("x"), bytes.Replace(at("x"), []byte("12:00:01"), []byte("12:00:03"), 1)},
		"outside of all":     {at("x"), bytes.Replace(at("x"), []byte("<title>One"), []byte("<title>Two"), 1)},
		"most of the page":   {at(strings.Repeat("one ", 900)), at(strings.Repeat("two ", 900))},
		"no end tag":         {[]byte("<p>text text text<p class=q>a"), []byte("<p>text text text<p class=q>b")},
		"in a script":        {at("<script>a</script>"), []byte("<script><div id=a>x</div></script>")},
		"one of many":        {[]byte(items(9, "a")), []byte(items(9, "b"))},
		"more than so many":  {[]byte(boxes(MaxSpots+1, "a")), []byte(boxes(MaxSpots+1, "b"))},
		"cut short":          {at("x"), at("x")[:300]},
		"one that is larger": {make([]byte, MaxBody+1), []byte("x")},
	} {
		if got := Apart(c[0], c[1]); len(got) > 0 {
			t.Errorf("%s: %d places", name, len(got))
		}
	}
	if got := Apart([]byte(boxes(MaxSpots, "a")), []byte(boxes(MaxSpots, "b"))); len(got) != MaxSpots {
		t.Errorf("%d places, want %d", len(got), MaxSpots)
	}
}

// items are elements that nothing tells apart.
func items(n int, text string) string {
	return strings.Repeat("<li class=item>same</li>\n", n) + "<li class=item>" + text + "</li>\n"
}

// boxes are elements that their ids tell apart.
func boxes(n int, text string) (s string) {
	for i := range n {
		s += fmt.Sprintf("<div id=box%d>%s</div>\n", i, text)
	}
	return s
}

// What nests deeply, or closes what was never open, takes no more time than its length.
func TestPlacesOfHostileDocuments(t *testing.T) {
	for name, part := range map[string]string{
		"open":     "<div class=x>",
		"named":    "<b id=q",
		"close":    "</div>",
		"raw":      "<script>",
		"raw ends": "<textarea></text",
		"both":     "<div id=a></p>",
	} {
		doc := []byte(strings.Repeat(part, MaxBody/4/len(part)))
		other := append(bytes.Clone(doc[:len(doc)-9]), "other"...)
		Apart(doc, other)
		if a, b, _ := Beside(doc, other, []Spot{1, 2}); !bytes.Equal(a, doc) || !bytes.Equal(b, other) {
			t.Errorf("%s: something was left out", name)
		}
	}
}

func FuzzSpots(f *testing.F) {
	f.Add(drawn("One", "x", "a", links(1)), drawn("One", "x", "b", links(2)))
	f.Add([]byte(boxes(3, "<p>a")), []byte(boxes(3, "b")))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		places := Apart(a, b)
		if len(places) == 0 {
			return
		}
		// Pages that are the same, or may change by themselves, but for these places, are so without them.
		x, y, tags := Beside(revealed(a), revealed(b), places)
		if len(tags) == 0 {
			t.Fatalf("places without a tag in\n%q\n%q", a, b)
		}
		if len(x) > len(a) || len(y) > len(b) {
			t.Fatal("longer than before")
		}
	})
}
