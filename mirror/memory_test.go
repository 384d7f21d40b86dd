// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"mirrord/fetch"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/status"
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

// peak is the most memory that a full run over n pages takes beyond what the process has before.
func peak(tb testing.TB, n int) int64 {
	debug.FreeOSMemory()
	before := rss(tb)
	most := before
	st, err := store.OpenState(tb.TempDir(), store.Options{Volatile: true})
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
	sum, err := mirror.Run(context.Background(), mirror.Options{
		Confirm:  -1,
		Job:      j,
		State:    st,
		Site:     s,
		Fetcher:  treeSite{n},
		Hosts:    new(fetch.Hosts),
		Progress: func(status.Progress) { most = max(most, rss(tb)) },
	})
	if err != nil || sum.Verdict != mirror.Complete || sum.Files != n {
		tb.Fatalf("run over %d pages: %v, %+v", n, err, sum)
	}
	return max(most, rss(tb)) - before
}

// BenchmarkMemoryPerURL says by how much a full run's memory grows with each URL: the difference of a large
// and a small site.
func BenchmarkMemoryPerURL(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // as cmd/mirrord does
	for b.Loop() {
		small, large := 20_000, 200_000
		p, q := peak(b, small), peak(b, large)
		b.ReportMetric(float64(q-p)/float64(large-small), "bytes/URL")
		b.ReportMetric(float64(p)/1e6, "MB-small")
		b.ReportMetric(float64(q)/1e6, "MB-large")
	}
}
