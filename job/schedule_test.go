// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"testing"
	"time"
)

func TestParseSchedule(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		spec string
		want string // next firing after start, or the kind
	}{
		{"", "by hand"},
		{"continuous", "continuous"},
		{"@every 6h", "6h0m0s"},
		{"@every 1m", "1m0s"},
		{"@every 2d", "48h0m0s"},
		{"30 3 * * *", "2026-03-02 03:30"},
		{"@daily", "2026-03-02 00:00"},
		{"@hourly", "2026-03-01 13:00"},
		{"0 0 29 2 *", "2028-02-29 00:00"},
		{"*/15 * * * MON-FRI", "2026-03-02 00:00"},
		{"0 4 1,15 * *", "2026-03-15 04:00"},
		{"0 4 13 * 5", "2026-03-06 04:00"}, // both fixed: either may match, in every cron program
	} {
		s, err := ParseSchedule(tc.spec)
		if err != nil {
			t.Errorf("ParseSchedule(%q): %v", tc.spec, err)
			continue
		}
		got := "by hand"
		switch {
		case s.Continuous:
			got = "continuous"
		case s.Every > 0:
			got = s.Every.String()
		case s.Cron != nil:
			s.Cron.Location = time.UTC
			got = s.Cron.Next(start).Format("2006-01-02 15:04")
		}
		if got != tc.want {
			t.Errorf("ParseSchedule(%q) is %s, want %s", tc.spec, got, tc.want)
		}
	}
}

// Each of these is accepted, panics or means something else in robfig/cron v3.0.1, or is a habit from another
// cron.
func TestParseScheduleTraps(t *testing.T) {
	for spec, want := range map[string]string{
		"TZ=0":                         "names a time zone",
		"TZ=":                          "names a time zone",
		"CRON_TZ=Europe/London":        "names a time zone",
		"CRON_TZ=UTC 0 0 * * *":        "names a time zone",
		"@every 0s":                    "too often",
		"@every 1ms":                   "too often",
		"@every 59s":                   "too often",
		"@every -1s":                   "no interval",
		"@every":                       "no interval",
		"@every 999999999999999h":      "no interval",
		"0 0 30 2 *":                   "never fires",
		"0 0 31 2,4,6,9,11 *":          "never fires",
		"0 0 */2 * 1":                  "both day and weekday",
		"0 0 1 * */2":                  "both day and weekday",
		"0 0 * * 7":                    "Sunday is 0 or SUN",
		"0 0 L * *":                    "L, W, # and H are not known",
		"H 3 * * *":                    "L, W, # and H are not known",
		"@reboot":                      "@reboot is not known",
		"@dayly":                       `did you mean "@daily"?`,
		"continous":                    "has 1 field; did you mean \"continuous\"?",
		"0 30 3 * * *":                 "has 6 fields",
		"61 3 * * *":                   "61",
		"*/0 * * * *":                  "schedule",
		"@":                            "known are @every",
		strings.Repeat("1,", 1000):     "longer than",
		"99999999999999999999 * * * *": "schedule",
	} {
		_, err := ParseSchedule(spec)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSchedule(%.40q) = %v, want %q", spec, err, want)
		}
	}
}

func TestWindow(t *testing.T) {
	at := func(clock string) time.Time {
		v, err := time.Parse("2006-01-02 15:04:05", "2026-05-04 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tc := range []struct {
		window, at string
		open       bool
		change     string // "" never
	}{
		{"", "12:00:00", true, ""},
		{"00:00-06:00", "00:00:00", true, "2026-05-04 06:00:00"},
		{"00:00-06:00", "05:59:59", true, "2026-05-04 06:00:00"},
		{"00:00-06:00", "06:00:00", false, "2026-05-05 00:00:00"},
		{"22:00-06:00", "23:00:30", true, "2026-05-05 06:00:00"},
		{"22:00-06:00", "05:00:00", true, "2026-05-04 06:00:00"},
		{"22:00-06:00", "12:00:00", false, "2026-05-04 22:00:00"},
		{"22:00-24:00", "23:59:59", true, "2026-05-05 00:00:00"},
		{"01:00-02:00, 12:00-13:00", "02:30:00", false, "2026-05-04 12:00:00"},
		{"00:00-12:00,12:00-24:00", "12:00:00", true, ""},
	} {
		w, err := ParseWindow(tc.window)
		if err != nil {
			t.Errorf("ParseWindow(%q): %v", tc.window, err)
			continue
		}
		change := ""
		if c := w.Change(at(tc.at)); !c.IsZero() {
			change = c.Format("2006-01-02 15:04:05")
		}
		if got := w.Open(at(tc.at)); got != tc.open || change != tc.change {
			t.Errorf("window %q at %s: open %v until %q, want %v until %q", tc.window, tc.at, got, change,
				tc.open, tc.change)
		}
	}
	for _, in := range []string{
		"6-7", "00:00", "00:00-24:01", "24:00-06:00", "00:60-01:00", "06:00-06:00", "00:00-24:00x", ",",
		"00:00-24:00", "-", "١٢:٠٠-13:00",
	} {
		if _, err := ParseWindow(in); err == nil {
			t.Errorf("ParseWindow(%q) is accepted", in)
		}
	}
}

// On the night the clocks go forward the window is open for the hours that exist.
func TestWindowOverClockChange(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w, err := ParseWindow("02:15-02:45")
	if err != nil {
		t.Fatal(err)
	}
	before := time.Date(2026, 3, 29, 1, 30, 0, 0, berlin) // 02:00 becomes 03:00
	want := time.Date(2026, 3, 30, 2, 15, 0, 0, berlin)
	if got := w.Change(before); !got.Equal(want) {
		t.Errorf("opens at %v, want %v: the span does not exist that night", got, want)
	}
}

func TestParseKeep(t *testing.T) {
	for in, want := range map[string]Keep{
		"all":                          {All: true},
		"7":                            {Last: 7},
		"last 7, weekly 8, monthly 24": {Last: 7, Weekly: 8, Monthly: 24},
		"within 90d,yearly 5":          {Within: 90 * 24 * time.Hour, Yearly: 5},
		"hourly 24 , daily 14, last 1": {Hourly: 24, Daily: 14, Last: 1},
	} {
		if got, err := ParseKeep(in); err != nil || got != want {
			t.Errorf("ParseKeep(%q) = %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", ",", "0", "-1", "last", "last 0", "last 1, 2", "30d", "within 0s", "daily ten", "daily 1 2", "9999999",
	} {
		if got, err := ParseKeep(in); err == nil {
			t.Errorf("ParseKeep(%q) = %+v, want an error", in, got)
		}
	}
}
