// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/internal/collector"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// treeSite is a site of n pages that is made as it is asked: page k links to pages 10k+1 to 10k+10, and to
// its parent.
type treeSite struct{ n int }

func (s treeSite) Do(_ context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	k, _ := strconv.Atoi(
		strings.TrimSuffix(strings.TrimPrefix(req.URL.Path(), "/some/folder/of/the/site/page-"), ".html"))
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><title>Page %d</title><a href=page-%d.html>up</a>\n", k, k/10)
	for i := 10*k + 1; i <= 10*k+10 && i < s.n; i++ {
		fmt.Fprintf(&b, "<p>See <a href=page-%d.html>page %d</a> for more.\n", i, i)
	}
	res := &fetch.Result{Head: fetch.Head{
		Status:  200,
		MIME:    "text/html",
		Charset: "utf-8",
		Header:  http.Header{},
		Length:  int64(b.Len()),
	}, Kept: true, Wire: int64(b.Len())}
	w, err := sink.Begin(&res.Head)
	if err == nil {
		_, err = io.WriteString(w, b.String())
	}
	return res, err
}

// memorySlack is how much memory cmd/mirrord leaves to the collector beyond the memory in use.
const memorySlack = 8 << 20

// rss is the memory of this process in bytes, files that are mapped included.
func rss(tb testing.TB) int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// programRSS is how much of that are pages of the program's file, which the kernel maps and drops by itself.
func programRSS(tb testing.TB) (size int64) {
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	of := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		name, rest, is := strings.Cut(line, ":")
		switch fields := strings.Fields(rest); {
		case strings.Contains(name, "-"): // an address, or two
			of = strings.HasSuffix(strings.TrimSpace(line), exe)
		case is && of && name == "Rss":
			kb, err := strconv.ParseInt(fields[0], 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			size += kb << 10
		}
	}
	return size
}

// treeRun makes a run over a site of n pages.
func treeRun(tb testing.TB, dir string, n int, o store.Options, change func(*mirror.Options)) {
	tb.Helper()
	st, err := store.OpenState(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("tree")
	if err != nil {
		tb.Fatal(err)
	}
	defer s.Close()
	j := jobfile.Default("http://tree.example.org/some/folder/of/the/site/page-0.html")
	j.ObeyRobots, j.Polite.Connections, j.Polite.Delay, j.Polite.Factor = false, 16, 0, 0
	with := mirror.Options{
		Confirm: -1,
		Job:     j,
		State:   st,
		Site:    s,
		Fetcher: treeSite{n},
		Hosts:   new(fetch.Hosts),
	}
	if change != nil {
		change(&with)
	}
	sum, err := mirror.Run(context.Background(), with)
	if err != nil || sum.Verdict != mirror.Complete || sum.Files != n {
		tb.Fatalf("run over %d pages: %v, %+v", n, err, sum)
	}
}

// peak is the most memory that a full run over n pages takes beyond what the process has before; planned is
// that of the run after it, in which a plan skips nearly all of them.
func peak(tb testing.TB, n int) (full, planned int64) {
	dir, now := tb.TempDir(), time.Now()
	run := func(change func(*mirror.Options)) int64 {
		debug.FreeOSMemory()
		before := rss(tb)
		most := before
		treeRun(tb, dir, n, store.Options{Volatile: true}, func(o *mirror.Options) {
			o.Progress = func(status.Progress) { most = max(most, rss(tb)) }
			change(o)
		})
		return max(most, rss(tb)) - before
	}
	full = run(func(o *mirror.Options) { o.Now = func() time.Time { return now } })
	planned = run(func(o *mirror.Options) {
		o.Now = func() time.Time { return now.Add(time.Hour) }
		o.Job.FullRuns = 1
		if err := o.Job.Set("adaptive.learn_for", "0s"); err != nil {
			tb.Fatal(err)
		}
	})
	return full, planned
}

// BenchmarkMemoryPerURL says by how much the memory of a full run, and of a planned one, grows with each URL:
// the difference of a large and a small site.
func BenchmarkMemoryPerURL(b *testing.B) {
	// as cmd/mirrord does for such a heap
	defer collector.Bound(collector.Slack{Percent: 50, Most: memorySlack})()
	for b.Loop() {
		small, large := 20_000, 200_000
		p, q := peak(b, small)
		x, y := peak(b, large)
		b.ReportMetric(float64(x-p)/float64(large-small), "bytes/URL")
		b.ReportMetric(float64(y-q)/float64(large-small), "planned-bytes/URL")
		b.ReportMetric(float64(p)/1e6, "MB-small")
		b.ReportMetric(float64(x)/1e6, "MB-large")
	}
}

// The memory of runs over a hundred thousand URLs stays below a line, for each of them: some 160 bytes on a
// machine without other work. On a busy one the collector is late.
func TestMemoryPerURLInBulk(t *testing.T) {
	if !long() {
		return
	}
	defer collector.Bound(collector.Slack{Percent: 50, Most: memorySlack})()
	small, large := 10_000, 110_000
	p, q := peak(t, small)
	x, y := peak(t, large)
	for _, c := range []struct {
		name      string
		got, most int64
	}{{"a full run", x - p, 300}, {"a planned run", y - q, 300}} {
		got := c.got / int64(large-small)
		t.Logf("%s: %d bytes a URL", c.name, got)
		if got > c.most {
			t.Errorf("%s takes %d bytes a URL, %d at most", c.name, got, c.most)
		}
	}
}
