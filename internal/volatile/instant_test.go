// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// As time passes a program names one moment in other words.
func TestOneMomentInOtherWords(t *testing.T) {
	const days = 24 * time.Hour
	for _, c := range []struct {
		old, now string
		later    time.Duration
		want     bool
	}{
		{"<td>13 days</td>", "<td>2026-11-15</td>", 7 * days, true},
		{"<td>13 days</td>", "<td>2026-11-05</td>", 7 * days, false},
		{"<i>13 days ago</i>", "<i>Nov 15, 2026</i>", 7 * days, true},
		{`<td title="2026-11-15"><i>13 days ago</i>`, `<td title="2 weeks ago"><i>2026-11-15</i>`, 2 * days, true},
		{`<span class='age-mins' title='x'>0 min.</span>`, `<span class='age-days' title='x'>7 days</span>`, 7 * days, true},
		{`<span class='age-days' title='x'>7 days</span>`, `<span title='x'>2026-11-21</span>`, 7 * days, true},
		{`<span class='age-days' title='x'>7 days</span>`, `<span title='y'>2026-11-21</span>`, 7 * days, false},
		{`<i class='mins' title='2026-11-28'>0 min.</i>`, `<i class='weeks' title='2026-11-28'>3 weeks</i>`, 21 * days, true},
		{`<time datetime="2026-08-20">3 months</time>`, `<time datetime="2026-08-20">4 months</time>`, 21 * days, true},
		{`<time datetime="2026-08-20">3 months</time>`, `<time datetime="2026-08-20">6 months</time>`, 21 * days, false},
		{`<i title='Term'>3 months</i>`, `<i title='Term'>4 months</i>`, 21 * days, false},
		{`<p>Added <a href="/w">about 2 months</a> ago`, `<p>Added <a href="/w">3 months</a> ago`, 28 * days, true},
		{`<p>Added <a href="/w">about 1 year</a> ago`, `<p>Added <a href="/w">over 1 year</a> ago`, 90 * days, true},
		{`<p>Vor <a href="/w">2 Monaten</a> von Ada`, `<p>Vor <a href="/w">3 Monaten</a> von Ada`, 28 * days, true},
		{`<p>Added <a href="/w">9 months</a> ago`, `<p>Added <a href="/w">3 months</a> ago`, 28 * days, false},
		{`<p>Due in <a href="/w">2 months</a> or so`, `<p>Due in <a href="/w">3 months</a> or so`, 28 * days, false},
		{`<b class='open'>7 days ago</b>`, `<b class='shut'>7 days ago</b>`, 0, false},
		{`<b class='open'>`, `<b class='shut'>`, 0, false},
		{"<p>by Bob » Today, 10:15", "<p>by Bob » Yesterday, 10:15", days, true},
		{"<p>by Bob » Yesterday, 10:15", "<p>by Bob » Fri Nov 27, 2026 10:15", days, true},
		{"<p>Today at 9:05 pm", "<p>28 Nov 2026, 21:05", 3 * days, true},
		{"<p>Heute, 10:15 Uhr", "<p>Gestern, 10:15 Uhr", days, true},
		{"<p>Сегодня, 10:15", "<p>Вчера, 10:15", days, true},
		{"<p>Today, 10:15", "<p>Yesterday, 10:16", days, false},
		{"<p>Today, 10:15", "<p>Today, 11:30", time.Hour, false},
		{"<p>by Bob » Today, 10:15", "<p>by Ann » Yesterday, 10:15", days, false},
		{"<p>Today, 10:15", "<p>Yesterday, 10:15", 5 * days, false},
		{"<p>Today we sail", "<p>Yesterday we sail", days, false},
		{`<a href="today">x`, `<a href="yesterday">x`, days, false},
		{"<td>2026-11-15</td>", "<td>2026-11-16</td>", days, false},
		{"<p>in 3 days", "<p>in 2026-11-25", days, false},
	} {
		at := Times{Old: noon, New: noon.Add(c.later)}
		d, ok := Compare([]byte(page(c.old, "foot")), []byte(page(c.now, "foot")), at)
		if same := ok && len(d.Templates) == 0; same != c.want {
			t.Errorf("%q and %v later %q: %v, %+v", c.old, c.later, c.now, ok, d)
		}
	}
}

// An address may hold a time that is as far from now as ever. The beginning of a day is a date.
func TestTimesAlong(t *testing.T) {
	link := func(format string, at time.Time) string {
		return fmt.Sprintf(`<a href="/feed?`+format+`">older</a>`, at.Unix()-86399, at.Unix())
	}
	later := Times{Old: noon.Add(17 * time.Second), New: noon.Add(7*24*time.Hour + 29*time.Second)}
	for name, c := range map[string]struct {
		format string
		shift  time.Duration
		want   bool
	}{
		"a span":              {"from=%d;upto=%d", 0, true},
		"milliseconds":        {"from=%d000&upto=%d123", 0, true},
		"a second of work":    {"from=%d&upto=%d", time.Second, true},
		"another span":        {"from=%d&upto=%d", time.Minute, false},
		"no time":             {"from=9%d&upto=9%d", 0, false},
		"a part of a name":    {"from=a%d&upto=a%d", 0, false},
		"shown with its link": {"from=%d&upto=%d\">since %[1]d</a><a href=\"", 0, false},
	} {
		old, now := link(c.format, later.Old), link(c.format, later.New.Add(c.shift))
		d, ok := Compare([]byte(page(old, "foot")), []byte(page(now, "foot")), later)
		if same := ok && len(d.Templates) == 0; same != c.want {
			t.Errorf("%s: %v, %+v", name, ok, d)
		}
	}
	week := func(at time.Time) []byte { return []byte(page(fmt.Sprintf(`<a href="/week/%d">`, at.Unix()), "foot")) }
	asked := Times{Old: noon, New: noon.Add(7 * 24 * time.Hour)}
	if d, ok := Compare(week(noon.Add(-time.Hour)), week(noon.Add(7*24*time.Hour-time.Hour)), asked); ok {
		t.Errorf("the week: %+v", d)
	}
}

