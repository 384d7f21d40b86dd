// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// killSite is a site of pages in folders that link to one another and to pictures. One page in seven is
// another one in each edition.
type killSite struct {
	pages int

	mu      sync.Mutex
	edition int
	delay   time.Duration
	asked   map[string]int // bodies that were sent, by path
	served  chan struct{}
}

func (s *killSite) path(n int) string { return fmt.Sprintf("/d%d/p%d.html", n%20, n) }

func (s *killSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	edition, delay := s.edition, s.delay
	s.mu.Unlock()
	time.Sleep(delay) // so that the process is killed between answers
	defer func() {
		select {
		case s.served <- struct{}{}:
		default:
		}
	}()
	var d, n int
	switch c, _ := fmt.Sscanf(r.URL.Path, "/d%d/p%d.html", &d, &n); {
	case r.URL.Path == "/":
	case strings.HasPrefix(r.URL.Path, "/img/"):
		s.send(w, r, "image/png", `"1"`, "\x89PNG\r\n\x1a\n"+r.URL.Path+strings.Repeat("\x00image", 300))
		return
	case c != 2 || r.URL.Path != s.path(n):
		http.NotFound(w, r)
		return
	}
	mark := 1
	if n%7 == 3 || n == 0 {
		mark = edition
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><title>page %d</title><p>edition %d</p>", n, mark)
	fmt.Fprintf(&b, "<img src=/img/%d.png>\n", n%40)
	for i := 6*n + 1; i <= 6*n+6 && i < s.pages; i++ {
		fmt.Fprintf(&b, "<a href=%s>%d</a>\n", s.path(i), i)
	}
	b.WriteString(strings.Repeat(fmt.Sprintf("words of page %d. ", n), 40+n%200))
	s.send(w, r, "text/html; charset=utf-8", fmt.Sprintf(`"%d-%d"`, n, mark), b.String())
}

// send answers a request, which may be conditional, and counts bodies.
func (s *killSite) send(w http.ResponseWriter, r *http.Request, mime, etag, body string) {
	w.Header().Set("Content-Type", mime)
	w.Header().Set("Etag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.mu.Lock()
	s.asked[r.URL.Path]++
	s.mu.Unlock()
	fmt.Fprint(w, body)
}

// set begins an edition.
func (s *killSite) set(edition int, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edition, s.delay, s.asked = edition, delay, map[string]int{}
}

// twice counts the bodies that were sent again.
func (s *killSite) twice() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.asked {
		n += times - 1
	}
	return n
}

// bodies counts the paths of which bodies were sent.
func (s *killSite) bodies() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// filesBelow returns the digests of the files below a folder; phm.json without the time of the retrieval.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, p))
		if err == nil && p == "phm.json" {
			var m map[string]any
			err = json.Unmarshal(data, &m)
			delete(m, "retrieved")
			data, _ = json.Marshal(m)
		}
		out[p] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sameFiles compares digests by path.
func sameFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	for p := range want {
		if got[p] != want[p] {
			t.Errorf("%s is missing or differs", p)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
}

// getFast is a one-off mirror of a site that need not be spared.
func getFast(url, out string) *exec.Cmd {
	return exec.Command("mirrord", "get", url, "-o", out, "--set", "polite.connections=8",
		"--set", "polite.delay=0s", "--set", "polite.factor=0", "--set", "full_runs=99",
		"--set", "limits.max_delete=0.9", "--set", "limits.min_free=0")
}

// The disk becomes full while a one-off mirror retrieves, and while it places files and the rests of its
// documents. Each time it ends with an error that names the disk, and resumes when there is more space.
func TestGetDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=500k"); err != nil {
		t.Skipf("it needs a small disk, and mounting is not permitted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	s := &killSite{pages: 200, served: make(chan struct{}, 1)}
	srv := httptest.NewServer(s)
	defer srv.Close()
	calm, out := filepath.Join(t.TempDir(), "out"), filepath.Join(dir, "out")
	s.set(1, 0)
	if said, err := getFast(srv.URL+"/", calm).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	retrieving, placing := 0, 0
	for size := 500; ; size += size / 5 {
		if size > 40_000 {
			t.Fatal("40 MB are not enough")
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%dk", size)); err != nil {
			t.Fatal(err)
		}
		s.set(1, 0)
		said, err := getFast(srv.URL+"/", out).CombinedOutput()
		if err == nil {
			break
		}
		if !strings.Contains(string(said), "space") {
			t.Fatalf("%d kB: %v\n%s", size, err, said)
		}
		if s.bodies() > 0 {
			retrieving++
		} else {
			placing++
		}
	}
	t.Logf("the disk was full %d times while bodies came, %d times after that", retrieving, placing)
	if retrieving == 0 {
		t.Error("the disk was never full while bodies came")
	}
	sameFiles(t, filesBelow(t, out), filesBelow(t, calm))
}

// A one-off mirror is killed again and again, while it retrieves, while it publishes and while it settles
// the rest of its documents: the same command ends in the files of a mirror that nothing disturbed.
func TestGetKilledAnywhere(t *testing.T) {
	t.Parallel()
	s := &killSite{pages: 200, served: make(chan struct{}, 1<<16)}
	kills, editions := 4, 2
	if os.Getenv("MIRRORD_LONG") != "" {
		s.pages, kills, editions = 1500, 60, 3
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	get := func(out string) *exec.Cmd { return getFast(srv.URL+"/", out) }
	complete := func(out string) {
		t.Helper()
		if said, err := get(out).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	calm, out := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "out")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for edition := 1; edition <= editions; edition++ {
		s.set(edition, 0)
		complete(calm)
		s.set(edition, time.Millisecond)
		killed := 0
		for range kills {
			for len(s.served) > 0 {
				<-s.served
			}
			cmd := get(out)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			if done := killAfter(cmd, s.served, ended, rng.IntN(s.pages), time.Duration(rng.IntN(150))*
				time.Millisecond); !done {
				killed++
			}
		}
		complete(out)
		t.Logf("edition %d: %d of %d runs were killed, %d bodies were sent again", edition, killed, kills,
			s.twice())
		if sameFiles(t, filesBelow(t, out), filesBelow(t, calm)); t.Failed() {
			t.FailNow()
		}
	}
	if said, err := exec.Command("mirrord", "verify", out).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// killAfter kills a command after so many requests and some time, and waits for it. It reports whether the
// command ended by itself before.
func killAfter(
	cmd *exec.Cmd, served <-chan struct{}, ended <-chan error, requests int, then time.Duration,
) bool {
	for range requests {
		select {
		case <-served:
		case <-ended:
			return true
		}
	}
	select {
	case <-ended:
		return true
	case <-time.After(then):
	}
	cmd.Process.Kill()
	<-ended
	return cmd.ProcessState.Success()
}
