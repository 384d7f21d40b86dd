// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func page(middle, foot string) string {
	return "<!DOCTYPE html>\n<html><head><title>Title</title></head>\n<body>\n<h1>Heading</h1>\n" + middle +
		"\n<hr>\n" + foot + "\n</body></html>\n"
}

func TestWhatAlwaysChanges(t *testing.T) {
	for name, c := range map[string][2]string{
		"clock":     {"<p>It is 12:30:05</p>", "<p>It is 9:31:00</p>"},
		"ISO":       {"Generated 2026-11-20T12:30:05Z", "Generated 2026-11-21T01:02:03Z"},
		"RFC 1123":  {"<i>Fri, 20 Nov 2026 07:31:36 GMT</i>", "<i>Sat, 21 Nov 2026 07:31:40 GMT</i>"},
		"words":     {"Today is Friday, November 20th, 2026.", "Today is Sunday, December 2nd, 2026."},
		"German":    {"Stand: 20. November 2026, 12:00 Uhr", "Stand: 1. Dezember 2026, 13:10 Uhr"},
		"slashes":   {"as of 11/20/2026 3:04 pm", "as of 1/2/2027 4:05 am"},
		"unix":      {"<script>var t = 1763624096;</script>", "<script>var t = 1763624199;</script>"},
		"counter":   {"<p>Visitors: <b>1234</b></p>", "<p>Visitors: <b>1240</b></p>"},
		"thousands": {"You are visitor number 12,999", "You are visitor number 13,001"},
		"timing": {"<!-- rendered --> Page generated in 0.034 seconds with 12 queries",
			"<!-- rendered --> Page generated in 1.2 seconds with 9 queries"},
		"comment": {"<!-- cache a8f3, 123456789 -->", "<!-- cache a8f3, 7654321 -->"},
		"hidden": {`<input type="hidden" name="csrf_token" value="Abc9DefG1hiJklmn0">`,
			`<input type="hidden" name="csrf_token" value="Zyx1WvutS2rqPonm3">`},
		"nonce": {`<script nonce="3f2a9c1d77">x()</script>`, `<script nonce="00aa9c1d12">x()</script>`},
		"UUID": {`<meta name="session-id" content="123e4567-e89b-12d3-a456-426614174000">`,
			`<meta name="session-id" content="00000000-e89b-12d3-a456-4266aaaaaaaa">`},
		"base64": {`<meta name="csrf-token" content="aB3/+xYz09QwErTy==">`,
			`<meta name="csrf-token" content="zB4-+xYz11QwErTy==">`},
		"server":    {"<p>Generated in 0.03 s by web02</p>", "<p>Generated in 0.12 s by web11</p>"},
		"served by": {"<i>Served by node3.</i>", "<i>Served by node1.</i>"},
		"parsed by": {"<!-- Parsed by mw1423 -->", "<!-- Parsed by mw99 -->"},
		"MediaWiki": {`<script>RLQ.push(function(){mw.config.set({"wgBackendResponseTime":141});});</script>`,
			`<script>RLQ.push(function(){mw.config.set({"wgBackendResponseTime":96});});</script>`},
		"two segments": {"12:00\n<!-- 1 -->", "13:00\n<!-- 2 -->"},
	} {
		old, now := page("text", c[0]), page("text", c[1])
		d, ok := Compare([]byte(old), []byte(now), Times{})
		if !ok || len(d.Templates) == 0 || len(d.Examples) == 0 {
			t.Errorf("%s: reported as a change", name)
			continue
		}
		rule := Rule{}.Changed(d).Changed(d)
		if !rule.Covers(d) {
			t.Errorf("%s: %+v does not cover %+v", name, rule, d)
		}
		if got := rule.Find([]byte(now)); len(got) == 0 {
			t.Errorf("%s: the rule is found nowhere in the page", name)
		}
		for _, other := range []string{page("other text", c[1]), page("text", c[1]+" more"), page("text", "")} {
			if d, ok := Compare([]byte(old), []byte(other), Times{}); ok {
				t.Errorf("%s: a change of the page is not seen: %+v\n%s", name, d, other)
			}
		}
	}
}

