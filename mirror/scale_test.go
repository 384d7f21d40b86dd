// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/internal/collector"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/upkeep"
)

// scaleSite is a site of n pages of a size, in folders of 500, that is made as it is requested. Page k links
// to pages 10k+1 to 10k+10 and to its parent. Each hundredth page is another one in each edition. It answers
// conditional requests.
type scaleSite struct{ n, size, edition int }

// path of page k: its folder has pages that are far apart in the order in which they are found.
func (s scaleSite) path(k int) string {
	folders := max(1, s.n/500)
	return fmt.Sprintf("/some/folder/of/the/site/%d/page-%d.html", k*7919%folders, k)
}

func (s scaleSite) Do(_ context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	p := req.URL.Path()
	k, _ := strconv.Atoi(strings.TrimSuffix(p[strings.LastIndexByte(p, '-')+1:], ".html"))
	edition := 0
	if k%100 == 99 {
		edition = s.edition
	}
	etag := fmt.Sprintf(`"%d-%d"`, k, edition)
	res := &fetch.Result{Head: fetch.Head{
		Status:  200,
		MIME:    "text/html",
		Charset: "utf-8",
		ETag:    etag,
		Header:  http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Etag": {etag}},
	}}
	if req.ETag == etag {
		res.Status, res.NotModified = http.StatusNotModified, true
		return res, nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!DOCTYPE html><title>Page %d, edition %d</title><a href=%s>up</a>\n", k, edition,
		s.path(k/10))
	for i := 10*k + 1; i <= 10*k+10 && i < s.n; i++ {
		fmt.Fprintf(&b, "<a href=%s>%d</a>\n", s.path(i), i)
	}
	for word := uint64(k); b.Len() < s.size; {
		word = word*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "%x ", word>>40)
	}
	res.Kept, res.Length, res.Wire = true, int64(b.Len()), int64(b.Len())
	w, err := sink.Begin(&res.Head)
	if err == nil {
		_, err = io.Copy(w, &b)
	}
	return res, err
}

// scaleLine is what a step may take at most.
type scaleLine struct {
	written float64 // megabytes
	perURL  int64   // bytes of memory
}

// scaleLines are the lines for so many pages of 1.5 kB. Those of 100,000 are a third more than was measured:
// of the small steps the greater part is the program and what was not collected yet, which varies with the
// load. Those of a million are what the store and the table of URLs were made for.
var scaleLines = map[int]map[string]scaleLine{
	100_000: {
		"first":                          {written: 520, perURL: 690},
		"all requested, nothing changed": {written: 6, perURL: 290},
		"all requested, 1 % changed":     {written: 52, perURL: 480},
		"planned":                        {written: 2, perURL: 290},
		"plan":                           {written: 60, perURL: 200},
		"explain":                        {written: 60, perURL: 110},
		"explain --plan":                 {written: 60, perURL: 200},
		"verify --sample=1%":             {written: 60, perURL: 190},
	},
	1_000_000: {
		"first":                          {written: 9000, perURL: 120},
		"all requested, nothing changed": {written: 60, perURL: 120},
		"all requested, 1 % changed":     {written: 900, perURL: 140},
		"planned":                        {written: 60, perURL: 100},
		"plan":                           {written: 400, perURL: 100},
		"explain":                        {written: 400, perURL: 30},
		"explain --plan":                 {written: 400, perURL: 120},
		"verify --sample=1%":             {written: 400, perURL: 60},
	},
}

