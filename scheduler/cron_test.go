// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mirrord/job"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func clockOf(t testing.TB, spec, tz string) Clock {
	t.Helper()
	j := job.Default("https://example.org/")
	j.Name, j.Schedule, j.Timezone = "test", spec, tz
	c, err := NewClock(j, time.UTC, -1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A daily job runs once on every day of the calendar, however the clocks are set.
func TestDailyIsDailyInBulk(t *testing.T) {
	for _, tz := range []string{
		"America/New_York", "Africa/Cairo", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Asia/Beirut",
		"Pacific/Apia", "Asia/Kathmandu", "UTC", "Africa/Casablanca",
	} {
		z := zone(t, tz)
		for _, year := range []int{2024, 2025, 2026} {
			for _, spec := range []string{
				"0 0 * * *", "30 0 * * *", "30 1 * * *", "0 2 * * *", "30 2 * * *", "59 2 * * *", "0 3 * * *",
				"30 23 * * *", "@daily",
			} {
				c := clockOf(t, spec, tz)
				seen := map[string]int{}
				n := 0
				for at := c.Next(time.Date(year, 1, 1, 0, 0, 0, 0, z).Add(-1)); at.Year() == year; at = c.Next(at) {
					seen[at.Format(time.DateOnly)]++
					n++
				}
				days := time.Date(year, 12, 31, 12, 0, 0, 0, z).YearDay()
				if n != days || len(seen) != days {
					t.Errorf("%s %q %d: %d runs on %d days, want %d", tz, spec, year, n, len(seen), days)
				}
			}
		}
	}
}

// A schedule of every hour runs once in every real hour, in those that come twice as well.
func TestHourlyIsHourly(t *testing.T) {
	for _, tz := range []string{"America/New_York", "Africa/Cairo", "Europe/Berlin", "UTC"} {
		c := clockOf(t, "30 * * * *", tz)
		start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
		at, n := c.Next(start), 0
		for last := at; at.Before(start.AddDate(1, 0, 0)); n++ {
			if n > 0 && at.Sub(last) != time.Hour {
				t.Fatalf("%s: %v after %v", tz, at, last)
			}
			last, at = at, c.Next(at)
		}
		if n != 365*24 {
			t.Errorf("%s: %d runs", tz, n)
		}
	}
}

func TestClockChanges(t *testing.T) {
	for _, tc := range []struct{ name, tz, spec, after, want string }{
		{"skipped time runs when the clock jumps", "America/New_York", "30 2 * * *", "2025-03-09T00:00:00-05:00",
			"2025-03-09T03:00:00-04:00"},
		{"and not again", "America/New_York", "30 2 * * *", "2025-03-09T03:00:00-04:00",
			"2025-03-10T02:30:00-04:00"},
		{"doubled time runs the first time", "America/New_York", "30 1 * * *", "2025-11-02T00:00:00-04:00",
			"2025-11-02T01:30:00-04:00"},
		{"and not the second", "America/New_York", "30 1 * * *", "2025-11-02T01:30:00-04:00",
			"2025-11-03T01:30:00-05:00"},
		{"midnight that does not exist", "Africa/Cairo", "0 0 * * *", "2025-04-24T12:00:00+02:00",
			"2025-04-25T01:00:00+03:00"},
		{"hours of a range in spring", "America/New_York", "0 1-4 * * *", "2025-03-09T01:00:00-05:00",
			"2025-03-09T03:00:00-04:00"},
		{"every quarter in autumn", "America/New_York", "*/15 * * * *", "2025-11-02T01:45:00-04:00",
			"2025-11-02T01:00:00-05:00"},
		{"half an hour of change", "Australia/Lord_Howe", "0 * * * *", "2025-10-05T01:30:00+10:30",
			"2025-10-05T03:00:00+11:00"},
		{"leap day", "UTC", "0 0 29 2 *", "2025-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"leap days eight years apart", "UTC", "0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"or of day and weekday", "UTC", "0 0 13 * FRI", "2026-11-10T00:00:00Z", "2026-11-13T00:00:00Z"},
		{"interval", "UTC", "@every 6h", "2026-11-10T01:02:03Z", "2026-11-10T07:02:03Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			after, err := time.Parse(time.RFC3339, tc.after)
			if err != nil {
				t.Fatal(err)
			}
			if got := clockOf(t, tc.spec, tc.tz).Next(after).Format(time.RFC3339); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// For any schedule, zone and time, Next is later than its argument, and asking between two of its times
// gives the second.
func TestNextIsMonotonic(t *testing.T) {
	zones := []string{"America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "Pacific/Apia", "UTC",
		"America/St_Johns"}
	rapid.Check(t, func(t *rapid.T) {
		field := func(name string, lo, hi int) string {
			return rapid.OneOf(rapid.Just("*"), rapid.Map(rapid.IntRange(lo, hi), func(n int) string {
				return fmt.Sprint(n)
			}),
				rapid.Map(rapid.IntRange(2, hi), func(n int) string { return fmt.Sprintf("*/%d", n) })).Draw(t, name)
		}
		spec := field("minute", 0, 59) + " " + field("hour", 0, 23) + " * " + field("month", 1, 12) + " *"
		j := job.Default("https://example.org/")
		j.Name, j.Schedule, j.Timezone = "test", spec, rapid.SampledFrom(zones).Draw(t, "zone")
		c, err := NewClock(j, time.UTC, -1)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1262304000, 2000000000).Draw(t, "at"), 0)
		n := c.Next(at)
		if n.IsZero() || !n.After(at) {
			t.Fatalf("Next(%v) = %v", at, n)
		}
		between := at.Add(time.Duration(rapid.Int64Range(0, int64(n.Sub(at))-1).Draw(t, "between")))
		if got := c.Next(between); !got.Equal(n) {
			t.Fatalf("Next(%v) = %v, but Next(%v) = %v", at, n, between, got)
		}
	})
}

// What robfig/cron accepts but does not do is refused, and never panics.
func TestRefusedSchedules(t *testing.T) {
	for _, spec := range []string{
		"TZ=0", "TZ=", "CRON_TZ=Europe/London", "CRON_TZ=UTC 0 0 * * *", "@every 0s", "@every -1s", "@every 1ms",
		"@every 59s", "0 0 30 2 *", "0 0 31 4,6 *",
		"0 0 */2 * 1", "0 0 1 * */2", "0 0 * * 7", "0 0 L * *", "0 0 * * 1#2", "H 0 * * *", "@reboot", "* * * *",
		"0 0 0 0 0", "60 * * * *", "@often", "@every", "rubbish",
	} {
		j := job.Default("https://example.org/")
		j.Name, j.Schedule = "test", spec
		if _, err := NewClock(j, time.UTC, 0); err == nil {
			t.Errorf("%q is accepted", spec)
		}
	}
}

// Any text of a job file is refused, or its times go forward.
func FuzzSchedule(f *testing.F) {
	for _, s := range []string{
		"30 3 * * *", "@every 6h", "@daily", "continuous", "*/15 1-5,22 1,15 * ?", "0 0 29 2 *", "TZ=UTC 0 0 * * *",
		"0 0 31 * MON", "59 23 * 2 SUN-SAT", "@every 1000000h", "0 0 */2 * 1",
	} {
		f.Add(s, int64(1_800_000_000), uint8(0))
	}
	zones := []string{"UTC", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "Pacific/Apia"}
	f.Fuzz(func(t *testing.T, spec string, at int64, z uint8) {
		j := job.Default("https://example.org/")
		j.Name, j.Schedule, j.Timezone = "test", spec, zones[int(z)%len(zones)]
		c, err := NewClock(j, time.UTC, 0)
		if err != nil {
			return
		}
		start := time.Unix(at%4_000_000_000, 0)
		last := start
		for range 5 {
			n := c.Next(last)
			if n.IsZero() {
				if !c.Manual() && !c.Continuous() {
					t.Fatalf("%q has no time after %v", spec, last)
				}
				return
			}
			if !n.After(last) {
				t.Fatalf("%q: %v after %v", spec, n, last)
			}
			last = n
		}
	})
}

func TestJitterInBulk(t *testing.T) {
	j := job.Default("https://example.org/")
	places := map[time.Duration]bool{}
	for _, tc := range []struct {
		spec string
		most time.Duration
	}{
		{"30 3 * * *", DefaultSpread}, {"* * * * *", 6 * time.Second}, {"@every 10m", time.Minute},
		{"0 1,3 * * *", DefaultSpread}, {"continuous", DefaultSpread},
	} {
		least, most := time.Hour, time.Duration(0)
		for i := range 1000 {
			j.Name, j.Schedule = fmt.Sprintf("job%d", i), tc.spec
			c, err := NewClock(j, time.UTC, 0)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := NewClock(j, time.UTC, 0)
			if c.Jitter() != again.Jitter() {
				t.Fatal("not stable")
			}
			least, most = min(least, c.Jitter()), max(most, c.Jitter())
			places[c.Jitter()] = true
		}
		if least < 0 || least > tc.most/50 || most >= tc.most || most < tc.most*49/50 {
			t.Errorf("%q: from %v to %v, want 0 to %v, evenly", tc.spec, least, most, tc.most)
		}
	}
	if len(places) < 2000 {
		t.Errorf("%d different places", len(places))
	}
}

func TestRate(t *testing.T) {
	least, most := time.Hour, 7*24*time.Hour
	if got := (ChangeRate{}).Interval(1000, least, most); got != least {
		t.Errorf("nothing known: %v", got)
	}
	quiet := ChangeRate{}
	last := time.Duration(0)
	for range 20 {
		over := max(least, last)
		quiet = quiet.Observe(0, over)
		next := quiet.Interval(1000, least, most)
		if next < last {
			t.Fatalf("a site that does not change is asked after %v, then after %v", last, next)
		}
		last = next
	}
	if last != most {
		t.Errorf("a site that never changes ends at %v", last)
	}
	busy := ChangeRate{}
	for range 20 {
		busy = busy.Observe(240, 24*time.Hour) // ten an hour
	}
	if got := busy.Interval(100, time.Minute, most); got < 5*time.Minute || got > 7*time.Minute {
		t.Errorf("ten changes an hour: %v, want about the time of one", got)
	}
	if got := busy.Interval(100_000, time.Minute, most); got < 9*time.Hour || got > 11*time.Hour {
		t.Errorf("ten changes an hour on a large site: %v, want the time of a hundred", got)
	}
	busy = busy.Observe(0, 100*24*time.Hour)
	if got := busy.Interval(100, time.Minute, most); got < 30*time.Minute {
		t.Errorf("after a long quiet: %v", got)
	}
}

func BenchmarkNext(b *testing.B) {
	c := clockOf(b, "30 2 * * *", "America/New_York")
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		at = c.Next(at)
	}
}
