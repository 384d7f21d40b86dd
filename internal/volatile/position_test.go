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

// learned takes all that two answers differ in as known.
func learned(t *testing.T, a, b []byte) Positions {
	t.Helper()
	found, ok := Apart(a, b, nil)
	if !ok {
		t.Fatalf("%s and %s differ elsewhere: %+v", a, b, found)
	}
	k := Positions{}
	for _, f := range found {
		if !f.Wide {
			k[f.Position] = f.At
		}
	}
	return k
}

// pageOf is a page with something in its head, its text and its end.
func pageOf(title, head, middle string) []byte {
	return []byte("<!DOCTYPE html>\n<html><head><title>" + title + "</title>" + head + "</head>\n<body>\n<h1>" +
		title + "</h1>\n<p>" + strings.Repeat("text of "+title+" ", 20) + "</p>" + middle +
		"\n<hr></body></html>\n")
}

// A value at a position that two answers of one page show is masked on another page.
func TestNoiseIsMasked(t *testing.T) {
	for name, c := range map[string]struct{ head, middle string }{
		"hidden input": {"", `<form><input type="hidden" name="token" value="%s"></form>`},
		"meta":         {`<meta name="csrf-token" content="%s">`, ""},
		"nonce":        {`<script nonce="%s">x()</script>`, ""},
		"script":       {`<script>RLCONF={"wgRequestId":"%s","wgCSPNonce":false};</script>`, ""},
		"assignment":   {"<script>\nvar session = '%s';\n</script>", ""},
		"comment":      {"", "<!-- request %s of web -->"},
		"parameter":    {"", `<a href="/login?token=%s&amp;back=here">login</a>`},
		"last step":    {"", `<img class="pixel" src="/pixel/%s">`},
		"data":         {"", `<div id="app" data-key="%s">x</div>`},
		"id":           {"", `<div id="menu-%s" class="menu">x</div>`},
		"text":         {"", `<p id="foot">request %s done</p>`},
	} {
		fill := func(title, token string) []byte {
			in := func(s string) string { return strings.ReplaceAll(s, "%s", token) }
			return pageOf(title, in(c.head), in(c.middle))
		}
		tokens := [...]string{"9c59c3c75325c48e5f8e", "15c1bd8c8d00668624bf", "3a30fec4cc68af4ca52a",
			"e6186b45c6cd628b8c0b"}
		k := learned(t, fill("One", tokens[0]), fill("One", tokens[1]))
		if a, _, same := k.Same(fill("Two", tokens[2]), fill("Two", tokens[3])); !same || len(a.Hits) == 0 {
			t.Errorf("%s: not masked on another page: %s", name, a.Body)
		}
		for what, other := range map[string][]byte{
			"title": fill("Six", tokens[3]),
			"word":  bytes.Replace(fill("Two", tokens[3]), []byte(tokens[3]), []byte("harbour"), 1),
			"gone":  bytes.Replace(fill("Two", tokens[3]), []byte(tokens[3]), nil, 1),
			"more":  append(fill("Two", tokens[3]), "more"...),
		} {
			if _, _, same := k.Same(fill("Two", tokens[2]), other); same {
				t.Errorf("%s: another %s is masked", name, what)
			}
		}
	}
}

// A long token of a position is masked wherever else the page has it: the boundaries of mails, of which each
// has addresses of its own.
func TestTokensAreMaskedInAllPlaces(t *testing.T) {
	mails := func(from, n int, text string) (out []byte) {
		for i := range 80 {
			const form = "From: <a%[1]d@example.org>\nMessage-ID: <m%[1]d.%[2]d@example.org>\n" +
				"Content-Type: mixed; boundary=\"==%019[3]d==\"\n\n--==%019[3]d==\n%[4]s\n--==%019[3]d==--\n"
			out = fmt.Appendf(out, form, from, i, n*7919+i*104729, text)
		}
		return out
	}
	found, _ := Apart(mails(1, 1, "a"), mails(1, 2, "a"), nil)
	k := Positions{}
	for _, d := range found {
		if strings.Contains(d.Where, "boundary") {
			k[d.Position] = d.At
		}
	}
	if a, b, same := k.Same(mails(2, 3, "text"), mails(2, 4, "text")); !same || len(a.Hits) != 80 {
		t.Errorf("%d hits\n%s\n%s", len(a.Hits), a.Body, b.Body)
	}
	if _, _, same := k.Same(mails(2, 3, "text"), mails(2, 4, "other")); same {
		t.Error("another text is masked")
	}
	if _, _, same := k.Same(mails(2, 3, "text"), mails(5, 4, "text")); same {
		t.Error("another sender is masked")
	}
}

