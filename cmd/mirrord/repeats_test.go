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

	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/daemon"
)

// A warning that comes again as it was is logged once an hour, with how many were left out; others are not
// touched, and memory is bounded.
func TestWarningsRepeatSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log, err := daemon.DaemonLog(&out, daemon.LogText, slog.LevelInfo, func(string) (string,
			bool) {
			return "", false
		})
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
		for i := range 3 * cli.MostSaid {
			log.Warn("one of many", "n", i)
		}
		if n := len(log.Handler().(*cli.Repeats).Said.All); n > cli.MostSaid {
			t.Errorf("%d are remembered", n)
		}
	})
}
