// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"os"
	"path/filepath"
	"testing"

	"mirrord/mirror"
)

// A file whose published bytes are wrong, which no folder shows, is not linked into the next version: it is
// made again.
func TestWrongFileIsNotLinked(t *testing.T) {
	for _, h := range harms() {
		if h.name == "missing" || h.name == "cut" {
			continue // the size shows it
		}
		for _, file := range []string{"page01.html", "img/logo.png"} {
			tw := pictured(t)
			tw.run("first", true)
			harmFile(t, filepath.Join(tw.site(), "current", file), h, true)
			tw.change()
			tw.run("second", true) // compares what readers see
		}
	}
}

// A picture whose bytes are wrong under all its names is not linked into the next version: that waits for the
// next run, which requests it again.
func TestWrongBlobIsNotLinked(t *testing.T) {
	tw := pictured(t)
	tw.run("first", true)
	name := filepath.Join(tw.site(), "current/img/logo.png")
	fi, err := os.Stat(name)
	must(t, err)
	b, err := os.ReadFile(name)
	must(t, err)
	b[len(b)/2] ^= 1
	must(t, os.WriteFile(name, b, 0o644))
	must(t, os.Chtimes(name, fi.ModTime(), fi.ModTime()))
	tw.hurt.Damaged = true
	tw.change()
	wantVerdict(t, tw.hurt.Run(), mirror.Partial, false)
	tw.web.Requests()
	wantVerdict(t, tw.hurt.Run(), mirror.Complete, true)
	again := 0
	for _, r := range tw.web.Requests() {
		if r.URL == home+"/img/logo.png" && !r.Conditional {
			again++
		}
	}
	if again != 1 {
		t.Errorf("requested %d times, want once", again)
	}
	wantVerdict(t, tw.well.Run(), mirror.Complete, true)
	wantSame(t, "repaired", published(tw.hurt, t), published(tw.well, t))
}
