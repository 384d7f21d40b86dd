// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]Size{
		"0": 0, "512": 512, "512B": 512, "10kB": 10_000, "10KB": 10_000, "10MB": 10_000_000, "1GiB": 1 << 30,
		"1.5 GiB": 3 << 29, " 2TB ": 2e12,
	} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "MB", "-1MB", "1e9", "10M", "1 000", "9999999TiB", "NaN", "InfB", "0x10", "1.2.3MB", "10MBB",
	} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", in, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for in, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "7d": 7 * day, "2w": 14 * day,
		"1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour,
	} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "5", "-5s", "+5s", "1x", "d", "1y", "99999999999w", "999999999999h", "1d-3h", "106751d106751d",
	} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", in, got)
		}
	}
}

func TestParseShare(t *testing.T) {
	for in, want := range map[string]Share{"10%": 0.1, "0.1": 0.1, "100%": 1, "0": 0, "0.5 %": 0.005} {
		if got, err := ParseShare(in); err != nil || got != want {
			t.Errorf("ParseShare(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "%", "101%", "1.1", "-1%", "ten"} {
		if got, err := ParseShare(in); err == nil {
			t.Errorf("ParseShare(%q) = %v, want an error", in, got)
		}
	}
}

// A text written for a unit is read back as the same value.
func TestUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Sizes above 2^53 have no exact decimal fraction; whole ones still survive in their largest exact unit.
		s := Size(rapid.Int64Range(0, 1<<53).Draw(t, "size"))
		if got, err := ParseSize(s.String()); err != nil || got != s {
			t.Fatalf("size %d written %q, read %d, %v", s, s, got, err)
		}
		if got, err := ParseRate(Rate(s).String()); err != nil || got != Rate(s) {
			t.Fatalf("rate %d written %q, read %d, %v", s, Rate(s), got, err)
		}
		d := time.Duration(rapid.Int64Range(0, 1<<53).Draw(t, "duration"))
		if got, err := ParseDuration(formatDuration(d)); err != nil || got != d {
			t.Fatalf("duration %d written %q, read %d, %v", d, formatDuration(d), got, err)
		}
	})
}

func TestNearest(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"shedule", "schedule"}, {"scheduel", "schedule"}, {"URL", "url"}, {"urls", "url"}, {"windw", "window"},
		{"xyz", ""}, {"", ""}, {"scope", ""},
	} {
		if got := Nearest(tc.in, []string{"schedule", "url", "window", "timezone"}); got != tc.want {
			t.Errorf("Nearest(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}
