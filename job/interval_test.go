// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"
)

func TestLearnFor(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		schedule, learnFor string
		want               time.Duration
	}{
		{"", "", 2 * day},
		{"continuous", "", 2 * day},
		{"@every 1h", "", 2 * day},
		{"30 3 * * *", "", 3 * day},
		{"@every 36h", "", 108 * time.Hour},
		{"@weekly", "", 21 * day},
		{"@weekly", "0s", 0},
		{"@weekly", "0", 0},
		{"", "5d", 5 * day},
		{"no schedule", "", 2 * day},
	} {
		j := Default("http://www.example.org/")
		j.Schedule, j.Adaptive.LearnFor = c.schedule, c.learnFor
		if got := j.LearnFor(); got != c.want {
			t.Errorf("schedule %q, learn_for %q: %v, want %v", c.schedule, c.learnFor, got, c.want)
		}
	}
}

func TestUsualInterval(t *testing.T) {
	const day = 24 * time.Hour
	for spec, want := range map[string]time.Duration{
		"@daily":           day,
		"@monthly":         30 * day,
		"@yearly":          365 * day,
		"0 0 29 2 *":       1461 * day,
		"0 9-17 * * *":     2 * time.Hour,
		"30 3 * * MON-FRI": day,
	} {
		s, err := ParseSchedule(spec)
		if got := s.Usual(); err != nil || got < want || got > want*3/2 {
			t.Errorf("%s: %v, %v, want about %v", spec, got, err, want)
		}
	}
}

func TestBadLearnFor(t *testing.T) {
	_, err := Parse("j", "j.toml", []byte("url = 'http://a.example/'\nadaptive.learn_for = 'soon'\n"))
	if err == nil {
		t.Error("learn_for = 'soon' was taken")
	}
}