func TestWhatIsAChange(t *testing.T) {
	for name, c := range map[string][2]string{
		"same":         {"x", "x"},
		"word":         {"<p>old text</p>", "<p>new text</p>"},
		"version":      {"<p>Latest release: 4.19.3</p>", "<p>Latest release: 4.19.4</p>"},
		"long version": {"<p>Latest release: 4.19.24</p>", "<p>Latest release: 4.20.24</p>"},
		"price":        {"<td>12.50 EUR</td>", "<td>13.50 EUR</td>"},
		"comments":     {"<p>3 comments</p>", "<p>4 comments</p>"},
		"name":         {"<p>Now with Foo2</p>", "<p>Now with Foo3</p>"},
		"candidate":    {"<p>Version rc1, 3 May 2026</p>", "<p>Version rc2, 9 May 2026</p>"},
		"other name":   {"<p>Generated in 0.03 s by web02</p>", "<p>Generated in 0.12 s by db02</p>"},
		"year":         {"<p>Copyright 2025</p>", "<p>Copyright 2026</p>"},
		"dated link":   {`<a href="news-2026-11-20.html">news</a>`, `<a href="news-2026-11-21.html">news</a>`},
		"image":        {`<img src="graph.png?t=1763624096">`, `<img src="graph.png?t=1763624199">`},
		"lazy image":   {`<img data-src="a-12:30.png">`, `<img data-src="a-12:31.png">`},
		"refresh": {`<meta http-equiv=refresh content="5;url=a-2026-11-20">`,
			`<meta http-equiv=refresh content="5;url=a-2026-11-21">`},
		"address in text": {"<link>http://x/2026-11-20</link>", "<link>http://x/2026-11-21</link>"},
		"style":           {`<p style="width:12px">`, `<p style="width:13px">`},
		"checksum":        {"<td>3f2a9c1d77</td>", "<td>00aa9c1d12</td>"},
		"new element":     {"<p>12:00</p>", "<p>12:00</p><p>12:01</p>"},
		"counter gone":    {"<p>Visitors: 12</p>", "<p>Visitors: none</p>"},
		"other words":     {"<p>Meeting on 20 Nov 2026 in Berlin</p>", "<p>Meeting on 21 Nov 2026 in Bonn</p>"},
		"timetable": {strings.Join([]string{"<td>12:00", "<td>12:10", "<td>12:20", "<td>12:30", "<td>12:40",
			"<td>12:50", "<td>13:00", "<td>13:10", "<td>13:20"}, "\n"),
			strings.Join([]string{"<td>12:01", "<td>12:11", "<td>12:21", "<td>12:31", "<td>12:41", "<td>12:51",
				"<td>13:01", "<td>13:11", "<td>13:21"}, "\n")},
	} {
		for range 2 {
			if d, ok := Compare([]byte(page(c[0], "foot")), []byte(page(c[1], "foot")), Times{}); ok {
				t.Errorf("%s: reported as no change: %+v", name, d)
			}
			c[0], c[1] = c[1], c[0]
		}
	}
}

// at is the difference between two pages whose footers have other times.
func difference(t *testing.T, old, now string) BodyDifference {
	t.Helper()
	d, ok := Compare([]byte(old), []byte(now), Times{})
	if !ok {
		t.Fatalf("%q and %q differ in more", old, now)
	}
	return d
}

