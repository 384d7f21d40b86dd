// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/app/daemon"
	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler/status"
)

// Strangers may reach the status page: no connection there is held for ever. A call on the socket may
// last as long as a run.
func TestDaemonTimeouts(t *testing.T) {
	a := &cli.CLI{Environ: cli.Environ{Stdout: io.Discard}}
	door := &consoleDoor{Face: new(daemon.Daemon), daemon: new(daemon.Daemon)}
	all, err := daemonServers(a, door, slog.New(slog.DiscardHandler),
		daemonFlags{listen: "127.0.0.1:0"}, nil, filepath.Join(t.TempDir(), "s"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range all {
		defer l.Close()
		s := l.srv
		if s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes > 64<<10 ||
			(s.WriteTimeout != 0) != (i == 1) {
			t.Errorf("server %d: %+v", i, s)
		}
	}
	if len(all) != 2 {
		t.Errorf("%d servers", len(all))
	}
}

// The daemon ends in a bounded time, even when some work does not.
func TestEndsWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			takes time.Duration
			want  bool
		}{{time.Second, true}, {time.Minute, false}} {
			var wg sync.WaitGroup
			wg.Go(func() { time.Sleep(tc.takes) })
			began := time.Now()
			if got := endsWithin(&wg, lastWait); got != tc.want || time.Since(began) != min(tc.takes, lastWait) {
				t.Errorf("%v: %v after %v", tc.takes, got, time.Since(began))
			}
			wg.Wait()
			synctest.Wait()
		}
	})
}

func TestDaemonLog(t *testing.T) {
	for form, want := range map[string]string{
		"":         `^time=\S+ level=WARN msg="two words" job=a err="no\\n<0>good"\n$`,
		LogText:    `^time=\S+ level=WARN msg="two words" job=a err="no\\n<0>good"\n$`,
		logJSON:    `^\{"time":".*","level":"WARN","msg":"two words","job":"a","err":"no\\n<0>good"\}\n$`,
		logJournal: `^<4>msg="two words" job=a err="no\\n<0>good"\n$`,
	} {
		var b bytes.Buffer
		log, err := DaemonLog(&b, form, 0, vars("JOURNAL_STREAM", "1:2"))
		if err != nil {
			t.Fatal(err)
		}
		log.Debug("not shown")
		log.With("job", "a").Warn("two words", "err", "no\n<0>good")
		if !regexp.MustCompile(want).MatchString(b.String()) {
			t.Errorf("%q: %q", form, b.String())
		}
	}
}

// Fields that say nothing are left out of every form of the log.
func TestLogHasNoEmptyFields(t *testing.T) {
	for _, form := range []string{LogText, logJSON, logJournal} {
		var out bytes.Buffer
		log, err := DaemonLog(&out, form, slog.LevelInfo, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		log.Info("run ended", "job", "a", "why", "", "err", error(nil), "set", []string(nil), "n", 0,
			"dropped", []int(nil), "by", map[string]int{}, "at", time.Time{}, "run", (*status.Job)(nil), "on", false)
		line := out.String()
		for field, want := range map[string]bool{
			"why":     false,
			"err":     false,
			"set":     false,
			"dropped": false,
			"by":      false,
			"at":      false,
			"run":     false,
			"job":     true,
			"n":       true,
			"on":      true,
		} {
			has := strings.Contains(line, " "+field+"=") || strings.Contains(line, `"`+field+`":`)
			if has != want {
				t.Errorf("%s: field %s: %s", form, field, line)
			}
		}
	}
}
