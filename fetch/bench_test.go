package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

// BenchmarkDo compares an exchange of ours with a bare RoundTrip of the same body on the same kept-alive connection. The server is
// in the same process and takes its share of the time.
func BenchmarkDo(b *testing.B) {
	for _, size := range []int{2 << 10, 32 << 10} {
		body := make([]byte, size)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.Write(body)
		}))
		b.Run("Do/"+strconv.Itoa(size), func(b *testing.B) {
			c := newClient(b, Options{AllowPrivate: true})
			u := mustURL(b, s.URL+"/page")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b.ReportAllocs()
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
			b.SetBytes(int64(size))
			for b.Loop() {
				r, err := http.NewRequest(http.MethodGet, s.URL+"/page", nil)
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
