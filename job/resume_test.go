// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"
)

func TestResumeFor(t *testing.T) {
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour
	for schedule, want := range map[string]time.Duration{
		"":               week,
		"@every 6h":      12 * time.Hour,
		"@every 5m":      10 * time.Minute,
		"@every 400h":    week,
		"@hourly":        2 * time.Hour,
		"30 3 * * *":     2 * day,
		"30 3 * * 1-5":   6 * day, // over the weekend
		"0 9-17 * * *":   32 * time.Hour,
		"@weekly":        week,
		"@monthly":       week,
		"0 0 29 2 *":     week,
		"continuous":     2 * day,
		"not a schedule": week,
	} {
		j := Default("http://h/")
		j.Schedule, j.MaxInterval = schedule, day
		if got := ResumeFor(j); got != want {
			t.Errorf("%q: %v, want %v", schedule, got, want)
		}
	}
}

func TestTreeWait(t *testing.T) {
	for schedule, want := range map[string]time.Duration{
		"":               0,
		"@every 10m":     time.Minute,
		"@hourly":        6 * time.Minute,
		"30 3 * * *":     144 * time.Minute,
		"0 9,10 * * *":   6 * time.Minute, // the shorter of the two
		"continuous":     3 * time.Minute,
		"not a schedule": 0,
	} {
		j := Default("http://h/")
		j.Schedule, j.MinInterval = schedule, 30*time.Minute
		if got := TreeWait(j); got != want {
			t.Errorf("%q: %v, want %v", schedule, got, want)
		}
	}
}
