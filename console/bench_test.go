// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/app/daemon"
	"mirrord/store"
	"mirrord/store/shared"
)

// newThousand is the console of a daemon with 1 001 mirrors of a small site, on the disk, with all pages on.
func newThousand(b *testing.B) *browser {
	b.Helper()
	whole, _ := newWhole(b)
	c := newBrowser(b, func(o *Options) {
		whole(o)
		dir, err := o.App.State()
		if err != nil {
			b.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(o.App.Jobs, "site.toml"))
		if err != nil {
			b.Fatal(err)
		}
		for i := range 1000 {
			name := fmt.Sprintf("job%04d", i)
			if err := os.WriteFile(filepath.Join(o.App.Jobs, name+".toml"), text, 0o644); err != nil {
				b.Fatal(err)
			}
			to := filepath.Join(dir, "sites", name)
			if err := os.CopyFS(to, os.DirFS(filepath.Join(dir, "sites", "site"))); err != nil {
				b.Fatal(err)
			}
		}
		st, err := store.OpenState(dir, store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { st.Close() })
		d, err := daemon.NewDaemon(o.App, st, daemon.DaemonOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Reload(); err != nil {
			b.Fatal(err)
		}
		o.Daemon, o.Facts = d, shared.NewConsoleFacts(st.Shared)
	})
	c.ordered(c.srv.Orders)
	c.login(Operate)
	return c
}

// What pages cost the server with a thousand mirrors, when nothing of the daemon's status is kept from the
// request before: go test -run xxx -bench Pages ./console
func BenchmarkPages(b *testing.B) {
	c := newThousand(b)
	if n := len(c.srv.Daemon.Glance().Jobs); n != 1001 {
		b.Fatalf("%d jobs", n)
	}
	ask := func(path string) {
		c.srv.fresh.drop()
		c.change = func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }
		if w := c.do(path, nil); w.Code != http.StatusOK {
			b.Fatalf("%s: %d", path, w.Code)
		}
	}
	all := pageAddresses()
	for _, pattern := range slices.Sorted(maps.Keys(all)) {
		for _, path := range all[pattern] {
			if pageStatus(path) != http.StatusOK {
				continue
			}
			b.Run(strings.TrimPrefix(pattern, "GET "), func(b *testing.B) {
				ask(path) // titles of a version are read once
				before := cpuTime(b)
				for b.Loop() {
					ask(path)
				}
				b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// cpuTime is the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
