// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"log/slog"
	"os"
	"time"

	"mirrord/app/daemon"
	"mirrord/internal/systemd"
)

// lineEvery is how often is looked whether what systemd shows of the daemon has changed.
const lineEvery = time.Second

// Attend tells systemd how the daemon stands, and forgets what has not been needed for a day.
func Attend(a *CLI, ctx, work context.Context, d *daemon.Daemon, log *slog.Logger) {
	tell := func(state string) {
		if err := systemd.Notify(a.LookupEnv, state); err != nil {
			log.Warn("systemd", "err", err)
		}
	}
	every := time.Minute
	if w := systemd.Watchdog(a.LookupEnv, os.Getpid()); w > 0 {
		every = min(every, w/3)
	}
	t := time.NewTicker(every)
	defer t.Stop()
	ready, ending, pruned, told := false, ctx.Done(), time.Now(), ""
	first := time.NewTicker(50 * time.Millisecond) // until it is ready
	defer first.Stop()
	var look <-chan time.Time // stays nil without a listener
	if _, listens := a.LookupEnv("NOTIFY_SOCKET"); listens {
		lines := time.NewTicker(lineEvery)
		defer lines.Stop()
		look = lines.C
	}
	for {
		if !ready && d.Ready() {
			ready, told = true, d.Line()
			first.Stop()
			tell("READY=1\nSTATUS=" + told)
		}
		select {
		case <-work.Done():
			return
		case <-ending:
			ending, look = nil, nil
			tell("STOPPING=1\nSTATUS=ending")
		case <-first.C:
		case <-look:
			if line := d.Line(); ready && line != told {
				told = line
				tell("STATUS=" + line)
			}
		case <-t.C:
			if err := d.Alive(); err != nil {
				log.Error("the watchdog is not fed", "err", err)
				continue
			}
			tell("WATCHDOG=1")
			if now := time.Now(); now.Sub(pruned) > time.Hour {
				pruned = now
				d.Forget(now)
			}
		}
	}
}
