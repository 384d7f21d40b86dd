// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func vars(kv ...string) func(string) (string, bool) {
	return func(k string) (string, bool) {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == k {
				return kv[i+1], true
			}
		}
		return "", false
	}
}

func TestNotify(t *testing.T) {
	if err := Notify(vars(), "READY=1"); err != nil {
		t.Errorf("without systemd: %v", err)
	}
	path := filepath.Join(t.TempDir(), "n")
	for _, addr := range []string{path, "@mirrord-test-" + strconv.Itoa(os.Getpid())} {
		name := addr
		if name[0] == '@' {
			name = "\x00" + name[1:]
		}
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := Notify(vars("NOTIFY_SOCKET", addr), "READY=1\nSTATUS=3 jobs"); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		n, err := l.Read(buf)
		if err != nil || string(buf[:n]) != "READY=1\nSTATUS=3 jobs" {
			t.Errorf("%q, %v", buf[:n], err)
		}
	}
	if err := Notify(vars("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none")), "READY=1"); err == nil {
		t.Error("no listener, and there is no error")
	}
}

// A systemd that does not read does not stop the service.
func TestNotifyDoesNotWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := 0; ; i++ { // until its queue is full (net.unix.max_dgram_qlen, some ten messages)
		if err := Notify(vars("NOTIFY_SOCKET", path), "WATCHDOG=1"); errors.Is(err, os.ErrDeadlineExceeded) {
			return
		} else if err != nil || i > 10_000 {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

func TestWatchdog(t *testing.T) {
	for _, tc := range []struct {
		usec, pid string
		want      time.Duration
	}{{"30000000", "7", 30 * time.Second}, {"30000000", "8", 0}, {"", "7", 0}, {"-1", "7", 0}, {"x", "7", 0}} {
		if got := Watchdog(vars("WATCHDOG_USEC", tc.usec, "WATCHDOG_PID", tc.pid), 7); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
	if got := Watchdog(vars("WATCHDOG_USEC", "1000"), 7); got != time.Millisecond {
		t.Errorf("without a pid: %v", got)
	}
}

func TestNoListeners(t *testing.T) {
	for _, v := range []func(string) (string, bool){
		vars(), vars("LISTEN_PID", "8", "LISTEN_FDS", "1"), vars("LISTEN_PID", "7", "LISTEN_FDS", "0"),
		vars("LISTEN_PID", "7", "LISTEN_FDS", "x"), vars("LISTEN_PID", "7", "LISTEN_FDS", "100000"),
	} {
		if got, err := Listeners(v, 7); len(got) != 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
}
