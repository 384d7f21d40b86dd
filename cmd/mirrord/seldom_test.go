// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A warning that comes again as it was is logged once an hour, with how many were left out; others are not
// touched, and what is remembered is bounded.
func TestWarningsRepeatSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log, err := daemonLog(&out, logText, slog.LevelInfo, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		site := log.With("site", "a")
		for range 3 * 60 {
			log.Error("records could not be saved", "err", fmt.Errorf("full"))
			site.Error("records could not be saved", "err", fmt.Errorf("full"))
			log.Info("run started")
			time.Sleep(time.Minute)
		}
		log.Error("records could not be saved", "err", fmt.Errorf("broken"))
		for text, want := range map[string]int{
			"err=full": 6, "site=a err=full": 3, "repeated=59": 4, "err=broken": 1, "run started": 180,
		} {
			if got := strings.Count(out.String(), text); got != want {
				t.Errorf("%q: %d times, want %d", text, got, want)
			}
		}
		for i := range 3 * mostSaid {
			log.Warn("one of many", "n", i)
		}
		if n := len(log.Handler().(*seldom).said.all); n > mostSaid {
			t.Errorf("%d are remembered", n)
		}
	})
}
