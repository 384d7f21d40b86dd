// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// Nothing that is wrong is linked into a new tree, however large it is: a disk image of which the disk has
// changed one bit, with its size and time as they were, is made again from the stored body; when that is the
// same file, the version waits for the next run, which requests it again.
func TestLargeFileIsReadBeforeItIsLinked(t *testing.T) {
	image := strings.Repeat("the large image ", 33<<16)
	for _, c := range []struct {
		name, file string // file: a pattern, below the state
		requests   int    // for the image, without condition
	}{
		{"the published name", "sites/test/current/disk.iso", 0},
		{"all names", "blobs/??/*", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 3)
			w.Set(home+"/page01.html", mirrortest.HTML("One", `<a href="disk.iso">image</a>`))
			w.Set(home+"/disk.iso", mirrortest.Page{
				Header: map[string]string{"Content-Type": "application/octet-stream"},
				Body:   image,
			})
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			names, err := filepath.Glob(filepath.Join(m.Dir, c.file))
			if err != nil || len(names) != 1 {
				t.Fatal(names, err)
			}
			if c.requests == 0 {
				harmFile(t, names[0], harms()[0], true)
			} else {
				flipThrough(t, names[0])
			}
			w.Set(home+"/page02.html", mirrortest.HTML("Two", "changed"))
			w.Requests()
			m.Damaged = true
			if c.requests > 0 {
				wantVerdict(t, m.Run(), mirror.Partial, false)
			}
			wantVerdict(t, m.Run(), mirror.Complete, true)
			if got := m.Tree()["disk.iso"]; got != image {
				t.Errorf("the new version has %d bytes, and not those of the image", len(got))
			}
			requests := 0
			for _, r := range w.Requests() {
				if r.URL == home+"/disk.iso" && !r.Conditional {
					requests++
				}
			}
			if requests != c.requests {
				t.Errorf("requested %d times, want %d", requests, c.requests)
			}
		})
	}
}

// flipThrough flips a bit of a file through all its names, and keeps its time.
func flipThrough(t *testing.T, name string) {
	t.Helper()
	fi, err := os.Stat(name)
	must(t, err)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], fi.Size()/2)
	must(t, err)
	b[0] ^= 1
	_, err = f.WriteAt(b[:], fi.Size()/2)
	must(t, errors.Join(err, f.Close(), os.Chtimes(name, fi.ModTime(), fi.ModTime())))
}
