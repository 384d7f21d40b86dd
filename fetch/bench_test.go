// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"testing"
	"time"

	"mirrord/fetch/reach"
)

// BenchmarkDo compares an exchange of ours with a bare RoundTrip of the same body on the same kept-alive
// connection. The server is in the same process and takes its share of the time.
func BenchmarkDo(b *testing.B) {
	for _, size := range []int{2 << 10, 32 << 10} {
		body := make([]byte, size)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.Write(body)
		}))
		b.Run("Do/"+strconv.Itoa(size), func(b *testing.B) {
			c := newClient(b, Options{Reach: reach.Policy{All: true}})
			u := mustURL(b, s.URL+"/page")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b.ReportAllocs()
			defer cpuTime(b)()
			b.SetBytes(int64(size))
			for b.Loop() {
				if res, err := c.Do(ctx, Request{URL: u}, discard{}); err != nil || !res.Kept {
					b.Fatal(err)
				}
			}
		})
		b.Run("RoundTrip/"+strconv.Itoa(size), func(b *testing.B) {
			tr := &http.Transport{DialContext: (&net.Dialer{}).DialContext, DisableCompression: true}
			defer tr.CloseIdleConnections()
			buf := make([]byte, 32<<10)
			b.ReportAllocs()
			defer cpuTime(b)()
			b.SetBytes(int64(size))
			for b.Loop() {
				r, err := bareRequest(s.URL + "/page")
				if err != nil {
					b.Fatal(err)
				}
				resp, err := tr.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, buf); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
		s.Close()
	}
}

// bareRequest has the header fields of ours, so that the server's work is the same.
func bareRequest(url string) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err == nil {
		r.Header["User-Agent"] = []string{"mirrord"}
		r.Header["Accept"] = []string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
		r.Header["Accept-Encoding"] = []string{acceptEncoding}
	}
	return r, err
}

// cpuTime reports what the process used, server included: on a machine with other work it says more than the
// wall clock.
func cpuTime(b *testing.B) func() {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

type discard struct{}

func (discard) Begin(*Head) (io.Writer, error) { return io.Discard, nil }

// BenchmarkHosts is a turn at a server of ours: no gap, 16 connections.
func BenchmarkHosts(b *testing.B) {
	var h Hosts
	own := Politeness{Connections: 16}
	now := time.Unix(1e9, 0)
	o := Observation{Duration: time.Millisecond, Status: 200}
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := h.Acquire("www.example.org", own, now); !ok {
			b.Fatal("no turn")
		}
		h.Release("www.example.org", own, now, o)
	}
}

// BenchmarkParallel is what a run at a server of ours does: 16 requests under way. The server is in the same
// process.
func BenchmarkParallel(b *testing.B) {
	body := make([]byte, 8<<10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	}))
	defer s.Close()
	b.Run("Do", func(b *testing.B) {
		c := newClient(b, Options{Reach: reach.Policy{All: true}})
		u := mustURL(b, s.URL+"/page")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		b.ReportAllocs()
		defer cpuTime(b)()
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if res, err := c.Do(ctx, Request{URL: u}, discard{}); err != nil || !res.Kept {
					b.Error(err)
					return
				}
			}
		})
	})
	b.Run("RoundTrip", func(b *testing.B) {
		tr := &http.Transport{
			DialContext:         (&net.Dialer{}).DialContext,
			DisableCompression:  true,
			MaxIdleConnsPerHost: 64,
		}
		defer tr.CloseIdleConnections()
		b.ReportAllocs()
		defer cpuTime(b)()
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			buf := make([]byte, 32<<10)
			for pb.Next() {
				r, err := bareRequest(s.URL + "/page")
				if err != nil {
					b.Error(err)
					return
				}
				resp, err := tr.RoundTrip(r)
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, buf); err != nil {
					b.Error(err)
				}
				resp.Body.Close()
			}
		})
	})
}
