// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// shop is a site of products of one template: 400 words that all pages say, and 60 of the product. seed makes
// other products.
func shop(n int, seed uint32) map[string]mirrortest.Page {
	frame := mirrortest.Words(7, 400)
	pages := map[string]mirrortest.Page{}
	var links strings.Builder
	for i := range n {
		p := fmt.Sprintf("product%02d.html", i)
		fmt.Fprintf(&links, "<a href=%q>%d</a>\n", p, i)
		pages["/"+p] = product(frame, mirrortest.Words(uint32(i+1)*7919+seed, 60))
	}
	pages["/"] = mirrortest.HTML("Shop", frame+links.String()+mirrortest.Words(11, 60))
	return pages
}

func product(frame, own string) mirrortest.Page {
	return mirrortest.HTML("Product", "<div>"+frame[:len(frame)/2]+"</div><main>"+own+"</main><div>"+
		frame[len(frame)/2:]+"</div>")
}

// One product of a replica is another product: it is not published instead of the one that the mirror
// holds. An edition of the same product is.
func TestAlternateHasAnotherProduct(t *testing.T) {
	pages := shop(24, 0)
	w, m := replicated(t, pages, replacing)
	takeDown(w, pages)
	there := maps.Clone(pages)
	frame := mirrortest.Words(7, 400)
	there["/product05.html"] = product(frame, mirrortest.Words(424242, 60))
	words := strings.Fields(mirrortest.Words(9*7919, 60)) // of product08
	words[20] = "cheaper"
	there["/product08.html"] = newer(product(frame,
		strings.Join(words, " ")+" now with a longer warranty of five years"))
	replicate(w, there)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "say something else than the mirror's were not taken (1, such as "+home+"/product05.html")
	if text := m.Tree()["product05.html"]; !strings.Contains(text, mirrortest.Words(6*7919, 60)) {
		t.Errorf("another product took the place of product05:\n%s", text)
	}
	if text := m.Tree()["product08.html"]; !strings.Contains(text, "longer warranty") {
		t.Errorf("the new edition of product08 was not taken:\n%s", text)
	}
}

// A shop with the same template and other products is no replica: nothing is taken of it, also for what the
// mirror does not hold.
func TestAlternateIsAnotherShop(t *testing.T) {
	w := mirrortest.Start(t)
	pages := shop(24, 0)
	w.SetAll(home, pages)
	other := shop(24, 1234567)
	other["/extra.html"] = product(mirrortest.Words(7, 400), mirrortest.Words(99, 60))
	other["/"] = pages["/"]
	replicate(w, other)
	m := mirrortest.New(t, w, withAlternates())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "is not treated as the origin")
	before := m.Tree()
	takeDown(w, pages)
	s = m.Run()
	if s.Published || len(s.Alternates) > 1 || s.Foreign > 0 {
		t.Error(mirrortest.Text(s))
	}
	if !maps.Equal(before, m.Tree()) {
		t.Error("the mirror changed")
	}
}

// A page of another kind, an image that is a page: the types differ.
func TestAlternateHasAPageForAnImage(t *testing.T) {
	pages := handbook(24)
	w, m := replicated(t, pages, replacing)
	takeDown(w, pages)
	there := maps.Clone(pages)
	there["/logo.png"] = newer(mirrortest.HTML("Logo", prose(3, 3)))
	there["/p00.html"] = newer(mirrortest.HTML("Page 0", `<img src="logo.png"><p>`+edited(0)))
	replicate(w, there)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if tree := m.Tree(); tree["logo.png"] != "png" ||
		!strings.Contains(tree["p00.html"], "added to the edition") {
		t.Errorf("logo.png is %q", tree["logo.png"])
	}
}
