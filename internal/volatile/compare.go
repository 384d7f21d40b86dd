// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/zeebo/xxh3"
)

// A template is a segment with variable for each of its units.
const variable = 0x01

// cutter cuts a body into segments, and finds the units of those that are looked at.
type cutter struct {
	document
	seg      segmentAt
	before   [2]segmentAt // the two segments before that were not blank
	inScript bool
}

// next goes to the next segment; false at the end.
func (c *cutter) next() bool {
	if !blank(c.current()) {
		c.before[0], c.before[1] = c.before[1], c.seg
	}
	at := c.seg.to
	if at == len(c.doc) {
		return false
	}
	n, k := cut(c.doc[at:])
	c.seg = segmentAt{span: span{at, at + n}, kind: k}
	switch {
	case k == tag:
		if name, _, _ := nextAttr(c.current()[1:]); bytes.EqualFold(name, []byte("script")) {
			c.inScript = c.current()[1] != '/'
		}
	case k == text && c.inScript:
		c.seg.kind = script
	}
	return true
}

// current returns the segment.
func (c *cutter) current() []byte { return c.doc[c.seg.from:c.seg.to] }

// unitsOf returns the units of a segment, until it is called again.
func (c *cutter) unitsOf(s segmentAt) []unit {
	c.units, c.leads = c.units[:0], c.leads[:0]
	switch s.kind {
	case tag:
		c.tag(s.span)
	case script:
		c.script(s.span, 0)
	default:
		c.text(s.span, s.span, 0, 0, false)
	}
	return c.units
}

// template returns the template of a segment with these units.
func (c *cutter) template(s segmentAt, units []unit) (out []byte) {
	at := s.from
	for i := range units {
		u := &units[i]
		out = append(append(out, c.doc[at:u.from]...), variable)
		at = u.from + len(c.said(u))
	}
	return append(out, c.doc[at:s.to]...)
}

// said returns a unit with the ending that dates add to its number: 20th, 3pm.
func (c *cutter) said(u *unit) []byte {
	return c.doc[u.from : u.to+len(dateEnd.Find(c.doc[u.to:min(u.to+3, len(c.doc))]))]
}

// around returns the bytes near the segment, in which something may say what a number is.
func (c *cutter) around() []byte {
	to := min(c.seg.to, c.seg.from+nearInside) + nearAfter
	return c.doc[max(0, c.seg.from-nearBefore):min(len(c.doc), to)]
}

// How far around() looks, in bytes.
const (
	nearBefore = 64
	nearInside = 256
	nearAfter  = 32
)

// hash names the segment by its template and by those of the two before it.
func (c *cutter) hash() uint64 {
	var h xxh3.Hasher
	for _, s := range [...]segmentAt{c.before[0], c.before[1], c.seg} {
		h.Write(c.template(s, c.unitsOf(s)))
		h.Write([]byte{variable, '|'})
	}
	return max(h.Sum64(), 1)
}

// example writes the segment for a person.
func (c *cutter) example() string {
	return Short(bytes.ReplaceAll(c.template(c.seg, c.unitsOf(c.seg)), []byte{variable}, []byte{'#'}))
}

// maxVaried is how many units of one segment may differ: a date with time and zone has six.
const maxVaried = 8

// like reports whether two segments have one template, and differ only in units that may change by
// themselves, and how many of these do not just tell when the answers came. onlyTimes is for those that do,
// wherever they are.
func (c *cutter) like(o *cutter, at *Times, onlyTimes bool) (varied int, ok bool) {
	us, os := c.unitsOf(c.seg), o.unitsOf(o.seg)
	if len(us) != len(os) || !bytes.Equal(c.template(c.seg, us), o.template(o.seg, os)) {
		return 0, false
	}
	if !onlyTimes && c.seg.kind != tag && (leads(c.current()) || leads(o.current())) {
		return 0, false
	}
	allowed := c.seg.kind == comment || counted(c.around())
	for i := range us {
		u, v := &us[i], &os[i]
		old, now := c.said(u), o.said(v)
		if bytes.Equal(old, now) {
			continue
		}
		matters := u.leads || u.fixed || leads(c.doc[u.value.from:u.value.to]) ||
			leads(o.doc[v.value.from:v.value.to])
		if u.leads && v.leads && movedAlong(old, now, at) {
			continue
		}
		if matters && !onlyTimes {
			return 0, false
		}
		if u.ages || v.ages {
			if !u.ages || !v.ages || !c.age(u).sameMoment(o.age(v), at.New.Sub(at.Old)) {
				return 0, false
			}
			continue
		}
		form := c.timeOf(us, i)
		isTime := form != "" && form == o.timeOf(os, i)
		switch {
		case isTime && tellTime(old, now, at), !onlyTimes && c.tookTime(u) && o.tookTime(v):
			continue
		case onlyTimes, !isTime && (!allowed || atOf(c.of(u), o.of(v)).Kind == 0):
			return 0, false
		}
		if varied++; varied > maxVaried {
			return 0, false
		}
	}
	return varied, true
}

