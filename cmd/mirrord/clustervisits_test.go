// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/cluster/depot"
	"mirrord/cluster/engine"
	"mirrord/cluster/objects"
)

// visits are the requests that sites have seen. Each begin of a run sees another front page.
type visits struct {
	mu       sync.Mutex
	last     map[string]visit // by host
	count    map[string]int
	double   []string
	unknown  int // requests of processes that are gone
	requests int
}

type visit struct {
	node string
	at   time.Time
}

// nodeKey is under which a request has the name of the node that made its connection.
type nodeKey struct{}

// serveSites starts sites, each at an address of its own, until the test ends, and writes their job files.
func serveSites(t *testing.T, jobs string, sites int) *visits {
	t.Helper()
	v := &visits{last: map[string]visit{}, count: map[string]int{}}
	if err := os.MkdirAll(jobs, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range sites {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.%d.%d:0", 20+i/200, 20+i%200))
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(v)
		srv.Listener.Close()
		srv.Listener = l
		srv.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, nodeKey{}, whose(c.RemoteAddr().String()))
		}
		srv.Start()
		t.Cleanup(srv.Close)
		put(t, jobs, fmt.Sprintf("s%d.toml", i), fmt.Sprintf("url = \"http://%s/\"\nschedule = \"@every 1m\"\n"+
			"[polite]\ndelay = \"300ms\"\n[limits]\nmin_free = \"20MiB\"\n"+
			"[publish]\ngrace = \"0s\"\n", l.Addr())) // else runs that come each minute wait for a tree
	}
	return v
}

// whose is nodeOf, tried again for a moment: the list of sockets leaves some out when others come and go
// while the kernel writes it.
func whose(remote string) (node string) {
	for range 20 {
		if node = nodeOf(remote); node != "" {
			break
		}
		time.Sleep(2 * time.Millisecond) // the kernel writes the list
	}
	return node
}

// nodeOf names the node whose process has the other end of a connection.
func nodeOf(remote string) string {
	inode, err := inodeOf(remote)
	if err != nil {
		return ""
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range processes {
		line, err := os.ReadFile(file)
		args := strings.Split(string(line), "\x00")
		i := slices.Index(args, "--node")
		if err != nil || i < 0 || i+1 == len(args) {
			continue
		}
		fds, _ := os.ReadDir(filepath.Join(filepath.Dir(file), "fd"))
		for _, fd := range fds {
			to, err := os.Readlink(filepath.Join(filepath.Dir(file), "fd", fd.Name()))
			if err == nil && to == "socket:["+inode+"]" {
				return args[i+1]
			}
		}
	}
	return ""
}

// inodeOf finds the socket of this machine that has an address.
func inodeOf(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	n, perr := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host).To4()
	if err = errors.Join(err, perr); err != nil || ip == nil {
		return "", errors.Join(err, errors.New("no address"))
	}
	want := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip), n)
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 9 && f[1] == want {
			return f[9], nil
		}
	}
	return "", errors.New("no such socket")
}

// ServeHTTP implements http.Handler.
func (v *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	node, _ := r.Context().Value(nodeKey{}).(string)
	n := v.visit(r.Host, node, r.URL.Path, time.Now())
	if r.URL.Path == "/robots.txt" || r.URL.Path == "/favicon.ico" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<title>%s %d</title>", r.URL.Path, n)
	for i := range 12 {
		fmt.Fprintf(w, `<a href="/%d">x</a>`, i)
	}
}

// visit notes a request, and returns what the page is to show: how many runs have begun on a front page.
func (v *visits) visit(host, node, path string, now time.Time) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requests++
	if node == "" {
		v.unknown++
	} else {
		before, gap := v.last[host], engine.DefaultTerm().Gap
		if before.node != "" && before.node != node && now.Sub(before.at) < gap {
			v.double = append(v.double,
				fmt.Sprintf("%s by %s %v after %s", host, node, now.Sub(before.at), before.node))
		}
		v.last[host] = visit{node, now}
	}
	if path == "/" {
		v.count[host]++
		n = v.count[host]
	}
	return n
}

// runs returns how often each site was begun.
func (v *visits) runs() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.count)
}

// nodes counts the sites by who was there last.
func (v *visits) nodes() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := map[string]int{}
	for _, last := range v.last {
		out[last.node]++
	}
	return out
}

// doubles returns the visits of two nodes within the gap.
func (v *visits) doubles() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.double)
}

// commits watches the pointers of a depot: what was committed once stays.
type commits struct {
	mu    sync.Mutex
	last  map[string]depot.Pointer
	times []time.Time
	wrong []string
	// how far the clocks of those who committed are behind and ahead, at most
	behind, ahead time.Duration
}

// watchCommits looks at a depot until the test ends.
func watchCommits(t *testing.T, address string, lookup func(string) (string, bool)) *commits {
	t.Helper()
	c := &commits{last: map[string]depot.Pointer{}}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { stop(); wg.Wait() })
	wg.Go(func() {
		var d *depot.Depot
		for ctx.Err() == nil {
			if d == nil {
				if s, err := objects.Open(address, lookup); err == nil {
					d, _ = depot.Open(ctx, depot.Options{Store: s, Machine: "watch"})
				}
			} else if all, err := d.Sites(ctx); err == nil {
				c.look(all, time.Now())
			} else {
				d = nil // it may be another one by now
			}
			select {
			case <-ctx.Done():
			case <-time.After(250 * time.Millisecond):
			}
		}
	})
	return c
}

// look compares pointers with those seen before.
func (c *commits) look(all []depot.Pointer, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range all {
		was := c.last[p.Site]
		switch {
		case p.Checkin == was.Checkin:
			continue
		case p.Sequence <= was.Sequence:
			c.wrong = append(c.wrong, fmt.Sprintf("%s: check-in %d of %s was replaced by %d of %s", p.Site,
				was.Sequence, was.Machine, p.Sequence, p.Machine))
		case p.Version < was.Version, p.Token < was.Token:
			c.wrong = append(c.wrong, fmt.Sprintf("%s: version %d, token %d became version %d, token %d", p.Site,
				was.Version, was.Token, p.Version, p.Token))
		}
		c.last[p.Site] = p
		c.behind, c.ahead = max(c.behind, now.Sub(p.Time)), max(c.ahead, p.Time.Sub(now))
		c.times = append(c.times, now)
	}
}

// longest is the longest time without a commit from a time on.
func (c *commits) longest(from time.Time) (d time.Duration, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := from
	for _, at := range append(slices.Clone(c.times), time.Now()) {
		if at.After(from) {
			d, last, n = max(d, at.Sub(last)), at, n+1
		}
	}
	return d, n - 1
}

// forget drops all that was seen, for a depot that is made again.
func (c *commits) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.last)
}

// clocks says how far the clocks of those who committed are behind and ahead, at most.
func (c *commits) clocks() (behind, ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behind, c.ahead
}

// problems returns what was committed and is so no more.
func (c *commits) problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.wrong)
}

// versions returns the last committed version of each site.
func (c *commits) versions() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	for name, p := range c.last {
		out[name] = p.Version
	}
	return out
}
