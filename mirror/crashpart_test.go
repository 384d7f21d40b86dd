// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mirrord/fetch"
	jobs "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/source"
	"mirrord/site"
)

// isoSite is a page that links to one large file. Its answers stall when the file has been sent up to a given
// place.
type isoSite struct {
	srv  *httptest.Server
	lies bool          // it answers a Range regardless of If-Range
	wait time.Duration // before the file is sent

	mu      sync.Mutex
	file    []byte
	tag     string
	stall   int // bytes of the file after which an answer stalls, 0 never
	stalled chan struct{}
	sent    int      // bytes of the file since the last call of took
	ranges  []string // Range and If-Range of each request
}

func newISOSite(t *testing.T, size int) *isoSite {
	s := &isoSite{stalled: make(chan struct{}, 100)}
	s.change(size, 1)
	s.srv = httptest.NewServer(s)
	t.Cleanup(s.srv.Close)
	return s
}

// change makes the file another one.
func (s *isoSite) change(size int, version byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = make([]byte, size)
	rand.NewChaCha8([32]byte{version}).Read(s.file)
	s.tag = fmt.Sprintf(`"v%d"`, version)
}

func (s *isoSite) stallAt(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stall = n
}

// took returns what was sent of the file since the last call, and the ranges that were asked for.
func (s *isoSite) took() (sent int, ranges []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, ranges = s.sent, s.ranges
	s.sent, s.ranges = 0, nil
	return sent, ranges
}

func (s *isoSite) digest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := sha256.Sum256(s.file)
	return hex.EncodeToString(d[:])
}

func (s *isoSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>images</title><a href=disk.iso>disk</a>")
		return
	case "/disk.iso":
	default:
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	file, tag, stall := s.file, s.tag, s.stall
	s.ranges = append(s.ranges, r.Header.Get("Range")+" "+r.Header.Get("If-Range"))
	s.mu.Unlock()
	select {
	case <-time.After(s.wait):
	case <-r.Context().Done():
	}
	if s.lies {
		r.Header.Del("If-Range")
	}
	w.Header().Set("Content-Type", "application/x-iso9660-image")
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "", time.Unix(1e9, 0), &isoReader{
		s:     s,
		r:     r,
		file:  file,
		stall: stall,
	})
}

// isoReader reads the file as it is sent, and waits for the client to go where it is to stall.
type isoReader struct {
	s     *isoSite
	r     *http.Request
	file  []byte
	at    int64
	stall int
}

func (f *isoReader) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += f.at
	case io.SeekEnd:
		off += int64(len(f.file))
	}
	f.at = off
	return off, nil
}

func (f *isoReader) Read(p []byte) (int, error) {
	if f.at >= int64(len(f.file)) {
		return 0, io.EOF
	}
	rest := f.file[f.at:]
	if f.stall > 0 {
		if rest = f.file[min(int(f.at), f.stall):f.stall]; len(rest) == 0 {
			f.s.stalled <- struct{}{}
			<-f.r.Context().Done()
			return 0, context.Cause(f.r.Context())
		}
	}
	n := copy(p, rest)
	f.at += int64(n)
	f.s.mu.Lock()
	f.s.sent += n
	f.s.mu.Unlock()
	return n, nil
}

// cutOff starts a run, waits until the site stalls and a little longer, and ends it. What the site has sent
// is on the disk then but for what the buffers of the connection hold, 10 MiB at most.
func cutOff(t *testing.T, s *isoSite, dir string, longer time.Duration, sig syscall.Signal) {
	t.Helper()
	p := startCrash(t, dir, s.srv.URL+"/")
	select {
	case <-s.stalled:
	case err := <-p.done:
		t.Fatalf("it ended: %v\n%s", err, p.out)
	}
	select {
	case err := <-p.done:
		t.Fatalf("it ended: %v\n%s", err, p.out)
	case <-time.After(longer):
	}
	p.cmd.Process.Signal(sig)
	want := -1
	if sig != syscall.SIGKILL {
		want = exitPartial
	}
	if code := p.wait(t); code != want {
		t.Fatalf("exit %d\n%s", code, p.out)
	}
}

