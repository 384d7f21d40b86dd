// SPDX-License-Identifier: Apache-2.0

// Command mirrord mirrors web sites: see docs/ and mirrord help.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"mirrord/internal/collector"
)

func main() { os.Exit(realMain()) }

// realMain lets the first signal end the work cleanly and the second one end the process.
func realMain() int {
	// as much as /debug/pprof/heap needs to show where memory lies: a stack for each 512 kB, as the runtime has
	// it, takes half a percent of the processor time of a run
	runtime.MemProfileRate = 8 << 20
	if os.Getenv("GOGC") == "" {
		// memory on a mirror host is dear, but with less than this the collector takes more than a tenth of the
		// processor time of a full run
		defer collector.Bound(collector.Slack{Percent: 50, Most: 8 << 20, Always: 40 << 20})()
	}
	log.SetOutput(io.Discard) // there net/http writes what a server sends on an idle connection
	// A write to a pipe without a reader is an error and does not end the process: a daemon outlives the reader
	// of its log, and an export removes its temporary files. Unlike signal.Ignore, programs that are started do
	// not inherit this.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, environment(), os.Args[1:])
}