// tookTime reports whether a unit says how long the program took for the page: "Page generated in 0.02 s".
// Two answers at one moment often took as long.
func (c *cutter) tookTime(u *unit) bool {
	if (c.seg.kind != text) || !secondsForm.Match(c.doc[u.to:c.seg.to]) {
		return false
	}
	line := c.before[1]
	return madeForm.Match(c.current()) || (line.kind == text && madeForm.Match(c.doc[line.from:c.seg.to]))
}

var (
	madeForm = regexp.MustCompile(`(?i)\bpage (?:was )?(?:generated|rendered|created|built|served|loaded|` +
		`processed|executed|made)\b[^.\d]{0,24}\d`)
	secondsForm = regexp.MustCompile(`(?i)^ ?(?:s|secs?|seconds?|ms|msecs?|milliseconds?)\b`)
)

// sameMoment reports whether two segments are the same but for how they name a moment.
func (c *cutter) sameMoment(o *cutter, at *Times) bool {
	if c.seg.kind == script || (c.seg.kind == tag && !bytes.Contains(c.current(), []byte("title="))) {
		return false
	}
	was, is := c.before[1].span, o.before[1].span
	dated := dateAttr.Match(c.doc[was.from:was.to]) && dateAttr.Match(o.doc[is.from:is.to])
	return sameInstant(c.current(), o.current(), at, dated)
}

// sameTime reports whether two tags in which a position is masked are the same but for the time of their
// answers, which their addresses may say, too: an address with noise is made for its answer.
func (c *cutter) sameTime(o *cutter, at *Times) bool {
	if c.seg.kind != tag || bytes.IndexByte(c.current(), mark) < 0 {
		return false
	}
	_, ok := unescaped(c.current()).like(unescaped(o.current()), at, true)
	return ok
}

// unescaped reads the words of a tag, those of its addresses without the escapes of dates and times.
func unescaped(tag []byte) *cutter {
	doc := []byte(strings.NewReplacer("%3A", ":", "%2C", ",", "%20", " ", "+", " ").Replace(string(tag)))
	return &cutter{document: document{doc: doc}, seg: segmentAt{span: span{0, len(doc)}}}
}

// told says that something beside a text tells that it is an age.
func told() bool { return true }

// age is how long ago a unit says that something was.
func (c *cutter) age(u *unit) age {
	from := u.from + blanks(c.doc[u.from:u.to])
	a, _, _ := ageAt(c.doc[u.value.from:u.value.to], from-u.value.from, told)
	return a
}

// timeOf says how a unit is written that is a part of a date or a time, "" for another one.
func (c *cutter) timeOf(units []unit, i int) string {
	u := &units[i]
	said := c.said(u)
	switch inWord := u.from > 0 && wordByte(c.doc[u.from-1]); {
	case u.dates:
		return dateKind(said)
	case inWord: // the number of a name: rc1
	case timeForm.Match(said):
		return "time " + string(timeParts.ReplaceAll(said, nil))
	case dayOrYear.Match(said) && (c.nearMonth(units, i, 1) || c.nearMonth(units, i, -1)):
		return "day or year"
	}
	return ""
}

// nearMonth reports whether a month in words is one of the next two units, with nothing but marks in between.
func (c *cutter) nearMonth(units []unit, i, step int) bool {
	for j := i + step; j >= 0 && j < len(units) && (j-i)*step <= 2; j += step {
		first, second := &units[min(j, j-step)], &units[max(j, j-step)]
		between := c.doc[first.from+len(c.said(first)) : second.from]
		if len(bytes.Trim(between, " \t\r\n,.-")) > 0 {
			return false
		}
		if dateKind(c.of(&units[j])) == "month" {
			return true
		}
	}
	return false
}

var (
	// dates and times in digits; the last two are Unix time, 20261120 and 20261120123005
	timeForm = regexp.MustCompile(`(?i)^(?:\d{4}-\d{1,2}-\d{1,2}(?:T\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?` + zone +
		`)?|\d{1,2}-\d{1,2}-\d{4}|\d{1,2}-[a-z]{3}-\d{4}|\d{1,2}/\d{1,2}/(?:\d\d|\d{4})|\d{4}/\d{1,2}/\d{1,2}|` +
		`\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?` + zone + `|\d{1,2}[ap]m|1\d{9}(?:\d{3})?|` +
		`20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{6})?)$`)
	timeParts = regexp.MustCompile(`\d|[A-SU-Ya-su-y]`)
	dayOrYear = regexp.MustCompile(`(?i)^(?:\d{1,2}(?:st|nd|rd|th)?|[12]\d{3})$`)
	dateEnd   = regexp.MustCompile(`(?i)^(?:st|nd|rd|th|[ap]m)\b`)
	timeEnd   = regexp.MustCompile(`(?i)(?:(^\d+)(?:st|nd|rd|th)|(:\d\d(?:[.,]\d+)?)(?:Z|[+-]\d\d:?\d\d))$`)
)

const zone = `(?:Z|[+-]\d\d:?\d\d)?`
