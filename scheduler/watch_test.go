// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Changes are seen when the system tells of them, and by looking where it does not.
func TestWatch(t *testing.T) {
	for name, o := range map[string]WatchOptions{
		"told":   {Poll: time.Hour, Settle: time.Millisecond},
		"looked": {Poll: 10 * time.Millisecond, NoTell: true},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "jobs.d")
			if name == "told" {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			looks := make(chan struct{}, 1000)
			again := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				Watch(ctx, []string{dir}, o, again, func() { looks <- struct{}{} })
			}()
			<-looks // at once
			if name == "looked" {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write(t, dir, "a.toml", goodJob)
			<-looks
			if err := os.Rename(filepath.Join(dir, "a.toml"), filepath.Join(dir, "b.toml")); err != nil {
				t.Fatal(err)
			}
			<-looks
			for len(looks) > 0 {
				<-looks
			}
			again <- struct{}{}
			<-looks
			cancel()
			<-done
		})
	}
}
