// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

// BenchmarkNames requests 3 pages of each of 400 hosts on 20 workers, from a name server that takes 50 ms:
// the questions of a first run over many hosts. The server keeps connections, or ends each after its answer.
func BenchmarkNames(b *testing.B) {
	for _, closes := range []bool{false, true} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if closes {
				w.Header().Set("Connection", "close")
			}
			time.Sleep(5 * time.Millisecond) // as a site takes for a page
		}))
		defer s.Close()
		b.Run(fmt.Sprintf("closes=%v", closes), func(b *testing.B) {
			d := badserver.StartDNS(b)
			questions := 0
			for b.Loop() {
				questions += manyHosts(b, d, s.Listener.Addr().String())
			}
			b.ReportMetric(float64(questions)/float64(b.N), "questions/op")
		})
	}
}

func manyHosts(b *testing.B, d *badserver.DNS, server string) (questions int) {
	const hosts, pages, workers = 400, 3, 20
	names := newNameCache(&net.Resolver{PreferGo: true, Dial: d.Connect})
	c := newClient(b, Options{
		Network: onlyNames{nameCache: names, server: server},
		Reach:   reach.Policy{All: true},
		Retries: -1,
	})
	defer c.Close()
	before := 0
	work := make(chan string, hosts)
	for i := range hosts {
		name := fmt.Sprintf("h%d.test", i)
		d.Name(name, badserver.DNSAnswer{Addrs: "93.184.216.34", Delay: 50 * time.Millisecond})
		before += d.Asked(name)
		work <- name
	}
	close(work)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for name := range work {
				for i := range pages {
					u := mustURL(b, fmt.Sprintf("http://%s/%d", name, i))
					if _, err := c.Do(b.Context(), Request{URL: u}, discard{}); err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for i := range hosts {
		questions += d.Asked(fmt.Sprintf("h%d.test", i))
	}
	return questions - before
}
