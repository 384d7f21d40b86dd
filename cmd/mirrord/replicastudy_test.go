// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/replicas"
	"mirrord/cmd/mirrord/cli"
	"mirrord/testing/mirrortest"
)

// studied serves 120 pages of words, and counts requests.
type studied struct {
	seed  uint32
	asked atomic.Int64
}

func (h *studied) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked.Add(1)
	n := 0
	_, err := fmt.Sscanf(r.URL.Path, "/topic%d/", &n)
	if (err != nil || !strings.HasPrefix(r.URL.Path, fmt.Sprintf("/topic%d/notes%d.html", n, n*7))) &&
		r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, mirrortest.Words(h.seed+uint32(n+2)*2654435761, 80))
}

// The study of Bharat and Broder from the log of a proxy to the tables: politely, within bounds, and what was
// tested once is not tested again.
func TestReplicasStudy(t *testing.T) {
	t.Parallel()
	sites := []*studied{{seed: 1}, {seed: 1}, {seed: 77}}
	var urls []string
	for i, h := range sites {
		urls = append(urls, mirrortest.Serve(t, fmt.Sprintf("127.0.0.%d", 11+i), h).URL)
	}
	gone := httptest.NewServer(sites[2]) // no server answers there now
	urls = append(urls, gone.URL)
	gone.Close()
	var log strings.Builder
	for i := range 120 {
		for _, u := range urls {
			const line = "1286536309.586    921 192.0.2.68 TCP_MISS/200 507 GET %s/topic%d/notes%d.html - " +
				"HIER_DIRECT/192.0.2.1 text/html\n"
			fmt.Fprintf(&log, line, u, i, i*7)
		}
	}
	log.WriteString("1286536310.001   5 192.0.2.68 TCP_TUNNEL/200 9120 CONNECT b.test:443 - HIER_DIRECT/- -\n")
	list, state := filepath.Join(t.TempDir(), "access.log"), t.TempDir()
	if err := os.WriteFile(list, []byte(log.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	study := func(args ...string) (int, string, string) {
		t.Helper()
		all := []string{
			"replicas", "--urls", "--verify", list, "--state", state, "--set", "polite.delay=0s",
			"--set", "polite.factor=0", "--set", "polite.timeout=1m", "--set", "limits.retries=0",
		}
		return runArgs(t, nil, append(all, args...)...)
	}
	private := "polite.allow_private=127.0.0.0/8"
	if code, out, errs := study("--json", "--limit", "1"); code != cli.ExitOK || sites[0].asked.Load() != 0 {
		t.Errorf("private addresses: exit code %d: %s %s", code, out, errs)
	}
	state = t.TempDir()
	code, out, errs := study("--set", private, "--json", "--limit", "0")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var got replicas.Study
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.URLs != 480 || got.Skipped != 1 || got.Bad != 0 || got.Hosts != 4 || got.Kept != 0 ||
		len(got.Pairs) != 6 {
		t.Fatalf("%s", out)
	}
	levels := map[string]int{}
	for _, p := range got.Pairs {
		levels[p.Level]++
		if p.Level == "1" && !(strings.HasPrefix(p.Base1, urls[0]) && strings.HasPrefix(p.Base2, urls[1])) {
			t.Errorf("%+v", p)
		}
		if len(p.Addresses[0]) != 1 {
			t.Errorf("%s: addresses %v", p.Base1, p.Addresses)
		}
	}
	if fmt.Sprint(levels) != "map[1:1 mismatch:2 server failure:3]" {
		t.Errorf("levels %v", levels)
	}
	if r := got.Tables.Ranks; len(r) != 1 || r[0].Rank != 6 || r[0].Known != 3 || r[0].Mirrors != 1 {
		t.Errorf("ranks %+v", r)
	}
	if n := sites[0].asked.Load(); n > 3*21 {
		t.Errorf("%d requests of a host in three pairs", n)
	}
	before := sites[0].asked.Load()
	code, out, errs = study("--set", private, "--limit", "0")
	for _, want := range []string{
		"480 addresses of 4 hosts, 0 bad lines; 6 candidate pairs, of which 6 were tested before",
		"1 request in the log was no page view", "level 1, 100% of 19 answered tests good: either may stand",
		"motive: same network", "server failure        3  50.0%", "address address       1 100.0%",
		"1 to 6                3       1     33.3%",
	} {
		if code != cli.ExitOK || !strings.Contains(out, want) {
			t.Errorf("exit code %d: %q is not in\n%s%s", code, want, out, errs)
		}
	}
	if sites[0].asked.Load() != before {
		t.Error("pairs were tested again")
	}
}
