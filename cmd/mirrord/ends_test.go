// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
)

// A signal ends a command that waits for what another program says.
func TestSignalEndsWaiting(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	if err := syscall.Mkfifo(list, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"console", "user", "add", "bob", "--stdin"}, context.Canceled.Error()},
		{[]string{"replicas", "--urls", "-"}, context.Canceled.Error()},
		{[]string{"replicas", "--urls", list}, "it is a named pipe and no regular file"},
		{[]string{"replay", list}, "it is a named pipe and no regular file"},
		{[]string{"verify", list}, "it is a named pipe and no regular file"},
	} {
		stdin, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		var out, errs bytes.Buffer
		e := cli.Environ{
			Stdin:     stdin,
			Stdout:    &out,
			Stderr:    &errs,
			LookupEnv: func(string) (string, bool) { return "", false },
		}
		done := make(chan int, 1)
		go func() { done <- run(ctx, e, append(tc.args, "--state", dir, "--jobs", dir)) }()
		select {
		case code := <-done:
			if code != cli.ExitError || !strings.Contains(errs.String(), tc.want) {
				t.Errorf("%v: exit code %d: %s", tc.args, code, &errs)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%v does not end", tc.args)
		}
		cancel()
		w.Close()
	}
}
