// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var reference = regexp.MustCompile(`(?:href="|<link>)(\d+)`)

// said reads a document whose references are numbers.
func said(text string, feed bool) []PageFact {
	var all []Mention
	for _, at := range reference.FindAllStringSubmatchIndex(text, -1) {
		n, _ := strconv.Atoi(text[at[2]:at[3]])
		all = append(all, Mention{At: int32(at[2]), ID: uint32(n)})
	}
	return Sayings([]byte(text), feed, all)
}

func TestNews(t *testing.T) {
	const nav = `<p><a href="91">a</a> <a href="92">b</a> <a href="93">c</a> <a href="94">d</a> <a href="95">e</a>`
	for _, c := range []struct {
		name, before, now string
		feed              bool
		want              []uint32
	}{
		{
			name:   "a date beside a link",
			before: `<ul><li>1 May <a href="1">x</a><li>2 May <a href="2">y</a></ul>`,
			now:    `<ul><li>1 May <a href="1">x</a><li>9 May <a href="2">y</a></ul>`,
			want:   []uint32{2},
		},
		{
			name:   "a date in another cell of the row",
			before: `<tr><td>1.0<td><a href="1">x</a><td><a href="7">by</a><tr><td>2.0<td><a href="2">y</a>`,
			now:    `<tr><td>1.1<td><a href="1">x</a><td><a href="7">by</a><tr><td>2.0<td><a href="2">y</a>`,
			want:   []uint32{1, 7},
		},
		{
			name:   "a summary below a headline",
			before: `<h2><a href="1">x</a></h2><p>3 May<p>text<h2><a href="2">y</a></h2><p>2 May`,
			now:    `<h2><a href="1">x</a></h2><p>3 May<p>edited<h2><a href="2">y</a></h2><p>2 May`,
			want:   []uint32{1},
		},
		{
			name:   "markup, spaces and scripts say nothing",
			before: `<li><a href="1" class="a">x y</a><script>var n = 1 < 2</script>`,
			now:    "<LI  id=3><a class='b' href=\"1\">x\n<b>y</b></a><script>var n = 2 < 2</script>",
		},
		{
			name:   "many links in a block have the text up to the next one",
			before: nav,
			now:    nav[:len(nav)-len(`<a href="94">d</a> <a href="95">e</a>`)] + `<a href="94">D</a> <a href="95">e</a>`,
			want:   []uint32{94},
		},
		{
			name:   "one that came to the front",
			before: `<li><a href="1">x</a><li><a href="2">x</a><li><a href="3">x</a><li><a href="4">x</a>`,
			now:    `<li><a href="4">x</a><li><a href="1">x</a><li><a href="2">x</a><li><a href="3">x</a>`,
			want:   []uint32{4},
		},
		{
			name:   "one that fell back",
			before: `<li><a href="1">x</a><li><a href="2">x</a><li><a href="3">x</a><li><a href="4">x</a>`,
			now:    `<li><a href="2">x</a><li><a href="3">x</a><li><a href="4">x</a><li><a href="1">x</a>`,
		},
		{
			name:   "one that was not named",
			before: `<li><a href="1">x</a><li><a href="2">y</a>`,
			now:    `<li><a href="8">z</a><li><a href="1">x</a>`,
			want:   []uint32{8},
		},
		{
			name:   "one of two rows about a page that leaves the list",
			before: `<li>2 May <a href="1">x</a><li>1 May <a href="1">x</a><li>1 May <a href="2">y</a>`,
			now:    `<li>2 May <a href="1">x</a><li>1 May <a href="2">y</a>`,
		},
		{
			name:   "an entry of a feed",
			before: `<feed><entry><link href="1"/><updated>1</updated><p>s</p></entry><entry><link href="2"/></entry>`,
			now:    `<feed><entry><link href="1"/><updated>2</updated><p>s</p></entry><entry><link href="2"/></entry>`,
			feed:   true,
			want:   []uint32{1},
		},
		{
			name:   "an item of a feed that names its page as text",
			before: `<channel><item><link>1</link><pubDate>1</pubDate></item><item><link>2</link></item></channel>`,
			now:    `<channel><item><link>1</link><pubDate>2</pubDate></item><item><link>2</link></item></channel>`,
			feed:   true,
			want:   []uint32{1},
		},
	} {
		if got := News(said(c.before, c.feed), said(c.now, c.feed)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if got := News(said(c.now, c.feed), said(c.now, c.feed)); len(got) > 0 {
			t.Errorf("%s: the same document says %v again", c.name, got)
		}
	}
}

func TestOnlyAged(t *testing.T) {
	const head = `<feed><updated>1 May</updated>`
	const a = `<entry><title>a</title><date>1 May</date></entry>`
	const b = `<entry><title>b</title><date>2 May</date></entry>`
	for _, c := range []struct {
		name, before, now string
		want              bool
	}{
		{"the last entry left, the head has the time", head + b + a, `<feed><updated>9 May</updated>` + b, true},
		{"an entry comes from a cache", head + a,
			head + strings.Replace(a, "May<", "May\n&lt;!-- x --&gt;<", 1), true},
		{"an entry has another link", head + b, head + strings.Replace(b, "<title>", `<link href="c"/>`, 1), false},
		{"all entries left", head + b + a, head, true},
		{"entries in another order", head + b + a, head + a + b, false},
		{"the first entry left: it was deleted", head + b + a, head + a, false},
		{"an entry is new", head + a, head + b + a, false},
		{"a new entry, and an old one left", head + a, head + b, false},
		{"an entry has a newer date", head + a, head + strings.Replace(a, "1 May", "3 May", 1), false},
	} {
		if got := OnlyAged([]byte(c.before), []byte(c.now)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Any bytes may stand in a document, and references anywhere in it.
func TestSayingsOfAnything(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 9))
	parts := []string{
		"<li>", "<p", "<", ">", "</", "<script>", "</script", "text ", "<entry>", "<a href=\"1\">",
		"\x00", "é",
	}
	for range 3000 {
		var b []byte
		for range rnd.IntN(30) {
			b = append(b, parts[rnd.IntN(len(parts))]...)
		}
		var all []Mention
		for at := 0; at < len(b); at += 1 + rnd.IntN(20) {
			all = append(all, Mention{At: int32(at), ID: uint32(at % 5)})
		}
		feed := rnd.IntN(2) == 0
		s := Sayings(b, feed, all)
		if len(s) > 5 || (len(all) > 0 && len(s) == 0) {
			t.Fatalf("%q: %d URLs of %d mentions", b, len(s), len(all))
		}
		if got := News(s, Sayings(b, feed, all)); len(got) > 0 {
			t.Fatalf("%q: the same document says %v again", b, got)
		}
	}
}
