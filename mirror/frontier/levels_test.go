// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLevelsOverHTTP is the least that a crawler takes for a site over real connections: it knows what each
// page links to, requests that once the page has come, requisites first, and writes files as they come. Like
// any crawler that asks first, it requests robots.txt before all else. It is a measurement to hold `get`
// against: MIRRORD_ORDERS names the folder of the site, MIRRORD_LEVELS the URL of a server that offers it.
func TestLevelsOverHTTP(t *testing.T) {
	base := strings.TrimSuffix(os.Getenv("MIRRORD_LEVELS"), "/")
	if base == "" {
		t.Skip("MIRRORD_LEVELS names no server")
	}
	g, err := readGraph(os.Getenv("MIRRORD_ORDERS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, conns := range []int{32, 128} {
		start := time.Now()
		asked, got := levels(t, g, base, t.TempDir(), conns)
		t.Logf("%d connections: %d URLs in %v, %v of that for robots.txt",
			conns, got, time.Since(start), asked.Sub(start))
		if got != len(g.urls) {
			t.Errorf("%d of %d URLs", got, len(g.urls))
		}
	}
}

// levels requests a site, and returns when robots.txt had come and how many requests were answered.
func levels(t *testing.T, g *webGraph, base, dir string, conns int) (asked time.Time, got int) {
	var mu sync.Mutex // guards what follows and got
	some := sync.NewCond(&mu)
	seen := make([]bool, len(g.urls))
	needs, links, busy := []uint32{}, []uint32{0}, 0
	seen[0] = true
	add := func(to []uint32, ids []uint32) []uint32 {
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				to = append(to, id)
			}
		}
		return to
	}
	next := func() (id uint32, ok bool) {
		for len(needs)+len(links) == 0 && busy > 0 {
			some.Wait()
		}
		from := &links
		if len(needs) > 0 {
			from = &needs
		}
		if len(*from) == 0 {
			return 0, false
		}
		id, *from = (*from)[0], (*from)[1:]
		busy++
		return id, true
	}
	tr := &http.Transport{MaxIdleConnsPerHost: conns, DisableCompression: true, ReadBufferSize: 64 << 10}
	defer tr.CloseIdleConnections()
	if err := fetchTo(tr, base+"/robots.txt", filepath.Join(dir, "robots.txt"), nil); err != nil {
		t.Fatal(err)
	}
	asked = time.Now()
	var wg sync.WaitGroup
	for range conns {
		wg.Go(func() {
			buf := make([]byte, 128<<10)
			mu.Lock()
			defer mu.Unlock()
			for {
				id, ok := next()
				if !ok {
					some.Broadcast()
					return
				}
				mu.Unlock()
				err := fetchTo(tr, base+strings.TrimPrefix(g.urls[id], "http://site.test"),
					filepath.Join(dir, strconv.Itoa(int(id))), buf)
				mu.Lock()
				busy--
				if err != nil {
					t.Error(err)
				} else {
					got++
				}
				needs, links = add(needs, g.needs[id]), add(links, g.links[id])
				some.Broadcast()
			}
		})
	}
	wg.Wait()
	return asked, got
}

// fetchTo requests a URL and writes the body to a file.
func fetchTo(tr *http.Transport, u, name string, buf []byte) error {
	req, err := http.NewRequest(http.MethodGet, u, nil)
	if err != nil {
		return err
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{resp.Body}, buf)
	return err
}