func TestRuleNeedsTwoChangesInARow(t *testing.T) {
	time := difference(t, page("x", "at 12:00"), page("x", "at 12:01"))
	both := difference(t, page("x", "at 12:00 <p>Visitors: 1"), page("x", "at 12:01 <p>Visitors: 2"))
	count := difference(t, page("x", "at 12:00 <p>Visitors: 1"), page("x", "at 12:00 <p>Visitors: 2"))
	once := Rule{}.Changed(time)
	if once.Covers(time) || once.Holds() {
		t.Error("one change makes a rule")
	}
	if once.Same() != (Rule{}) {
		t.Error("what was the same once, or changed in another way, does not always change")
	}
	rule := once.Changed(time)
	if !rule.Covers(time) || rule.Covers(count) || rule.Covers(BodyDifference{}) {
		t.Errorf("%+v", rule)
	}
	if rule.Same() != rule {
		t.Error("a rule goes with a change of the page")
	}
	if r := (Rule{}).Changed(both).Changed(count); !r.Covers(count) || r.Covers(both) {
		t.Errorf("a rule covers what both changes had in common: %+v", r)
	}
	if r := rule.Changed(count); r.Holds() || !r.Changed(count).Covers(count) {
		t.Errorf("another segment is learned again: %+v", r)
	}
}

func TestRuleLetsAPageThroughInTheEnd(t *testing.T) {
	d := difference(t, page("x", "at 12:00"), page("x", "at 12:01"))
	rule := Rule{}.Changed(d).Changed(d)
	held := 0
	for range 100 {
		if rule.Covers(d) {
			held++
			rule = rule.Kept()
			continue
		}
		rule = rule.Changed(d)
		if !rule.Covers(d) {
			t.Fatal("the rule is lost when it lets a page through")
		}
	}
	if held != 94 { // 6 of 100 come through
		t.Errorf("%d of 100 answers were held back", held)
	}
}

// A change of any word, or of any number that nothing calls volatile, is never hidden, wherever volatile
// parts stand.
func TestNoChangeOfTextIsHidden(t *testing.T) {
	stamps := []string{"12:%02d:00", "2026-11-%02d", "%d Nov 2026", "Visitors: %d", "generated in 0.0%d seconds",
		`<input name=csrf value="%d">`, "<!-- %d -->"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "lines")
		change := rapid.IntRange(0, n-1).Draw(t, "changed line")
		var old, now strings.Builder
		for i := range n {
			word := rapid.StringMatching(`[g-lo-z]{3,8}( [g-lo-z]{3,8}){0,3}`).Draw(t, "text")
			other := word
			if i == change {
				other = rapid.StringMatching(`[g-lo-z]{3,8}( [g-lo-z]{3,8}){0,3}`).Filter(func(s string) bool {
					return s != word
				}).Draw(t, "other text")
			}
			f := ""
			if rapid.Bool().Draw(t, "stamped") {
				f = rapid.SampledFrom(stamps).Draw(t, "stamp")
			}
			line := func(word string, v int) string {
				if f == "" {
					return "<p>" + word + "</p>\n"
				}
				return "<p>" + word + " " + fmt.Sprintf(f, v) + "</p>\n"
			}
			old.WriteString(line(word, rapid.IntRange(10, 30).Draw(t, "before")))
			now.WriteString(line(other, rapid.IntRange(10, 30).Draw(t, "after")))
		}
		if d, ok := Compare([]byte(old.String()), []byte(now.String()), Times{}); ok {
			t.Fatalf("hidden: %+v\n%s\n%s", d, old.String(), now.String())
		}
	})
}

// saysAge reports whether a document may say how long ago something was.
func saysAge(doc []byte) bool {
	for i := range doc {
		if w, _ := wordAt(doc, i); units[w] > 0 || units[strings.TrimSuffix(w, "前")] > 0 {
			return true
		}
	}
	return false
}