// goesOn makes the run that follows, whole, and checks what it published. It returns what was sent of the
// file.
func goesOn(t *testing.T, s *isoSite, dir string) (sent int, ranges []string) {
	t.Helper()
	s.stallAt(0)
	s.took()
	p := startCrash(t, dir, s.srv.URL+"/")
	if code := p.wait(t); code != exitComplete {
		t.Fatalf("exit %d\n%s", code, p.out)
	}
	sent, ranges = s.took()
	if got, want := publishedTree(t, dir)["disk.iso"], s.digest(); got != want {
		t.Errorf("disk.iso has the digest %s, want %s", got, want)
	}
	left, err := filepath.Glob(filepath.Join(dir, "sites", crashJob, "parts", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	verifyClean(t, dir)
	return sent, ranges
}

const (
	mib = 1 << 20
	iso = 48 * mib
)

// A kill costs what came after the last note: no large file starts again.
func TestLargeFileGoesOnAfterKills(t *testing.T) {
	t.Parallel()
	s := newISOSite(t, iso)
	rng := crashRand(t)
	dir := t.TempDir()
	sent := 0
	for _, at := range []int{12 * mib, 21 * mib, 21*mib + 1, 40 * mib} {
		s.stallAt(at)
		cutOff(t, s, dir, time.Duration(rng.IntN(300))*time.Millisecond, syscall.SIGKILL)
		n, _ := s.took()
		sent += n
	}
	n, ranges := goesOn(t, s, dir)
	sent += n
	if len(ranges) != 1 || !strings.HasSuffix(ranges[0], `- "v1"`) || strings.HasPrefix(ranges[0], "bytes=0") {
		t.Errorf("asked for %q", ranges)
	}
	// Per kill at most 8 MiB since the last note and what was on its way in the buffers of both sides.
	if most := iso + 4*(8+8)*mib; sent > most {
		t.Errorf("%d bytes were sent in all, at most %d were needed", sent, most)
	}
	t.Logf("%d MiB sent for a file of %d MiB and four kills; the last request was for %q", sent/mib,
		iso/mib, ranges)
}

// A run that ends in order loses nothing of what has come.
func TestLargeFileGoesOnAfterInterruption(t *testing.T) {
	t.Parallel()
	s := newISOSite(t, iso)
	dir := t.TempDir()
	s.stallAt(12 * mib)
	cutOff(t, s, dir, 200*time.Millisecond, syscall.SIGTERM)
	fi, err := filepath.Glob(filepath.Join(dir, "sites", crashJob, "parts", "*.body"))
	if err != nil || len(fi) != 1 {
		t.Fatalf("%v, %v", fi, err)
	}
	st, err := os.Stat(fi[0])
	if err != nil {
		t.Fatal(err)
	}
	if sent, ranges := goesOn(t, s, dir); int64(sent) != iso-st.Size()+1 {
		t.Errorf("%d bytes sent (%q), %d were there", sent, ranges, st.Size())
	}
}

// A file that changed in between is taken whole: nothing of the old one is in it, whether the site says so or
// not.
func TestLargeFileThatChangesInBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lies bool
		size int
		asks int
	}{
		{"said", false, iso, 1},
		{"not said", true, iso, 2},     // a 206 with another tag
		{"shorter", true, 10 * mib, 2}, // 416
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newISOSite(t, iso)
			s.lies = c.lies
			dir := t.TempDir()
			s.stallAt(20 * mib)
			cutOff(t, s, dir, 100*time.Millisecond, syscall.SIGKILL)
			s.change(c.size, 2)
			sent, ranges := goesOn(t, s, dir)
			if sent < c.size || sent > c.size+c.size/2 || len(ranges) != c.asks ||
				!strings.HasSuffix(ranges[0], ` "v1"`) {
				t.Errorf("%d bytes sent, asked for %q", sent, ranges)
			}
		})
	}
}

// A newer file whose beginning came does not spoil the one that is published, and takes its place when it has
// come whole.
func TestLargeFileOfThePublishedVersion(t *testing.T) {
	t.Parallel()
	s := newISOSite(t, iso)
	dir := t.TempDir()
	goesOn(t, s, dir)
	old := publishedTree(t, dir)["disk.iso"]
	s.change(iso+mib, 2)
	s.stallAt(30 * mib)
	cutOff(t, s, dir, 100*time.Millisecond, syscall.SIGKILL)
	if got := publishedTree(t, dir)["disk.iso"]; got != old {
		t.Error("the published file has changed")
	}
	verifyClean(t, dir)
	if sent, ranges := goesOn(t, s, dir); sent > 40*mib || len(ranges) != 1 {
		t.Errorf("%d bytes sent, asked for %q", sent, ranges)
	}
}

// The bytes in the folder are not those that came: the file is taken whole.
func TestLargeFileWhosePartWasDamaged(t *testing.T) {
	t.Parallel()
	s := newISOSite(t, iso)
	dir := t.TempDir()
	s.stallAt(20 * mib)
	cutOff(t, s, dir, 100*time.Millisecond, syscall.SIGKILL)
	parts, err := filepath.Glob(filepath.Join(dir, "sites", crashJob, "parts", "*.body"))
	if err != nil || len(parts) != 1 {
		t.Fatalf("%v, %v", parts, err)
	}
	f, err := os.OpenFile(parts[0], os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(make([]byte, 4096), 4*mib) // as a page that the disk never got
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if sent, ranges := goesOn(t, s, dir); sent != iso || len(ranges) != 1 || ranges[0] != " " {
		t.Errorf("%d bytes sent, asked for %q", sent, ranges)
	}
}

// One large file that fills the disk stops the run before it is full, although nothing else is committed
// meanwhile. With more room it resumes.
func TestLargeFileLeavesMinFree(t *testing.T) {
	t.Parallel()
	dir, ok := smallDisk(t, "100m")
	if !ok {
		return
	}
	s := newISOSite(t, iso)
	s.stallAt(iso - 4*mib)
	s.wait = time.Second // the page is committed meanwhile
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Minute)
	defer stop()
	sum, err := crashRun(ctx, dir, s.srv.URL+"/", func(j *jobs.Job) { j.Limits.MinFree = 70 * mib })
	if err != nil || sum.Verdict != mirror.Partial ||
		!strings.Contains(strings.Join(sum.Reasons, " "), "limits.min_free") {
		t.Fatalf("%v, %v", sum, err)
	}
	if sent, _ := goesOn(t, s, dir); sent > iso-16*mib {
		t.Errorf("%d bytes sent to resume", sent)
	}
}

// limits.max_body = 0 is no limit at all, also beyond what the client takes for its own.
func TestNoLimitOfBodies(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000000000")
		w.Write(make([]byte, 1000))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer srv.Close()
	for limit, want := range map[jobs.Size]error{0: fetch.ErrTruncated, 4_900_000_000: fetch.ErrTooLarge} {
		j := jobs.Default(srv.URL + "/")
		j.Limits.MaxBody, j.Limits.Retries = limit, 0
		c, err := source.NewClient(j, source.Surroundings{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(t.Context(), fetch.Request{URL: site.Canonical(srv.URL + "/"), MaxBody: int64(limit)}, nil)
		c.Close()
		if !errors.Is(err, want) {
			t.Errorf("max_body = %d: %v, want %v", limit, err, want)
		}
	}
}
