// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"testing"

	"mirrord/mirror/result"
	"mirrord/store/record"
)

// said are texts by the numbers of pages.
type said struct{ now, before map[uint32]string }

func (s said) Now(rec *record.Resource) (string, bool, error) {
	t, ok := s.now[rec.ID]
	return t, ok, nil
}

func (s said) Before(rec *record.Resource) (string, bool, error) {
	t, ok := s.before[rec.ID]
	return t, ok, nil
}

// says gives the 20 pages of site20 texts.
func says(now, before func(i int) string) said {
	s := said{now: map[uint32]string{}, before: map[uint32]string{}}
	for i := range 20 {
		s.now[uint32(i)], s.before[uint32(i)] = now(i), before(i)
	}
	return s
}

func number(format string) func(i int) string {
	return func(i int) string { return fmt.Sprintf(format, "word"+string(rune('a'+i))) }
}

func numbered(format string) func(i int) string {
	return func(i int) string { return fmt.Sprintf(format, 7000+i) }
}

func TestSameShapeByText(t *testing.T) {
	old := number("menu of the site, and %[1]sx %[1]sy %[1]sz %[1]sv %[1]sw")
	for _, c := range []struct {
		name        string
		now, before func(i int) string
		want        int
	}{
		{"wall", number("please log in"), old, 20},
		{"wall with a token", numbered("please log in, request %d"), old, 20},
		{"no words left", number(""), old, 20},
		{"own words stay", number("another menu, %[1]sx %[1]sy %[1]sz and so on"), old, 0},
		{"other words of their own", number("menu of the site, and %[1]sn %[1]so %[1]sp"), old, 0},
		{"the same before", number("please log in"), number("please sign in"), 0},
	} {
		k := site20(t, 20)
		k.Texts = says(c.now, c.before)
		r, err := sameShape(k)
		if err != nil || len(r.Forget) != c.want || (r.Verdict == result.Suspicious) != (c.want > 0) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
		k = site20(t, 6)
		k.Texts = says(c.now, c.before)
		k.Probes = []ErrorPage{{
			URL:   parse(t, "http://h/none"),
			Below: "http://h/",
			Size:  520,
			Shape: 4,
			Said:  c.now(0),
		}}
		r, err = soft404(k)
		if (err != nil) || (r.Verdict == result.Suspicious) != (c.want > 0) {
			t.Errorf("%s, a part of the site: %+v, %v", c.name, r, err)
		}
	}
}

// Without a published version nothing can have become the same: the rule notes what it sees.
func TestFirstSameByText(t *testing.T) {
	for want, now := range []func(i int) string{number("note %[1]sx %[1]sy %[1]sz"), number("please log in")} {
		k := site20(t, 20)
		k.Live, k.Run.Version = nil, 1
		k.Texts = says(now, number(""))
		r, err := sameShape(k)
		if err != nil || (r.Verdict != result.Complete) || (len(r.Notes) != want) {
			t.Errorf("%+v, %v; want %d notes", r, err, want)
		}
	}
}

func TestSections(t *testing.T) {
	for _, c := range []struct {
		dirs sections
		want []string
	}{
		{sections{"http://h/": 2}, nil},
		{sections{"http://h/": 3}, []string{"http://h/"}},
		{sections{"http://h/a/b/": 2, "http://h/a/b/c/": 2}, []string{"http://h/a/b/"}},
		{sections{"http://h/": 1, "http://h/a/b/": 4, "http://h/c/": 2}, []string{"http://h/", "http://h/a/b/"}},
		{sections{"http://h/a/": 3, "http://h/b/": 5, "http://h/c/": 4, "http://h/d/": 6},
			[]string{"http://h/", "http://h/d/", "http://h/b/", "http://h/c/"}},
	} {
		if got := c.dirs.doubtful(); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.dirs, got, c.want)
		}
	}
}
