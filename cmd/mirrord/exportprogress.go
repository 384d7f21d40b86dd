// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"
)

// exportProgress returns the function that shows on a terminal how much of a mirror was exported, nil when
// nothing is to be shown; end takes its line away.
func exportProgress(a *cli, name string) (show func(done, total int64), end func()) {
	if !a.screen.drawn || a.json {
		return nil, func() {}
	}
	var last time.Time
	drawn := false
	show = func(done, total int64) {
		now := time.Now()
		if now.Sub(last) < drawEvery || total == 0 {
			return
		}
		last, drawn = now, true
		line := fmt.Sprintf("%s: %d %% of %s", name, 100*done/total, bytesText(total))
		fmt.Fprintf(a.stderr, "\r\x1b[K%.*s", a.screen.width(), line)
	}
	return show, func() {
		if drawn {
			fmt.Fprint(a.stderr, "\r\x1b[K")
		}
	}
}

// drawEvery is how often the line of an export is drawn again.
const drawEvery = 200 * time.Millisecond
