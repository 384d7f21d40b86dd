// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mirror_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/internal/texts"
	"mirrord/mirror"
	"mirrord/store/disk"
	"mirrord/testing/mirrortest"
)

// The disk returns other bytes than were written to the file that has the URLs of a run: the run ends, says
// why, and keeps nothing that it made of them. The next one resumes.
func TestURLsFileLies(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	r := rand.New(rand.NewPCG(1, 2))
	var links strings.Builder
	const urls = 8000 // 4.7 MB of them
	for i := range urls {
		var name strings.Builder
		for range 37 {
			fmt.Fprintf(&name, "%016x", r.Uint64())
		}
		p := fmt.Sprintf("/%s.html", &name)
		fmt.Fprintf(&links, "<a href=%s>%d</a>\n", p, i)
		if i%100 == 0 {
			w.Set(home+p, mirrortest.HTML("Page", fmt.Sprint("page ", i)))
		}
	}
	w.Set(home+"/", mirrortest.HTML("Home", links.String()))
	m := mirrortest.New(t, w, job())
	m.Durable = true
	// What was read once is remembered. A busy machine may have read all before the hundredth request, so that
	// the file is damaged as soon as it is there.
	var damaged atomic.Int64
	w.Hook(func(*http.Request) {
		if damaged.Load() < 50 {
			damaged.Add(overwriteURLs(t, m.Dir))
		}
	})
	const why = "read URLs from a scratch file"
	s, err := m.RunWith(t.Context(), func(*mirror.Options) {})
	if disk := new(disk.DiskError); !errors.As(err, &disk) || !strings.Contains(err.Error(), why) {
		t.Fatalf("error %v", err)
	}
	wantVerdict(t, s, mirror.Partial, false)
	if !strings.Contains(strings.Join(s.Reasons, "\n"), why) {
		t.Errorf("reasons %q", s.Reasons)
	}
	w.Hook(nil)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	outcomes := m.Outcomes()
	for u := range outcomes {
		if u == texts.Unreadable || !strings.HasPrefix(u, home+"/") {
			t.Errorf("%s is known", u)
		}
	}
	if n, pages := len(outcomes), len(m.Paths()); n != urls+1 || pages < urls/100+1 {
		t.Errorf("%d URLs, %d files", n, pages)
	}
}

// overwriteURLs changes what this process has written to files without a name below a folder, and returns how
// many hold URLs.
func overwriteURLs(t *testing.T, dir string) (n int64) {
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Error(err)
	}
	for _, fd := range fds {
		f, err := os.OpenFile(fd, os.O_RDWR, 0)
		if err != nil {
			continue // it is closed by now, or no file
		}
		to, err := os.Readlink(fmt.Sprint("/proc/self/fd/", f.Fd()))
		fi, err2 := f.Stat()
		err = errors.Join(err, err2)
		if err == nil && strings.HasPrefix(to, dir) && strings.HasSuffix(to, " (deleted)") && fi.Size() >= 4<<20 {
			n++
			_, err = f.WriteAt(make([]byte, fi.Size()), 0)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Error(err)
		}
	}
	return n
}