// Short base64 has no digit in one answer of three, as Roundup's time of a form; its padding says what it is.
func TestPaddedBase64IsAToken(t *testing.T) {
	form := func(v string) []byte {
		return pageOf("One", "", `<form><input type="hidden" name="opaque" value="`+v+`"></form>`)
	}
	k := learned(t, form("8JkMaw=="), form("KpoMaw=="))
	if a, _, same := k.Same(form("JJoMaw=="), form("WZoMaw==")); !same || len(a.Hits) == 0 {
		t.Errorf("not masked: %s", a.Body)
	}
	for _, word := range []string{"harbour", "harbour=", "Harbour="} {
		if _, _, same := k.Same(form("JJoMaw=="), form(word)); same {
			t.Errorf("the word %q is masked", word)
		}
	}
}

func TestNumbersAreMaskedWhereTheyVary(t *testing.T) {
	fill := func(title, time, ms, price string) []byte {
		return pageOf(title, `<script>mw.config.set({"wgBackendResponseTime":`+ms+`});</script>`,
			"<p>Costs "+price+" EUR</p><p class=now>It is "+time+".</p><i>served in "+ms+" ms by web</i>")
	}
	k := learned(t, fill("One", "12:30:05", "141", "7.20"), fill("One", "12:30:07", "96", "7.20"))
	if a, b, same := k.Same(fill("Two", "12:30:05", "3", "8.20"), fill("Two", "01:02:03", "4", "8.20")); !same {
		t.Errorf("not masked:\n%s\n%s", a.Body, b.Body)
	}
	if _, _, same := k.Same(fill("Two", "12:30:05", "3", "8.20"), fill("Two", "01:02:03", "4", "8.30")); same {
		t.Error("a price is masked")
	}
	if _, _, same := k.Same(fill("Two", "12:30:05", "3", "8.20"), fill("Two", "closed", "4", "8.20")); same {
		t.Error("a word where a time was is masked")
	}
}

func TestRegionsDrawnByLot(t *testing.T) {
	one := drawn("One", "An article.", "<p>Carpe diem.</p>", links(1, 2, 3))
	again := drawn("One", "An article.", "<p>Panta rhei.</p><i>Heraclitus</i>", links(7, 5))
	k := learned(t, one, again)
	if len(k) != 2 {
		t.Fatalf("%d positions, want the box and the list", len(k))
	}
	later := drawn("One", "An article.", "Cogito.", links(9, 8, 1))
	a, b, same := k.Same(one, later)
	if !same || len(b.Named) != 3 || string(b.Named[0]) != "/9.html" {
		t.Errorf("%v, named %q:\n%s\n%s", same, b.Named, a.Body, b.Body)
	}
	for name, other := range map[string][]byte{
		"article": drawn("One", "An article, corrected.", "Cogito.", links(9)),
		"title":   drawn("Two", "An article.", "Cogito.", links(9)),
	} {
		if _, _, same := k.Same(one, other); same {
			t.Errorf("%s: a change of it is not seen", name)
		}
	}
	two := drawn("Two", "Another article.", "Alea iacta est.", links(4))
	got := learned(t, two, drawn("Two", "Another article.", "Cogito.", links(6, 1)))
	if fmt.Sprint(got) != fmt.Sprint(k) {
		t.Errorf("another page of the site has other positions: %v, want %v", got, k)
	}
}

