// SPDX-License-Identifier: Apache-2.0

package count_test

import (
	"testing"
	"time"

	"mirrord/internal/count"
)

func TestOf(t *testing.T) {
	for _, x := range []struct{ got, want string }{
		{count.Of(0, "file"), "0 files"},
		{count.Of(int64(1), "file"), "1 file"},
		{count.Of(uint64(2), "file"), "2 files"},
		{count.Of(1, "body is", "bodies are"), "1 body is"},
		{count.Of(2, "body is", "bodies are"), "2 bodies are"},
	} {
		if x.got != x.want {
			t.Errorf("%q, want %q", x.got, x.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "0s",
		1234 * time.Millisecond:               "1.23s",
		23456 * time.Millisecond:              "23.5s",
		time.Minute:                           "1m",
		10*time.Minute + 3*time.Second:        "10m3s",
		time.Hour:                             "1h",
		90*time.Minute + 300*time.Millisecond: "1h30m",
		time.Hour + time.Second:               "1h0m1s",
		-10 * time.Minute:                     "-10m",
	} {
		if got := count.Span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour:       "1 s",
		0:                "1 s",
		45 * time.Second: "45 s",
		12 * time.Minute: "12 min",
		5 * time.Hour:    "5 h",
		80 * time.Hour:   "3 days",
	} {
		if got := count.Ago(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