// An address with noise may say the time of its answer; nothing else of it varies.
func TestTimesInAddresses(t *testing.T) {
	at := Times{Old: noon, New: noon.Add(49*time.Hour + 7*time.Minute)}
	link := func(from, when, title string, at time.Time) string {
		escaped := strings.NewReplacer(":", "%3A", ",", "%2C", " ", "+").Replace(at.Format(when))
		return `<a href="/w?from=` + from + "&amp;when=" + escaped + `" title="` + title + `">`
	}
	noise := string([]byte{mark, byte(Number)})
	for _, when := range []string{
		"15:04, 2 January 2006", "2006-01-02 15:04", "2006-01-02T15:04:05", "20060102150405",
	} {
		for name, c := range map[string]struct {
			from, now, title string
			late             time.Duration
			want             bool
		}{
			"of the answer": {noise, noise, "List", 0, true},
			"of no answer":  {noise, noise, "List", time.Hour, false},
			"no noise":      {"12", "12", "List", 0, false},
			"another word":  {noise, noise, "Page", 0, false},
			"another link":  {noise, noise + "&amp;page=2", "List", 0, false},
		} {
			old := page(link(c.from, when, "List", at.Old), "foot")
			now := page(link(c.now, when, c.title, at.New.Add(c.late)), "foot")
			if d, ok := Compare([]byte(old), []byte(now), at); (ok && len(d.Templates) == 0) != c.want {
				t.Errorf("%s, %s: %v, %+v", when, name, ok, d)
			}
		}
	}
}

// Members of a script that time the answer are timings, in answers of one moment and in those of two runs;
// others that look the same are no noise.
func TestTimingsOfScripts(t *testing.T) {
	for name, want := range map[string]bool{"cputime": true, "walltime": true, "cpu": false, "price": false} {
		fill := func(value string) []byte {
			return []byte(page("text", `<script>set({"limitreport":{"`+name+`":"`+value+`","nodes":7}})</script>`))
		}
		old, now := fill("0.002"), fill("0.013")
		if _, ok := Compare(old, now, Times{}); ok != want {
			t.Errorf("%s of two runs: %v", name, ok)
		}
		found, ok := Apart(old, now, nil)
		if !ok || len(found) != 1 || found[0].Counted != want {
			t.Errorf("%s of one moment: %v, %+v", name, ok, found)
		}
	}
}

// What a profile names is masked, as often as it occurs, and nothing else.
func TestBetweenTwoTexts(t *testing.T) {
	at, what := Between("NewPP limit report", "-->")
	k := Positions{at: what}
	fill := func(text, report string) []byte {
		report = "<!-- NewPP limit report" + report + "-->"
		return []byte(page(text, report+" foot "+report))
	}
	was := fill("text", "\nCached time: 20261128\n100.00% 0.1 1 -total")
	a, _, same := k.Same(was, fill("text", "\nCached time: 20261129\n 60.00% 0.2 1 Template:Foot"))
	if !same || len(a.Hits) != 2 || a.Hits[0].Where != "NewPP limit report#-->" {
		t.Errorf("%v, %+v", same, a.Hits)
	}
	for _, now := range [][]byte{
		fill("other", "\nCached time: 20261129"),
		[]byte(page("text", "<!-- NewPP limit report")),
		bytes.Replace(was, []byte(" foot "), []byte(" fees "), 1),
	} {
		if _, _, same := k.Same(was, now); same {
			t.Errorf("hidden: %s", now)
		}
	}
}

// Two pages that say the same at different moments say the same without ages; another word shows.
func TestPlain(t *testing.T) {
	page := func(age, word string) []byte {
		return fmt.Appendf(nil, `<p class="author">Added by <a href="/u/1">Ada</a> <a href="/when">%[1]s</a> ago. %[2]s</p>
<p>Updated %[1]s ago.</p>`, age, word)
	}
	var none Positions
	first := string(none.Plain(page("less than a minute", "harbour")))
	for _, age := range []string{"1 minute", "44 minutes", "about 1 hour", "3 days", "about 2 months"} {
		if is := string(none.Plain(page(age, "harbour"))); is != first {
			t.Errorf("%s: %q, want %q", age, is, first)
		}
	}
	if string(none.Plain(page("3 days", "lamp"))) == first {
		t.Error("another word does not show")
	}
}
