// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLifetime(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
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
		"no-store":             {"Cache-Control: no-store\nExpires: " + at(time.Hour), 0},
		"two values":           {"Cache-Control: max-age=60, max-age=90", 0},
		"junk":                 {"Cache-Control: max-age=-1\nExpires: " + at(time.Hour), 0},
		"huge":                 {"Cache-Control: max-age=99999999999999999999", 0},
		"expires":              {"Expires: " + at(time.Hour), time.Hour},
		"by the site's clock":  {"Expires: " + at(time.Hour) + "\nDate: " + at(30*time.Minute), 30 * time.Minute},
		"expires in the past":  {"Expires: " + at(-time.Hour), -time.Hour},
		"expires zero":         {"Expires: 0", 0},
		"max-age before that":  {"Expires: " + at(time.Hour) + "\nCache-Control: max-age=0", 0},
		"age of a proxy's own": {"Expires: " + at(time.Hour) + "\nAge: junk", time.Hour},
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
		if d > 0 && strings.Contains(strings.ToLower(control), "no-store") && !strings.ContainsAny(control, "\"=") && strings.TrimSpace(strings.ToLower(control)) == "no-store" {
			t.Fatalf("%v although it may not be stored", d)
		}
	})
}

// Everything has its turn, and two runs that follow one another take different ones.
func TestRotate(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, 16, 100, 1000} {
		ids := make([]uint32, n)
		for i := range ids {
			ids[i] = uint32(i) * 3
		}
		for _, k := range []int{0, 1, 2, 10} {
			turns := map[uint32]int{}
			var last []uint32
			for run := 1; run <= n*3; run++ {
				got := rotate(ids, run, k)
				if len(got) != min(k, n) {
					t.Fatalf("%d of %d: %v", k, n, got)
				}
				for _, id := range got {
					if turns[id]++; 2*k <= n && slices.Contains(last, id) {
						t.Errorf("%d of %d: %d in two runs", k, n, id)
					}
				}
				last = got
			}
			if k > 0 && len(turns) != n {
				t.Errorf("%d of %d: only %d had their turn", k, n, len(turns))
			}
		}
	}
}
