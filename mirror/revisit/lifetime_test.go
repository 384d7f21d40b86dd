// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/job"
)

func TestLifetime(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	inAnHour := "Expires: " + at(time.Hour)
	for name, c := range map[string]struct {
		fields string
		want   time.Duration
	}{
		"nothing":              {"", 0},
		"max-age":              {"Cache-Control: public, max-age=60", time.Minute},
		"quoted":               {`Cache-Control: Max-Age="60"`, time.Minute},
		"two fields":           {"Cache-Control: public\nCache-Control: max-age=60", time.Minute},
		"age":                  {"Cache-Control: max-age=60\nAge: 20", 40 * time.Second},
		"old already":          {"Cache-Control: max-age=60\nAge: 70", -10 * time.Second},
		"no-cache":             {"Cache-Control: max-age=60, no-cache", 0},
		"no-store":             {"Cache-Control: no-store\n" + inAnHour, 0},
		"two values":           {"Cache-Control: max-age=60, max-age=90", 0},
		"junk":                 {"Cache-Control: max-age=-1\n" + inAnHour, 0},
		"huge":                 {"Cache-Control: max-age=99999999999999999999", (1<<31 - 1) * time.Second},
		"expires":              {inAnHour, time.Hour},
		"the site's clock":     {"Date: " + at(30*time.Minute) + "\n" + inAnHour, 30 * time.Minute},
		"expires in the past":  {"Expires: " + at(-time.Hour), -time.Hour},
		"expires zero":         {"Expires: 0", 0},
		"max-age before that":  {inAnHour + "\nCache-Control: max-age=0", 0},
		"age of a proxy's own": {inAnHour + "\nAge: junk", time.Hour},
	} {
		h := http.Header{}
		for line := range strings.Lines(c.fields) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			h.Add(name, value)
		}
		if got := lifetime(h, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func FuzzLifetime(f *testing.F) {
	f.Add("max-age=60", "Fri, 01 May 2026 12:00:00 GMT", "5")
	f.Add("max-age=\"60, no-cache", "0", "-1")
	f.Fuzz(func(t *testing.T, control, expires, age string) {
		h := http.Header{"Cache-Control": {control}, "Expires": {expires}, "Age": {age}}
		d := lifetime(h, time.Unix(1_777_000_000, 0))
		if d > 0 && strings.TrimSpace(strings.ToLower(control)) == "no-store" {
			t.Fatalf("%v although it may not be stored", d)
		}
	})
}

func TestPlausible(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		modified, date string
		ok             bool
	}{
		"earlier":                 {at(-time.Hour), at(0), true},
		"the moment of the reply": {at(0), at(0), true},
		"later than the reply":    {at(-time.Minute), at(-time.Hour), false},
		"later than our clock":    {at(time.Hour), at(2 * time.Hour), false},
		"no date":                 {at(30 * time.Second), "", true},
		"junk":                    {"yesterday", at(0), false},
		"the epoch":               {"Thu, 01 Jan 1970 00:00:01 GMT", at(0), false}, // of the Nix store
		"of ZIP":                  {"Tue, 01 Jan 1980 00:00:00 GMT", at(0), false},
		"old":                     {"Sun, 06 Nov 1994 08:49:37 GMT", at(0), true},
	} {
		h := http.Header{"Date": {c.date}}
		if got := Plausible(h, c.modified, now); (got == c.modified) != c.ok {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestExpires(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		control string
		want    int64
	}{
		{"", 0},
		{"max-age=60", now.Add(time.Minute).Unix()},
		{"max-age=999999999", now.Add(longestLifetime).Unix()},
		{"max-age=31536000000", now.Add(longestLifetime).Unix()}, // milliseconds, as some think
		{"max-age=-1", 0},
		{"no-cache", 0},
	} {
		h := http.Header{"Cache-Control": {c.control}}
		if got := Expires(job.Evidence{Expiry: true}, h, now); got != c.want {
			t.Errorf("%q: %d, want %d", c.control, got, c.want)
		}
		if got := Expires(job.Evidence{}, h, now); got != 0 {
			t.Errorf("%q, not used: %d", c.control, got)
		}
	}
}

func TestStands(t *testing.T) {
	answered := time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		field, value string
		after        time.Duration
		want         bool
	}{
		{"X", "", 23 * time.Hour, true},
		{"Cache-Control", "public", time.Hour, true},
		{"Cache-Control", "max-age=3600", time.Hour - time.Second, true},
		{"Cache-Control", "max-age=3600", time.Hour, false},
		{"Cache-Control", "max-age=0", 0, false},
		{"Cache-Control", "max-age=x", 0, false},
		{"Cache-Control", "max-age=60, no-cache", 0, false},
		{"Cache-Control", "no-store", 0, false},
		{"Cache-Control", "Private, max-age=3600", 0, false},
		{"Cache-Control", `private="Set-Cookie"`, 0, false},
		{"Expires", "Mon, 04 May 2026 05:00:00 GMT", time.Hour, true},
		{"Expires", "Mon, 04 May 2026 05:00:00 GMT", 3 * time.Hour, false},
		{"Expires", "0", 0, false},
		{"Set-Cookie", "id=1", 0, false},
	} {
		h := http.Header{tc.field: {tc.value}}
		if got := Stands(h, answered, answered.Add(tc.after)); got != tc.want {
			t.Errorf("%s: %s after %v: %t", tc.field, tc.value, tc.after, got)
		}
	}
	if h := (http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"3000"}}); Stands(h, answered,
		answered.Add(20*time.Minute)) {
		t.Error("the age of the answer does not count")
	}
	h := http.Header{"Expires": {"Mon, 01 Jan 0001 00:00:00 GMT"}, "Age": {"5"}}
	if Stands(h, answered, answered) {
		t.Error("what ended 2025 years ago stands")
	}
}