// The classes of the page and of its subject, which WordPress gives body and article, name no place: what
// varies on one page varies on all of them. Those of a sister region do.
func TestClassesOfThePageAreNoPlace(t *testing.T) {
	fill := func(subject, time, related string) []byte {
		return []byte("<!DOCTYPE html><body class='single " + subject + "'><article class='post entry " + subject +
			"'><h1>Title</h1><p>" + strings.Repeat("Text of it. ", 30) + "<ul class=related>" + related +
			"</ul><ul class=tags><li>a</ul></article><img src='/blank.gif?t=" + time + "' alt=''></body>\n")
	}
	k := learned(t, fill("tides", "1795851169", links(1, 2)), fill("tides", "1795851172", links(7)))
	a, b, same := k.Same(fill("quays", "1795851200", links(3)), fill("quays", "1795851207", links(4, 5)))
	if !same || len(a.Hits) != 2 {
		t.Errorf("%d positions on a page of another subject:\n%s\n%s", len(a.Hits), a.Body, b.Body)
	}
	tags := bytes.Replace(fill("quays", "1795851200", links(3)), []byte("<li>a"), []byte("<li>b"), 1)
	if _, _, same := k.Same(fill("quays", "1795851200", links(3)), tags); same {
		t.Error("a tag is masked")
	}
	beginning := func(classes string) string {
		return string(Beginning([]byte("<html><head><style id=s></style><body class='" + classes + "'><div id=a>")))
	}
	of := beginning("archive date y2026")
	if of != beginning("archive date y2025") || of == beginning("single post") {
		t.Error("the subject names a template, or the kind of page does not")
	}
}

// A comment in which one number varies is a note of the program: its other numbers say nothing, its words do.
func TestNumbersOfACommentVaryTogether(t *testing.T) {
	fill := func(queries, seconds, more string) []byte {
		return pageOf("One", "", "<p>51 queries</p><!-- "+queries+" queries in "+seconds+" seconds"+more+" -->")
	}
	k := learned(t, fill("51", "0.12", ""), fill("51", "0.09", ""))
	if _, _, same := k.Same(fill("51", "0.12", ""), fill("48", "0.31", "")); !same {
		t.Error("another number of the comment is a change")
	}
	if _, _, same := k.Same(fill("51", "0.12", ""), fill("51", "0.12", ", cached")); same {
		t.Error("a word in the comment is masked")
	}
	shown := bytes.Replace(fill("51", "0.12", ""), []byte("<p>51"), []byte("<p>52"), 1)
	if _, _, same := k.Same(fill("51", "0.12", ""), shown); same {
		t.Error("a number that readers see is masked")
	}
}

func TestWithoutClock(t *testing.T) {
	for address, want := range map[string]string{
		"/run?id=a&1795835295":       "/run?id=a&",
		"/blank.gif?t=1795835295123": "/blank.gif?t=",
		"/1795835295/a?b=1":          "//a?b=1",
		"/run?id=a&17958352951":      "",
		"/a/12?b=2026":               "",
		"":                           "",
	} {
		if got, had := WithoutClock(address); had != (want != "") || (had && got != want) {
			t.Errorf("%s: %q, %v", address, got, had)
		}
	}
}

