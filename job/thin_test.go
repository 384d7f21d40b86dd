// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestKeepDrop(t *testing.T) {
	day := func(s string) time.Time {
		at, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	versions := func(times ...string) (out []Dated) {
		for i, s := range times {
			out = append(out, Dated{i + 1, day(s)})
		}
		return out
	}
	now := day("2026-03-31 12:00")
	week := versions("2026-03-02 03:00", "2026-03-08 03:00", "2026-03-09 03:00", "2026-03-15 03:00",
		"2026-03-22 03:00", "2026-03-30 03:00", "2026-03-30 15:00", "2026-03-31 03:00")
	for _, tc := range []struct {
		name, rule string
		versions   []Dated
		now        time.Time
		want       []int
	}{
		{"all", "all", week, now, nil},
		{"last", "3", week, now, []int{1, 2, 3, 4, 5}},
		{"more than there are", "last 99", week, now, nil},
		{"within", "within 2d", week, now, []int{1, 2, 3, 4, 5}},
		{"within drops all but the newest", "within 1h", week, now, []int{1, 2, 3, 4, 5, 6, 7}},
		{"daily takes the newest of a day", "daily 2", week, now, []int{1, 2, 3, 4, 5, 6}},
		{"a week begins on Monday", "weekly 9", week, now, []int{1, 3, 6, 7}},
		{"weekly counts only weeks that have one", "weekly 3", week, now, []int{1, 2, 3, 6, 7}},
		{"hourly", "hourly 2", week, now, []int{1, 2, 3, 4, 5, 6}},
		{"terms add up", "last 1, weekly 2, monthly 1", week, now, []int{1, 2, 3, 4, 6, 7}},
		{"months", "monthly 2", versions("2026-01-31 23:59", "2026-02-01 00:00", "2026-02-28 10:00",
			"2026-03-01 10:00"), now, []int{1, 2}},
		{"years", "yearly 5", versions("2019-12-31 10:00", "2020-01-01 10:00", "2020-06-01 10:00",
			"2026-01-01 10:00"), now, []int{2}},
		{"the ISO year of a week", "weekly 9", versions("2024-12-29 10:00", "2024-12-30 10:00", "2025-01-05 10:00"),
			now, []int{2}},
		{"one version", "1", week[:1], now, nil},
		{"none", "1", nil, now, nil},
		{"the clock stepped back", "last 2", versions("2026-03-01 10:00", "2026-03-05 10:00", "2026-02-01 10:00"),
			now, []int{1}},
		{"the clock stepped back, daily", "daily 9",
			versions("2026-03-05 10:00", "2026-03-04 10:00", "2026-03-05 09:00"), now, []int{1}},
		{"of the future", "within 1d", versions("2026-03-01 10:00", "2027-03-05 10:00", "2026-03-31 10:00"),
			now, []int{1}},
		{"days of the place", "daily 9", versions("2026-03-30 21:00", "2026-03-30 22:30", "2026-03-31 01:00"),
			now.In(time.FixedZone("", 2*3600)), []int{2}},
	} {
		k, err := ParseKeep(tc.rule)
		if err != nil {
			t.Fatal(err)
		}
		given := slices.Clone(tc.versions)
		slices.Reverse(given)
		for _, vs := range [][]Dated{tc.versions, given} {
			if got := k.Drop(vs, tc.now); !slices.Equal(got, tc.want) {
				t.Errorf("%s: %q drops %v, want %v", tc.name, tc.rule, got, tc.want)
			}
		}
	}
	if got := (Keep{}).Drop(week, now); got != nil {
		t.Errorf("a rule that says nothing drops %v", got)
	}
}

func TestKeepHourThatComesTwice(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC).In(berlin) // 02:30 CEST
	vs := []Dated{{1, first}, {2, first.Add(time.Hour)}}               // 02:30 CET
	if got := (Keep{Hourly: 2}).Drop(vs, first.Add(3*time.Hour)); got != nil {
		t.Errorf("drops %v", got)
	}
}

// What thinning keeps does not depend on whether it ran after every version or only now and then, as restic's
// does.
func TestKeepProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Keep{
			Last:    rapid.IntRange(0, 3).Draw(t, "last"),
			Daily:   rapid.IntRange(0, 4).Draw(t, "daily"),
			Weekly:  rapid.IntRange(0, 4).Draw(t, "weekly"),
			Monthly: rapid.IntRange(0, 4).Draw(t, "monthly"),
			Hourly:  rapid.IntRange(0, 2).Draw(t, "hourly"),
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var all, often []Dated
		for n := range rapid.IntRange(1, 60).Draw(t, "n") {
			at = at.Add(time.Duration(rapid.IntRange(1, 24*20).Draw(t, "h")) * time.Hour)
			all = append(all, Dated{n + 1, at})
			often = append(often, Dated{n + 1, at})
			often = without(often, k.Drop(often, at))
		}
		once := without(slices.Clone(all), k.Drop(all, at))
		if fmt.Sprint(once) != fmt.Sprint(often) {
			t.Fatalf("%+v keeps %v at once, but %v when it is applied after every version", k, once, often)
		}
		if again := k.Drop(once, at); again != nil {
			t.Fatalf("%+v drops %v of what it kept", k, again)
		}
		if len(once) == 0 || once[len(once)-1] != all[len(all)-1] {
			t.Fatalf("%+v drops the newest", k)
		}
	})
}

func without(vs []Dated, drop []int) []Dated {
	return slices.DeleteFunc(vs, func(v Dated) bool { return slices.Contains(drop, v.Number) })
}
