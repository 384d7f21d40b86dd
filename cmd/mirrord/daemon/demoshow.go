// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"mirrord/internal/demosite"
)

// show shows what came of the story until ctx ends: a daemon on the mirror with its console, and the mirror
// as mirrord serve shows it. The clock goes on from the last week.
func (d *demo) show(ctx context.Context) error {
	jobs := filepath.Join(d.dir, "jobs.d")
	if err := os.MkdirAll(jobs, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(jobs, DemoName+".toml"), d.job.Marshal(), 0o644); err != nil {
		return err
	}
	mirrors, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d.week, d.began = demosite.Published(demosite.Versions()).Add(2*time.Hour), time.Now()
	a := *d.CLI
	a.StateFlag, a.JobsFlag, a.Clock = d.dir, jobs, d.now
	say := d.say
	a.Stdout = io.Discard
	if !a.Verbose {
		a.Stderr = io.Discard // the log of the daemon; an error that ends it is returned
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var shown error
	var wg sync.WaitGroup
	wg.Go(func() {
		defer end()
		shown = runServe(ctx, &a, nil, serveFlags{opened: mirrors})
	})
	err = runDaemon(ctx, &a, daemonFlags{
		mode:    "0600",
		maxRuns: 1,
		poll:    time.Second,
		within:  10 * time.Second,
		console: consoleFlags{
			listen:  "127.0.0.1:0",
			mirrors: "http://" + mirrors.Addr().String(),
			greet: func(link string) {
				say("The same with older versions by date: http://%s/", mirrors.Addr())
				say("The console, logged in: %s", link)
				say("Press ^C to end.")
			},
		},
	}, new(pflag.FlagSet))
	end()
	wg.Wait()
	return errors.Join(err, shown)
}