func FuzzCompare(f *testing.F) {
	f.Add([]byte(page("a", "at 12:00")), []byte(page("a", "at 13:00")))
	f.Add([]byte("<a =<b ='\x01 20th Nov"), []byte("<!-- x"))
	f.Add([]byte("<p title=12:00 2026-1-1T1:1Z>"), []byte("<p title=12:01 2026-1-1T1:1Z>"))
	f.Add([]byte("<p>an hour ago <p>vor 3 Tagen"), []byte("<p>2 hours ago <p>vor 4 Tagen"))
	f.Add([]byte(`<a data-cfemail="5431">`), []byte(`<a data-cfemail="6500">`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d, ok := Compare(a, b, Times{})
		back, okBack := Compare(b, a, Times{})
		if ok != okBack && !saysAge(a) && !saysAge(b) { // what grows one way is younger the other way
			t.Fatalf("%v one way, %v the other", ok, okBack)
		}
		if _, same := Compare(a, a, Times{}); same {
			t.Fatal("a body differs from itself")
		}
		if !ok || !okBack {
			return
		}
		if len(d.Examples) == 0 || len(d.Templates) > MaxTemplates ||
			fmt.Sprint(d.Templates) != fmt.Sprint(back.Templates) {
			t.Fatalf("%+v, %+v", d, back)
		}
		if len(d.Templates) == 0 {
			return
		}
		rule := Rule{}.Changed(d).Changed(d)
		if !rule.Covers(d) {
			t.Fatalf("%+v does not cover %+v", rule, d)
		}
		rule.Find(b)
	})
}

func BenchmarkCompare(b *testing.B) {
	var s strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&s, "<p class=\"x\">Line %d of some <b>text</b> with a <a href=\"/p%d.html\">link</a></p>\n", i,
			i)
	}
	old, now := []byte(page(s.String(), "at 12:00")), []byte(page(s.String(), "at 12:01"))
	b.SetBytes(int64(len(old)))
	for b.Loop() {
		if _, ok := Compare(old, now, Times{}); !ok {
			b.Fatal("reported as a change")
		}
	}
}

