// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"fmt"
	"time"

	"mirrord/cmd/mirrord/cli"
)

// exportProgress returns the function that shows on a terminal how much of a mirror was exported, nil when
// nothing is to be shown; end takes its line away.
func exportProgress(a *cli.CLI, name string) (show func(done, total int64), end func()) {
	if !a.Screen.Drawn || a.JSON {
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
		line := fmt.Sprintf("%s: %d %% of %s", name, 100*done/total, cli.BytesText(total))
		fmt.Fprintf(a.Stderr, "\r\x1b[K%.*s", a.Screen.Width(), line)
	}
	return show, func() {
		if drawn {
			fmt.Fprint(a.Stderr, "\r\x1b[K")
		}
	}
}

// drawEvery is how often the line of an export is drawn again.
const drawEvery = 200 * time.Millisecond
