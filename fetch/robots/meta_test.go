// SPDX-License-Identifier: Apache-2.0

package robots

import (
	"strings"
	"testing"
	"time"
)

func TestParseMeta(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		content string
		want    Directives
	}{
		{"", Directives{}},
		{"all", Directives{}},
		{"index,follow", Directives{}},
		{"NOINDEX", Directives{NoIndex: true}},
		{" noindex , NoFollow ", Directives{NoIndex: true, NoFollow: true}},
		{"none", Directives{NoIndex: true, NoFollow: true}},
		{"noindex, index", Directives{NoIndex: true}},
		{"noarchive,nosnippet,noimageindex", Directives{NoArchive: true, NoSnippet: true, NoImages: true}},
		{"max-snippet:-1, nofollow", Directives{NoFollow: true}},
		{"nofollow; noindex", Directives{NoIndex: true, NoFollow: true}},
		{"noindex NOFOLLOW", Directives{NoIndex: true, NoFollow: true}},
		{"noindexing", Directives{}},
		{",,,", Directives{}},
		{"unavailable_after: 2026-11-19", Directives{
			UnavailableAfter: time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC),
			Unavailable:      true,
		}},
		{"unavailable_after: 2027-01-02T03:04:05Z, nofollow", Directives{
			UnavailableAfter: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
			NoFollow:         true,
		}},
		{"unavailable_after: Friday, 20-Nov-26 11:00:00 UTC, noarchive", Directives{
			UnavailableAfter: time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC),
			Unavailable:      true,
			NoArchive:        true,
		}},
		{"unavailable_after: Fri, 20 Nov 2026 13:00:00 GMT",
			Directives{UnavailableAfter: time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC)}},
		{"unavailable_after: whenever", Directives{}},
	} {
		got := ParseMeta(c.content, now)
		if !got.UnavailableAfter.Equal(c.want.UnavailableAfter) {
			t.Errorf("%q: until %v, want %v", c.content, got.UnavailableAfter, c.want.UnavailableAfter)
		}
		got.UnavailableAfter = c.want.UnavailableAfter
		if got != c.want {
			t.Errorf("%q: got %+v, want %+v", c.content, got, c.want)
		}
	}
}

func TestParseXRobotsTag(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		values []string
		want   Directives
	}{
		{"none", nil, Directives{}},
		{"plain", []string{"noindex, nofollow"}, Directives{NoIndex: true, NoFollow: true}},
		{"two headers", []string{"noindex", "nofollow"}, Directives{NoIndex: true, NoFollow: true}},
		{"ours", []string{"mirrord: nofollow"}, Directives{NoFollow: true}},
		{"ours in capitals", []string{"MirrorD: NoFollow"}, Directives{NoFollow: true}},
		{"ours with version", []string{"mirrord/1.0: nofollow"}, Directives{NoFollow: true}},
		{"another's", []string{"otherbot: noindex, nofollow"}, Directives{}},
		{"another's, then ours", []string{"otherbot: noindex, mirrord: nofollow"}, Directives{NoFollow: true}},
		{"ours, then another's", []string{"mirrord: nofollow, otherbot: noindex"}, Directives{NoFollow: true}},
		{"prefix ends with its header", []string{"otherbot: noindex", "nofollow"}, Directives{NoFollow: true}},
		{"all, then another's", []string{"noarchive, otherbot: noindex"}, Directives{NoArchive: true}},
		{"valued directive is no robot", []string{"max-snippet: 3, nofollow"}, Directives{NoFollow: true}},
		{"star", []string{"*: nofollow"}, Directives{NoFollow: true}},
		{"date, then ours", []string{"unavailable_after: Fri, 20 Nov 2026 11:00:00 GMT, otherbot: noindex"},
			Directives{UnavailableAfter: time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC), Unavailable: true}},
		{"another's date", []string{"otherbot: unavailable_after: 2020-01-01"}, Directives{}},
	} {
		got := ParseXRobotsTag(c.values, "mirrord", now)
		if !got.UnavailableAfter.Equal(c.want.UnavailableAfter) {
			t.Errorf("%s: until %v, want %v", c.name, got.UnavailableAfter, c.want.UnavailableAfter)
		}
		got.UnavailableAfter = c.want.UnavailableAfter
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestLongDate: the parts of a date are not copied once for each comma in it.
func TestLongDate(t *testing.T) {
	value := "unavailable_after: " + strings.Repeat("1,", 32<<10) + "nofollow"
	now := time.Now()
	if n := testing.AllocsPerRun(1, func() {
		if d := ParseXRobotsTag([]string{value}, "x", now); !d.NoFollow || !d.UnavailableAfter.IsZero() {
			t.Errorf("got %+v", d)
		}
	}); n > 1000 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzDirectives(f *testing.F) {
	for _, s := range []string{
		"noindex, mirrord: nofollow", "unavailable_after: Fri, 20 Nov 2026 11:00:00 GMT, none", ":::,,:a:b",
		"unavailable_after",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		one := ParseXRobotsTag([]string{s}, "mirrord", now)
		if two := ParseXRobotsTag([]string{s, s}, "mirrord", now); two != one {
			t.Errorf("%q twice: %+v, once %+v", s, two, one)
		}
		if both := ParseXRobotsTag([]string{s, "none"}, "mirrord", now); !both.NoIndex || !both.NoFollow {
			t.Errorf("%q hides another header", s)
		}
		ParseMeta(s, now)
	})
}