func TestTellTime(t *testing.T) {
	for _, c := range []struct {
		old, now string
		later    time.Duration
		want     bool
	}{
		{"28.11.2026", "29.11.2026", 24 * time.Hour, true},
		{"29.11.2026", "30.11.2026", 24 * time.Hour, true}, // in New Zealand
		{"28.11.2026", "1.12.2026", 24 * time.Hour, false},
		{"27.11.2026", "28.11.2026", 48 * time.Hour, false},
		{"12:00:01", "12:30:01", 30 * time.Minute, false}, // after it came
		{"20:59:59", "21:29:58", 30 * time.Minute, true},
		{"Saturday", "Sunday", 24 * time.Hour, true},
		{"Saturday", "Monday", 23 * time.Hour, false},
		{"28th", "1st", 3 * 24 * time.Hour, true},
		{"11-28-2026", "12-01-2026", 3 * 24 * time.Hour, true},
		{"28-11-2026", "01-12-2026", 3 * 24 * time.Hour, true},
		{"07:00", "07:05", 5 * time.Minute, true}, // 12-hour clocks have two digits, too
		{"07:00", "07:15", 5 * time.Minute, false},
		{"1795867200", "1795953600", 24 * time.Hour, true},
		{"1795867200", "1795953600", 48 * time.Hour, false},
	} {
		at := Times{Old: noon, New: noon.Add(c.later)}
		if got := tellTime([]byte(c.old), []byte(c.now), &at); got != c.want {
			t.Errorf("%s and %v later %s: %v", c.old, c.later, c.now, got)
		}
	}
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// A timing that says not that it is the page's own needs a rule.
func TestTimingsOfOtherThings(t *testing.T) {
	for _, c := range [][2]string{
		{"<p>The video was rendered in 12 s", "<p>The video was rendered in 8 s"},
		{"<p>Page made. The race took 12 s", "<p>Page made. The race took 13 s"},
		{"<p>Page was made in 2026.<br>\nRuns took 12 s", "<p>Page was made in 2026.<br>\nRuns took 13 s"},
	} {
		if d, ok := Compare([]byte(c[0]), []byte(c[1]), Times{Old: noon, New: noon}); !ok || len(d.Templates) != 1 {
			t.Errorf("%q: %v, %+v", c, ok, d)
		}
	}
}

// What says the same in another way needs no rule, however much of it there is.
func TestSaysTheSame(t *testing.T) {
	const email = `<a href="/cdn-cgi/l/email-protection" class="__cf_email__" data-cfemail="%s">[email&#160;protected]</a>` +
		`<a href="/cdn-cgi/l/email-protection#%[1]s">mail</a>`
	hidden := func(key byte, address string) string {
		b := append([]byte{key}, address...)
		for i := range b[1:] {
			b[i+1] ^= key
		}
		return fmt.Sprintf(email, hex.EncodeToString(b))
	}
	const week = 8*24*time.Hour + 67*time.Minute
	since := func(id, at string) string { // a link of a list of changes, whose id may be masked
		return fmt.Sprintf(`<a href="/new?id=%s&amp;at=%s+2026" title="New">new</a>`, id, at)
	}
	for _, c := range []struct {
		old, now string
		later    time.Duration
		want     bool
	}{
		{"<p>updated 3 days ago", "<p>updated 4 days ago", 24 * time.Hour, true},
		{"<p>vor 1 Tag", "<p>vor 8 Tagen", 7 * 24 * time.Hour, true},
		{"<p>59 minutes ago", "<p>an hour ago", time.Minute, true},
		{"<p>23h ago.", "<p>1 day ago.", time.Hour, true},
		{"<p>il y a 5 minutes", "<p>il y a 6 minutes", time.Minute, true},
		{"<p>hace un día", "<p>hace 2 días", 24 * time.Hour, true},
		{"<p>2&nbsp;weeks ago", "<p>1&nbsp;month ago", 14 * 24 * time.Hour, true},
		{"<p>2\u00a0weeks ago", "<p>3\u00a0weeks ago", 24 * time.Hour, true},
		{`<time title="3 days ago">x`, `<time title="4 days ago">x`, 24 * time.Hour, true},
		{strings.Repeat("<p>3 days ago\n", 50), strings.Repeat("<p>4 days ago\n", 50), 24 * time.Hour, true},
		{"<p>updated 3 days ago", "<p>updated 2 days ago", 24 * time.Hour, false},
		{"<p>This page was generated in about\n0.002s", "<p>This page was generated in about\n0.003s", 0, true},
		{"<p>Page made in 0.9 s (7 queries in 6 ms)", "<p>Page made in 1 s (7 queries in 7 ms)", 0, true},
		{"<p>Page created in 12 ms", "<p>Page created in 8 ms", 0, true},
		{"<p>Page created in 2012", "<p>Page created in 2013", 0, false},
		{"<p>updated 3 days ago", "<p>updated 4 days ago", 7 * 24 * time.Hour, false},
		{"<p>updated 5 minutes ago", "<p>updated 7 minutes ago", 24 * time.Hour, false},
		{"<p>updated 3 days ago", "<p>updated 4 days ago", 0, true},
		{"<p>updated 3 days ago", "<p>updated 5 days ago", 0, false},
		{"<p>3 days ago, 12 files", "<p>4 days ago, 13 files", 24 * time.Hour, false},
		{"<p>3 days ago by Ann", "<p>4 days ago by Bob", 24 * time.Hour, false},
		{"<td> right now</td>", "<td>3 sec ago</td>", 4 * time.Second, true},
		{"<p>updated now</p>", "<p>updated 24 seconds ago</p>", 24 * time.Second, true},
		{"<p>updated now</p>", "<p>updated 2 hours ago</p>", 24 * time.Second, false},
		{"<p>now open</p>", "<p>3 days ago open</p>", 72 * time.Hour, false},
		{"<td>current</td>", "<td>22 seconds</td>", 20 * time.Second, true},
		{"<td>\n22 seconds\n</td>", "<td>\n7.0 days\n</td>", 7 * 24 * time.Hour, true},
		{"<td>less than a minute ago</td>", "<td>about 3 hours ago</td>", 3 * time.Hour, true},
		{"<p>2 days, 3 hours ago", "<p>2 days and 9 hours ago", 6 * time.Hour, true},
		{"<p>3 giorni fa", "<p>4 giorni fa", 24 * time.Hour, true},
		{"<p>3日前", "<p>1 週間前", 4 * 24 * time.Hour, true},
		{"<p>5 минут назад", "<p>2 часа назад", 2 * time.Hour, true},
		{`<td title="3 hours">x`, `<td title="1 day">x`, 24 * time.Hour, true},
		{"<td>1 year</td>", "<td>2 years</td>", 7 * 24 * time.Hour, false}, // a term
		{"<td>3 days</td>", "<td>5 days</td>", 7 * 24 * time.Hour, false},
		{"<td>current</td>", "<td>22 seconds</td>", 7 * 24 * time.Hour, false},
		{"<p>the current issue", "<p>the 3 minutes issue", 3 * time.Minute, false},
		{"<p>It is Saturday, 28 November 2026", "<p>It is Sunday, 6th December 2026", 8 * 24 * time.Hour, true},
		{"<p>at 2026-11-28 10:00:00", "<p>at 2026-11-28 11:07:01", 67*time.Minute + time.Second, true},
		{"<script>t = 1795867200", "<script>t = 1795870800", time.Hour, true},
		{"<p>in 3 days", "<p>in 4 days", 24 * time.Hour, false},
		{"<p>3 days of rain", "<p>4 days of rain", 24 * time.Hour, false},
		{"<p>bevor 3 Tagen", "<p>bevor 4 Tagen", 24 * time.Hour, false},
		{"<p>3 daysagone", "<p>4 daysagone", 24 * time.Hour, false},
		{`<a href="3 days ago">x</a>`, `<a href="4 days ago">x</a>`, 24 * time.Hour, false},
		{since("\x02\x01", "10%3A00%2C+28+November"), since("\x02\x01", "11%3A07%2C+6+December"), week, true},
		{since("\x02\x01", "10:00, 28 November"), since("\x02\x01", "11:07, 6 December"), week, true},
		{since("\x02\x01", "10%3A00%2C+28+November"), since("\x02\x01", "11%3A20%2C+6+December"), week, false},
		{since("\x02\x01", "10%3A00%2C+28+November"), since("\x02\x01", "10%3A00%2C+28+Novembre"), 0, false},
		{since("", "10%3A00%2C+28+November"), since("", "11%3A07%2C+6+December"), week, false}, // another link
		{hidden(0x54, "ann@example.org"), hidden(0xa3, "ann@example.org"), 0, true},
		{hidden(0x54, "ann@example.org"), hidden(0xa3, "bob@example.org"), 0, false},
		{hidden(0x54, "ann@example.org") + "<p>old", hidden(0xa3, "ann@example.org") + "<p>new", 0, false},
		{`<a data-cfemail="5431">`, `<a data-cfemail="5">`, 0, false},
		{"<p>a\n<p>b", "<p>a\n<!-- t -->\n<img src=\"/t\" width=\"1\" height=\"1\">\n<!-- /t -->\n<p>b", 0, true},
		{"<p>a<p>b", "<p>a<img src='/cron.php?8' height=1 width=1 alt=''><p>b", 0, true},
		{"<p>a<p>b", "<p>a<img src=/line.png height=1 width=100><p>b", 0, false},
		{"<p>a<p>b", "<p>a<img src=/a.png height=10 width=10><p>b", 0, false},
		{"<p>a<p>b", "<p>a<img src=/p.png height=1 width=1>c<p>b", 0, false},
	} {
		at := Times{Old: noon, New: noon.Add(c.later)}
		d, ok := Compare([]byte(page(c.old, "foot")), []byte(page(c.now, "foot")), at)
		if ok != c.want || len(d.Templates) > 0 || (ok && len(d.Examples) == 0) {
			t.Errorf("%q and %v later %q: %v, %+v", c.old, c.later, c.now, ok, d)
		}
	}
}
