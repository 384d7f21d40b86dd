// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/evolution/policy"
	jobfile "mirrord/job"
)

// weeksServer serves the weeks of a site as a program beside the checkout writes them.
type weeksServer struct {
	weeks []map[string]weekFile // by path
	at    int
	asked atomic.Int64
}

type weekFile struct {
	body []byte
	time time.Time
}

func newWeeksServer(t *testing.T) *weeksServer {
	t.Helper()
	program := "../../shared/heart/weeks.py"
	if _, err := os.Stat(program); err != nil {
		t.Skipf("the program that writes the weeks is not beside the checkout: %s", program)
	}
	s := &weeksServer{}
	for n := range weeksOfHistory {
		dir := t.TempDir()
		write := exec.Command("python3", program, "write", strconv.Itoa(n), dir)
		if out, err := write.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		files := map[string]weekFile{}
		if err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			body, err := os.ReadFile(p)
			rel, _ := filepath.Rel(dir, p)
			// keep begins a year earlier
			files["/"+filepath.ToSlash(rel)] = weekFile{body, info.ModTime().AddDate(0, 0, -364)}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		s.weeks = append(s.weeks, files)
	}
	return s
}

func (s *weeksServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := r.URL.Path
	if strings.HasSuffix(p, "/") {
		p += "index.html"
	}
	if p != "/robots.txt" {
		s.asked.Add(1)
	}
	f, ok := s.weeks[s.at][p]
	if !ok {
		http.NotFound(w, r)
		return
	}
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(f.body))[:16])
	w.Header().Set("ETag", tag)
	w.Header().Set("Last-Modified", f.time.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Write(f.body)
}

func (s *weeksServer) state() map[string][32]byte {
	out := map[string][32]byte{}
	for p, f := range s.weeks[s.at] {
		out[strings.TrimSuffix(p, "index.html")] = sha256.Sum256(f.body)
	}
	return out
}

func (s *weeksServer) advance() (changed []string) {
	before := s.state()
	s.at++
	for p, d := range s.state() {
		if before[p] != d {
			changed = append(changed, p)
		}
	}
	return changed
}

func (s *weeksServer) count() int64 { return s.asked.Load() }

// weeksAsked are the requests of the weeks after the full runs, of how many changes how many were found.
type weeksAsked struct {
	asked           []int64 // sorted
	sum, most       int64   // most after the 6th week
	changes, missed int
}

func askedInWeeks(k kept) (w weeksAsked) {
	for i, x := range k.weeks {
		if week := i + 1; week >= 4 {
			w.asked, w.sum = append(w.asked, x.requests), w.sum+x.requests
			w.changes, w.missed = w.changes+x.changes, w.missed+x.changes-x.found
			if week > 6 {
				w.most = max(w.most, x.requests)
			}
		}
	}
	slices.Sort(w.asked)
	return w
}

// What the default requests in the weeks of a site of which most never changes, and what it finds.
func TestWeeksUnderTheDefault(t *testing.T) {
	t.Parallel()
	if !long() {
		t.Skip("the weeks take MIRRORD_LONG=1")
	}
	weekly := func(j *jobfile.Job) { j.FullRuns, j.Adaptive.LearnFor, j.Schedule = 3, "", "0 3 * * 1" }
	everything := keep(t, newWeeksServer(t), policy.Full, weeksOfHistory, weekly)
	full := askedInWeeks(everything)
	of := keep(t, newWeeksServer(t), policy.Adaptive, weeksOfHistory, weekly)
	w := askedInWeeks(of)
	share := float64(w.sum) / float64(full.sum)
	t.Logf("%.3f of full, median %d, most %d, %d of %d found, %d rules", share, w.asked[len(w.asked)/2], w.most,
		w.changes-w.missed, w.changes, len(of.rules))
	for dir := range of.rules {
		if _, known := everything.rules[dir]; !known {
			t.Errorf("%s has a rule that requesting everything contradicts", dir)
		}
	}
	if full.missed > 0 || share > 0.27 || w.most > 450 || w.missed > 6 || len(of.rules) < 30 {
		t.Errorf("that is too much, or finds too little: %+v", w)
	}
}
