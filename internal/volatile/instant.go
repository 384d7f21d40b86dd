// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Programs name one moment in other words as time passes: "3 days ago", then "2026-11-14"; "Today, 10:15",
// then "Yesterday, 10:15", then "Nov 28, 2026, 10:15". Two texts of which one says how long ago something was
// name one moment when the days that they may mean meet, and the times of day are the same where both have
// one.

// instant is what a text names: days, the first and the last one that it may mean, and a time of day.
type instant struct {
	first, last time.Time
	clock       string // "15:04", "" for none
	relative    bool   // to when it is read
	sure        bool   // also among other words
	age         age
}

// The zone of a text may be as far as this from UTC.
const west, east = -12 * time.Hour, 14 * time.Hour

// sameInstant reports whether two texts that came at two times name one moment, in other words, and say the
// same beside that. dated says that tags before them show the date: then "3 months" is no term.
func sameInstant(old, now []byte, at *Times, dated bool) bool {
	a, b, before, after := apart(old, now)
	among := len(before) > 0 && wordByte(before[len(before)-1])
	x, ok := instantOf(slices.Concat(a, after), at.Old, dated)
	y, also := instantOf(slices.Concat(b, after), at.New, dated)
	if !ok || !also {
		among = true
		x, ok = instantOf(a, at.Old, dated)
		y, also = instantOf(b, at.New, dated)
	}
	if x.age.unit > 0 && y.age.unit > 0 && !x.age.sameMoment(y.age, at.New.Sub(at.Old)) {
		return false
	}
	return ok && also && (x.relative || y.relative) && (!among || (x.sure && y.sure)) &&
		(x.clock == y.clock || x.clock == "" || y.clock == "") && !x.first.After(y.last) && !y.first.After(x.last)
}

// apart returns what differs in two texts, in whole words, and what both begin and end with.
func apart(a, b []byte) (x, y, before, after []byte) {
	edge := func(c byte) bool { return !wordByte(c) && strings.IndexByte(".:-/+", c) < 0 }
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	for i > 0 && !edge(a[i-1]) {
		i--
	}
	before, a, b = bytes.TrimRight(a[:i], " "), a[i:], b[i:]
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !edge(a[len(a)-n]) {
		n--
	}
	return a[:len(a)-n], b[:len(b)-n], before, a[len(a)-n:]
}

// untold says that nothing beside a text tells that it is an age.
func untold() bool { return false }

// instantOf returns what all of a text names that came at a time.
func instantOf(text []byte, at time.Time, dated bool) (x instant, ok bool) {
	text = bytes.Trim(text, " \t\r\n.,·•»|()–—<>\"'/")
	if len(text) == 0 || len(text) > longestInstant {
		return x, false
	}
	a, from, end := ageAt(text, 0, untold)
	if dated && end == 0 {
		a, end, _ = sumAt(text, 0)
	}
	if end == len(text) && from == 0 {
		m := at.UTC().Add(-a.long)
		x.first, x.last, x.relative, x.age = day(m.Add(west-a.unit)), day(m.Add(east+a.unit)), true, a
		_, _, end = ageAt(slices.Concat(text, []byte(" |")), 0, untold)
		x.sure = end == len(text) // it says that it is an age
		return x, true
	}
	rest := string(text)
	if m := clockForm.FindStringSubmatchIndex(rest); m != nil {
		t, err := time.Parse("3:04pm", strings.ToLower(rest[m[2]:m[3]]+rest[max(m[4], 0):max(m[5], 0)]))
		if m[4] < 0 {
			t, err = time.Parse("15:04", rest[m[2]:m[3]])
		}
		if err != nil {
			return x, false
		}
		x.clock, x.sure, rest = t.Format("15:04"), true, rest[:m[0]]
	}
	rest = strings.TrimSpace(rest)
	if ago, is := relativeDays[strings.ToLower(rest)]; is {
		m := at.UTC().AddDate(0, 0, -ago)
		x.first, x.last, x.relative = day(m.Add(west)), day(m.Add(east)), true
		return x, true
	}
	for _, form := range dayForms {
		t, err := time.Parse(form, rest)
		if err != nil {
			continue
		}
		if t.Year() == 0 { // this year, or the last one
			if t = t.AddDate(at.UTC().Year(), 0, 0); t.After(at.Add(east)) {
				t = t.AddDate(-1, 0, 0)
			}
		}
		x.first, x.last, x.sure = t, t, true
		return x, true
	}
	return x, false
}

// longestInstant is how many bytes a text has at most that names a moment.
const longestInstant = 48

func day(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

var (
	// the time of day that ends a text
	clockForm = regexp.MustCompile(`(?i)(?:^|,? +(?:at |um |à |kl\. ?|o )?|T)(\d{1,2}:\d\d)(?::\d\d)? ?([ap]m)?(?: Uhr)?$`)

	relativeDays = func() map[string]int {
		out := map[string]int{}
		for ago, words := range [...]string{
			"today heute aujourd'hui hoy oggi hoje vandaag idag dzisiaj dziś dnes сегодня сьогодні 今天 今日",
			"yesterday gestern hier ayer ieri ontem gisteren igår wczoraj včera вчера вчора 昨天 昨日",
		} {
			for w := range strings.FieldsSeq(words) {
				out[w] = ago
			}
		}
		return out
	}()

	dayForms = slices.Concat(strings.Fields("2006-1-2 2006/1/2 2.1.2006 2/1/2006 1/2/2006"), []string{
		"Jan 2, 2006", "January 2, 2006", "Jan 2 2006", "2 Jan 2006", "2 January 2006", "Mon Jan 2, 2006",
		"Mon, 2 Jan 2006", "Monday, January 2, 2006", "Jan 2", "2 Jan", "January 2", "2 January",
	})
)

// sameButClass reports whether two start tags are the same but for their classes: a program may name the unit
// of an age there, such as <span class="age-days">.
func sameButClass(a, b []byte) bool {
	if len(a) < 3 || len(b) < 3 || !letter(a[1]) || bytes.Equal(a, b) {
		return false
	}
	return bytes.Equal(classAttr.ReplaceAll(a, nil), classAttr.ReplaceAll(b, nil))
}

// dateAttr is the date in a tag, for readers who want to know more than an age.
var dateAttr = regexp.MustCompile(`(?i)\s(?:title|datetime)\s*=\s*["']?\d{4}-\d\d-\d\d\b`)

var classAttr = regexp.MustCompile(`(?i)\sclass\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+)`)