func TestNoPosition(t *testing.T) {
	at := func(s string) []byte { return drawn("One", s, "box", links(1)) }
	for name, c := range map[string][2][]byte{
		"most of the page":   {at(strings.Repeat("one ", 900)), at(strings.Repeat("two ", 900))},
		"no end tag":         {[]byte("<p>text text text<p class=q>a"), []byte("<p>text text text<p class=q>b")},
		"in a script":        {at("<script>a</script>"), []byte("<script><div id=a>x</div></script>")},
		"one of many":        {[]byte(items(9, "a")), []byte(items(9, "b"))},
		"cut short":          {at("x"), at("x")[:300]},
		"one that is larger": {make([]byte, MaxBody+1), []byte("x")},
	} {
		if got, ok := Apart(c[0], c[1], nil); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, ok := Apart(at("x"), at("x"), nil); !ok || len(got) > 0 {
		t.Errorf("the same: %+v", got)
	}
}

// What no element names stands between two texts that the answers and the stored page have once each. An edit
// elsewhere is seen, one of a page that has these texts twice is, and so is a text that is no longer there.
func TestGaps(t *testing.T) {
	page := func(head, drawn, foot string) []byte {
		return []byte("<h1>Harbour</h1><p>" + head + "<h2>Read more</h2>" + drawn + "<p>End of page " + foot +
			strings.Repeat("<p>and so on", 40))
	}
	known := Positions{}
	for _, stored := range [][]byte{nil, page("old", "<a href=/7>seven</a>", "b")} {
		found, ok := Apart(page("a", "<a href=/1>one</a><br>two<br>", "b"), page("a", "<b>three</b>", "b"), stored)
		if !ok || len(found) != 1 || found[0].At.Kind != Gap || found[0].Where != "</h2> # End of page b" {
			t.Fatalf("%v %+v", ok, found)
		}
		for _, d := range found {
			known[d.Position] = d.At
		}
	}
	for name, c := range map[string]struct {
		was, now []byte
		want     bool
	}{
		"other items":    {page("a", "x", "b"), page("a", "<i>y</i><a href=/9>z</a>", "b"), true},
		"none":           {page("a", "x", "b"), page("a", "", "b"), true},
		"before":         {page("a", "x", "b"), page("c", "x", "b"), false},
		"behind":         {page("a", "x", "b"), page("a", "y", "c"), false},
		"twice":          {page("a", "x<h2>Read</h2>", "b"), page("a", "y<h2>Read</h2>", "b"), false},
		"no such text":   {page("a", "x", "b"), bytes.Replace(page("a", "x", "b"), []byte("</h2>"), nil, 1), false},
		"most of a page": {page("a", "x", "b"), page("a", strings.Repeat("word ", 400), "b"), false},
	} {
		_, b, same := known.Same(c.was, c.now)
		if same != c.want {
			t.Errorf("%s: the same %v, want %v:\n%s", name, same, c.want, b.Body)
		}
	}
	if m := known.Masked(page("a", "<a href=/9>z</a>", "b")); len(m.Named) != 1 || string(m.Named[0]) != "/9" {
		t.Errorf("references in it: %q", m.Named)
	}
}

// items are elements that nothing tells apart.
func items(n int, text string) string {
	return strings.Repeat("<li class=item>same</li>\n", n) + "<li class=item>" + text + "</li>\n"
}

// What nests deeply, or closes what was never open, takes no more time than its length.
func TestPositionsOfHostileDocuments(t *testing.T) {
	for name, part := range map[string]string{
		"open":     "<div class=x>",
		"named":    "<b id=q",
		"close":    "</div>",
		"raw":      "<script>",
		"raw ends": "<textarea></text",
		"both":     "<div id=a></p>",
		"numbers":  "1 ",
		"members":  "<script>a:1,b:2",
		"address":  "<a href='/1/2/3/4?a=5&b=6'>",
	} {
		doc := []byte(strings.Repeat(part, MaxBody/4/len(part)))
		other := append(bytes.Clone(doc[:len(doc)-9]), "other"...)
		Apart(doc, other, nil)
		if _, _, same := (Positions{1: {Kind: Region}, 2: {Kind: Number}}).Same(doc, other); same {
			t.Errorf("%s: something was left out", name)
		}
	}
}

func FuzzPositions(f *testing.F) {
	f.Add(drawn("One", "x", "a", links(1)), drawn("One", "x", "b", links(2)))
	f.Add(pageOf("One", "<script>a={b:1}</script>", ""), pageOf("One", "<script>a={b:2}</script>", ""))
	f.Add([]byte(`{"a":"9c59c3c75325c48e","b":1}`), []byte(`{"a":"15c1bd8c8d006686","b":2}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		found, ok := Apart(a, b, nil)
		if !ok {
			return
		}
		k := Positions{}
		for _, d := range found {
			if d.Seen == 0 || d.Differed == 0 {
				t.Fatalf("%+v", d)
			}
			k[d.Position] = d.At
		}
		x, y := k.Masked(a), k.Masked(b)
		if len(found) > 0 && len(x.Hits) == 0 {
			t.Fatalf("nothing is masked in\n%q\n%q", a, b)
		}
		if !bytes.Equal(x.Body, y.Body) && !bytes.Equal(revealed(a), revealed(b)) && len(a) < MaxBody {
			for _, d := range found {
				if d.At.Kind == Region {
					return // the one of another page may be too large
				}
			}
			t.Fatalf("what two answers differ in is not masked:\n%q\n%q\n%q\n%q\n%+v", a, b, x.Body, y.Body, found)
		}
	})
}

// swapped returns a page in which two texts change places.
func swapped(page []byte, a, b string) []byte {
	page = bytes.Replace(page, []byte(a), []byte{mark}, 1)
	page = bytes.Replace(page, []byte(b), []byte(a), 1)
	return bytes.Replace(page, []byte{mark}, []byte(b), 1)
}

// Lines and items that two answers of one moment show in another order are the same in any order, where they
// did so, and only there. Every other edit of them is a change.
func TestOrderDrawnByLot(t *testing.T) {
	for name, c := range map[string]struct {
		form  string
		items []string
	}{
		"lines": {"<pre>\n%s</pre>", []string{
			"May 3 <a href=1>lamp</a>\n", "May 4 <a href=2>oil</a>\n", "May 4 <b>x</b> 3\n",
		}},
		"paragraphs": {"<pre>\n%s</pre>", []string{
			"<a\nhref=1>lamp</a>\n May 3\n\n", "<a\nhref=2>oil</a>\n 4\n\n", "wick\n3\n\n",
		}},
		"list": {"<ul class=l>%s</ul>", []string{
			"<li>lamp 1</li>", "<li>oil <b>2</b></li>", "<li>wick</li>\n",
		}},
		"open": {"<ul>\n%s</ul>", []string{"<li><p>lamp\n", "<li><p>oil <i>2</i>\n", "<li>wick<p>5\n"}},
		"rows": {"<table><tbody>%s</tbody></table>", []string{"<tr><td>lamp<td>1\n", "<tr><td>oil<td>2",
			"<tr><td>wick<td>3</td></tr>\n"}},
		"inline": {"<p class=tags>%s</p>", []string{
			"<a href=/a>a</a>, ", "<a href=/b>b</a>, ", "<a href=/c>c</a>",
		}},
		"parts": {"<div id=all>%s</div>", []string{"<div class=x><h2>A</h2>\n<p>a</div>\n",
			"<div class=x><h2>B</h2>\n<p>b</div>\n", "<div class=x>c</div>"}},
	} {
		fill := func(title string, order ...int) []byte {
			text := ""
			for _, i := range order {
				text += c.items[i]
			}
			list := strings.ReplaceAll(c.form, "%s", text)
			return pageOf(title, "", list+"<hr>"+strings.ReplaceAll(c.form, "%s", c.items[0]+c.items[1]))
		}
		k := learned(t, fill("One", 0, 1, 2), fill("One", 1, 0, 2))
		if len(k) != 1 {
			t.Errorf("%s: %v", name, k)
		}
		was := fill("Two", 0, 1, 2)
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
			if a, b, same := k.Same(was, fill("Two", order...)); !same {
				t.Errorf("%s: not masked on another page:\n%s\n%s", name, a.Body, b.Body)
			}
		}
		for what, other := range map[string][]byte{
			"gone":    fill("Two", 0, 1),
			"twice":   fill("Two", 0, 1, 2, 2),
			"letter":  bytes.Replace(was, []byte("a"), []byte("u"), 1),
			"place":   bytes.Replace(was, []byte("<hr>"), []byte("<hr>x"), 1),
			"parts":   swapped(was, "lamp", "oil"),
			"content": swapped(was, "1", "2"),
		} {
			if _, _, same := k.Same(was, other); same && !bytes.Equal(was, other) {
				t.Errorf("%s: %s is masked", name, what)
			}
		}
	}
}

// The kind of two documents that are the same but for noise is that of what may hide most.
func TestUnlike(t *testing.T) {
	const page = "<form><input name=csrf value=%s></form><p class=n>%d</p><p class=quote>%s</p><p>The end"
	doc := func(token string, n int, quote string) []byte {
		return fmt.Appendf(nil, page, token, n, quote)
	}
	was := doc("3f2a9c81d0b7", 7, "All is well.")
	known := Positions{}
	for _, now := range [][]byte{
		doc("81d0b73f2a9c", 7, "All is well."), doc("3f2a9c81d0b7", 8, "All is well."),
		doc("3f2a9c81d0b7", 7, "Nothing is, so far."),
	} {
		found, ok := Apart(was, now, nil)
		if !ok {
			t.Fatal("they differ elsewhere, too")
		}
		for _, d := range found {
			known[d.Position] = d.At
		}
	}
	for _, c := range []struct {
		now  []byte
		want Kind
	}{
		{doc("81d0b73f2a9c", 7, "All is well."), Token},
		{doc("81d0b73f2a9c", 8, "All is well."), Number},
		{doc("81d0b73f2a9c", 8, "And now for something else."), Region},
		{doc("3f2a9c81d0b7", 7, "And now for something else."), Region},
	} {
		a, b, same := known.Same(was, c.now)
		if kind, where := a.Unlike(&b); !same || kind != c.want || len(where) == 0 {
			t.Errorf("%s: same %v, %v at %q, want %v", c.now, same, kind, where, c.want)
		}
	}
}