// scaleStep measures one step of TestScale.
func scaleStep(t *testing.T, dir string, n, pageSize int, name string, step func()) {
	t.Helper()
	debug.FreeOSMemory()
	most, program := rss(t), programRSS(t)
	base := most - program
	mostOwn := base
	stop := make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ticks := 0; ; ticks++ {
			select {
			case <-stop:
				return
			case <-tick.C:
				all := rss(t)
				most = max(most, all)
				// to ask each time would take a third of the run
				if all-program > mostOwn+int64(n) || ticks%50 == 0 {
					program = programRSS(t)
					mostOwn = max(mostOwn, all-program)
				}
			}
		}
	})
	var before, after syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	wrote, _ := written(t)
	start := time.Now()
	step()
	took := time.Since(start)
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	now, _ := written(t)
	close(stop)
	sampler.Wait()
	mostOwn = max(mostOwn, rss(t)-programRSS(t))
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	var size int64
	if fi, err := os.Stat(filepath.Join(dir, "sites", "tree", "site.db")); err == nil {
		size = fi.Size()
	}
	megabytes, perURL := float64(now-wrote)/1e6, (mostOwn-base)/int64(n)
	fmt.Printf("| %s | %.0f s | %.0f s | %.1f MB | %d MB | %d | %d MB |\n", name, took.Seconds(), cpu.Seconds(),
		megabytes, most>>20, perURL, size>>20)
	line, is := scaleLines[n][name]
	if !is || pageSize != 1500 {
		return
	}
	if megabytes > line.written || perURL > line.perURL {
		t.Errorf("%s: %.1f MB written and %d bytes a URL, at most %.1f and %d", name, megabytes, perURL,
			line.written, line.perURL)
	}
}

// TestScale makes the table of docs/engineering/scale.md: MIRRORD_SCALE is the number of pages,
// MIRRORD_SCALE_SIZE the bytes of each. TMPDIR is the disk. With 100,000 or 1,000,000 pages of 1500 bytes it
// fails when a step writes or takes more than it should.
func TestScale(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("MIRRORD_SCALE"))
	if n == 0 {
		t.Skip("MIRRORD_SCALE is not set")
	}
	size, _ := strconv.Atoi(os.Getenv("MIRRORD_SCALE_SIZE"))
	defer collector.Bound(collector.Slack{Percent: 50, Most: memorySlack})()
	dir, now := t.TempDir(), time.Now()
	s := scaleSite{n: n, size: size}
	job := func(o *mirror.Options) {
		o.Job = jobfile.Default("http://tree.example.org" + s.path(0))
		o.Job.Scope.Kind = "host"
		o.Job.Limits.MaxFiles = 0 // it is a million
		o.Job.ObeyRobots, o.Job.Polite.Connections, o.Job.Polite.Delay, o.Job.Polite.Factor = false, 16, 0, 0
		o.Fetcher, o.Now = s, func() time.Time { return now }
	}
	fmt.Println("| step | time | processor | written | memory | a URL | site.db |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	run := func(name string, change func(*mirror.Options)) {
		now = now.Add(24 * time.Hour)
		scaleStep(t, dir, n, size, name, func() { treeRun(t, dir, n, store.Options{}, change) })
	}
	run("first", job)
	run("all requested, nothing changed", job)
	s.edition++
	run("all requested, 1 % changed", job)
	plan := func(o *mirror.Options) {
		job(o)
		o.Job.FullRuns = 1
		if err := o.Job.Set("adaptive.learn_for", "0s"); err != nil {
			t.Fatal(err)
		}
	}
	run("planned", plan)
	reading := func(name string, f func(v *report.View, site *store.Site) error) {
		scaleStep(t, dir, n, size, name, func() {
			st, err := store.OpenState(dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			site, err := st.ViewSite("tree")
			if err != nil {
				t.Fatal(err)
			}
			defer site.Close()
			var o mirror.Options
			plan(&o)
			v := (*report.View)(nil)
			if strings.HasPrefix(name, "explain") {
				v, err = report.Open(o.Job, site, now.Add(24*time.Hour))
			} else if name == "plan" {
				v, err = report.Load(o.Job, site, now.Add(24*time.Hour))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := f(v, site); err != nil {
				t.Fatal(err)
			}
		})
	}
	reading("plan", func(v *report.View, _ *store.Site) error {
		_, err := v.Plan()
		return err
	})
	explain := func(v *report.View, _ *store.Site) error {
		_, err := v.Explain(t.Context(), nil, "http://tree.example.org"+s.path(n/2))
		return err
	}
	reading("explain", explain)
	reading("explain --plan", func(v *report.View, s *store.Site) error {
		v.PlanUpTo = math.MaxUint32
		return explain(v, s)
	})
	reading("verify --sample=1%", func(_ *report.View, site *store.Site) error {
		of := 0
		o := report.SampleOptions{Sampling: upkeep.Sampling{Pick: func(string) bool {
			of++
			return of%100 == 0
		}}}
		_, err := report.Sample(t.Context(), site, o, func(p upkeep.Problem) { t.Error(p) })
		return err
	})
}
