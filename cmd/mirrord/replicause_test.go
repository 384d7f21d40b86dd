// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/replicas"
	"mirrord/cmd/mirrord/cli"
	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// manual serves 30 pages under a prefix, and counts requests.
type manual struct {
	prefix string
	news   atomic.Bool // page 3 is another one
	asked  atomic.Int64
}

func (h *manual) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked.Add(1)
	rest, ok := strings.CutPrefix(r.URL.Path, h.prefix)
	n := -1
	if rest != "" {
		if _, err := fmt.Sscanf(rest, "c%d.html", &n); err != nil || n >= 30 || r.URL.Path == "/robots.txt" {
			ok = false
		}
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	if h.news.Load() {
		w.Header().Set("Last-Modified", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
	}
	fmt.Fprint(w, mirrortest.Words(uint32(n+2)*2654435761, 80))
	if n == 3 && h.news.Load() {
		fmt.Fprint(w, "and the news")
	}
	for i := range 30 {
		if n < 0 {
			fmt.Fprintf(w, "<a href=c%d.html>%d</a> ", i, i)
		}
	}
}

func TestReplicasPutToUse(t *testing.T) {
	t.Parallel()
	first, second, third := &manual{prefix: "/"}, &manual{prefix: "/copy/"}, &manual{prefix: "/"}
	origin, copied, twin := mirrortest.Serve(t, "127.0.0.1", first), mirrortest.Serve(t, "127.0.0.2", second),
		mirrortest.Serve(t, "127.0.0.3", third)
	jobs, state := t.TempDir(), t.TempDir()
	const fast = "limits.retries = 0\npolite.delay = \"0s\"\npolite.factor = 0\npolite.max_delay = \"50ms\"\n"
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(jobs, name+".toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	base := copied.URL + "/copy/"
	write("manual", fmt.Sprintf("url = %q\nalternates = [%q]\nalternates_replace = true\n%s",
		origin.URL+"/", base, fast))
	write("twin", fmt.Sprintf("url = %q\n%s", twin.URL+"/", fast+"polite.allow_private = true\n"))
	mirrord := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
		if code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out
	}
	if out := mirrord(cli.ExitOK, "replicas", "--verify", "manual"); !strings.Contains(out, "run it first") {
		t.Errorf("without a mirror: %s", out)
	}
	mirrord(cli.ExitOK, "run-now", "manual")
	mirrord(cli.ExitOK, "run-now", "twin")

	var pairs []replicas.ReplicaPair
	if err := json.Unmarshal([]byte(mirrord(cli.ExitOK, "replicas", "--verify", "--json")), &pairs); err != nil {
		t.Fatal(err)
	}
	if len(pairs) != 2 || pairs[0].Base1 != origin.URL+"/" || pairs[0].Base2 != base || pairs[0].Level != "1" ||
		!pairs[0].Equal || pairs[0].Stored ||
		pairs[1].Level != "1" || pairs[1].Base2 != twin.URL+"/" || len(pairs[1].Outcomes) != 19 {
		t.Fatalf("pairs %+v", pairs)
	}
	if out := mirrord(cli.ExitOK, "replicas", "--verify"); !strings.Contains(out,
		"it is used when the origin of manual fails") || !strings.Contains(out, "either may stand for the other") {
		t.Errorf("verify says\n%s", out)
	}

	var reg replicas.Registry
	if err := json.Unmarshal([]byte(mirrord(cli.ExitOK, "replicas", "--registry", "--json")), &reg); err != nil {
		t.Fatal(err)
	}
	if reg.Format != 1 || len(reg.Mirrors) != 2 || len(reg.Pairs) != 2 {
		t.Fatalf("registry %+v", reg)
	}
	m := reg.Mirrors[0]
	if m.Job != "manual" || len(m.Prefixes) != 1 || m.Prefixes[0] != origin.URL+"/" || m.Verdict != "complete" ||
		m.Files != 31 || len(m.Equivalents) != 2 {
		t.Fatalf("mirror %+v", m)
	}
	if e := m.Equivalents[1]; (e.At != twin.URL+"/" && m.Equivalents[0].At != twin.URL+"/") ||
		!e.Interchangeable {
		t.Errorf("equivalents %+v", m.Equivalents)
	}
	if _, err := os.Stat(filepath.Join(m.Tree, m.Entry)); err != nil {
		t.Error(err)
	}
	if out := mirrord(cli.ExitOK, "replicas", "--registry"); !strings.Contains(out, "interchangeable") {
		t.Errorf("registry says\n%s", out)
	}

	origin.Close()
	second.news.Store(true)
	var sum mirror.Summary
	if err := json.Unmarshal([]byte(mirrord(cli.ExitOK, "run-now", "manual", "--json")), &sum); err != nil {
		t.Fatal(err)
	}
	if sum.Alternates[base] != 31 || sum.Foreign != 1 || sum.Changed != 1 {
		t.Errorf("%v, %d foreign, %d changed", sum.Alternates, sum.Foreign, sum.Changed)
	}
	if out := mirrord(cli.ExitOK, "explain", "manual", origin.URL+"/c3.html"); !strings.Contains(out,
		"from a replica") || !strings.Contains(out, base+"c3.html") {
		t.Errorf("explain says\n%s", out)
	}

	// The gateway has it, too: from the equivalent that the registry knows, else from the mirror.
	for order, source := range map[string]string{
		"--gateway=origin,equivalent": "equivalent " + base + "c4.html",
		"--gateway":                   "mirror manual",
	} {
		at := served(t, 1, order, "--listen", "127.0.0.1:0", "--jobs", jobs, "--state", state)[0]
		res, err := http.Get(at + "/web/" + origin.URL + "/c4.html")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Mirrord-Source"); res.StatusCode != http.StatusOK || got != source {
			t.Errorf("%s: status %d, source %q", order, res.StatusCode, got)
		}
	}

	d := startDaemon(t, jobs, state)
	defer d.stop(cli.ExitOK)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(state, "daemon.sock"))
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	res, err := c.Get("http://mirrord/v1/registry")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var again replicas.Registry
	if err := json.NewDecoder(res.Body).Decode(&again); err != nil || len(again.Mirrors) != 2 ||
		len(again.Mirrors[0].Equivalents) != 2 || again.Mirrors[0].Version != 2 {
		t.Errorf("the daemon's registry: %v, %+v", err, again)
	}
	lies := mirrortest.Serve(t, "127.0.0.4", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, mirrortest.Words(uint32(len(r.URL.Path))*7919, 80)) // the paths are the same
	}))
	for _, e := range []struct{ job, at, want string }{
		{"twin", base, `"interchangeable":true`},
		{"twin", lies.URL + "/", "no replica (mismatch)"},
		{"manual", twin.URL + "/", "is not registered"}, // that job may not connect to it
		{"twin", "https://www.example.org/docs", "is no directory"},
		{"twin", twin.URL + "/copy/", "is on a host of url"},
		{"nosuch", base, "no job"},
	} {
		at := "http://mirrord/v1/jobs/" + e.job + "/equivalents"
		res, err := c.Post(at, "application/json", strings.NewReader(`{"at":"`+e.at+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if !strings.Contains(string(body), e.want) || (res.StatusCode == 200) != strings.HasPrefix(e.want, `"`) {
			t.Errorf("%s is said to be as %s: status %d, %s, %v", e.at, e.job, res.StatusCode, body, err)
		}
	}
}

func TestReplicasFlagsThatDoNotGoTogether(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--registry", "--urls", "x"}, {"--registry", "--verify"}, {"--registry", "manual"},
		{"--verify", "--set", "polite.delay=0s"},
	} {
		if code, _, errs := runArgs(t, nil, append([]string{"replicas"}, args...)...); code != cli.ExitUsage {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}

// One mirror that is damaged does not hide the others, and a url that redirects to another host has the
// prefix of that too.
func TestReplicasWithADamagedMirror(t *testing.T) {
	t.Parallel()
	var lead string
	first := mirrortest.Serve(t, "127.0.0.1", &manual{prefix: "/"})
	lead = first.URL + "/"
	second := mirrortest.Serve(t, "127.0.0.2", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, lead, http.StatusFound)
	}))
	third := mirrortest.Serve(t, "127.0.0.3", &manual{prefix: "/"})
	jobs, state := t.TempDir(), t.TempDir()
	const fast = "limits.retries = 0\npolite.delay = \"0s\"\npolite.factor = 0\npolite.max_delay = \"50ms\"\n"
	for name, text := range map[string]string{
		"manual": fmt.Sprintf("url = %q\nscope = [%q, %q]\nalternates = [%q]\npolite.allow_private = true\n",
			second.URL+"/", second.URL+"/", first.URL+"/", third.URL+"/"),
		"twin": fmt.Sprintf("url = %q\n", third.URL+"/"),
	} {
		if err := os.WriteFile(filepath.Join(jobs, name+".toml"), []byte(text+fast), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mirrord := func(args ...string) (out, errs string) {
		t.Helper()
		code, out, errs := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
		if code != cli.ExitOK {
			t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
		}
		return out, errs
	}
	mirrord("run-now", "manual")
	mirrord("run-now", "twin")
	if out, _ := mirrord("replicas", "--verify", "manual"); !strings.Contains(out, first.URL+"/ "+third.URL+
		"/") || !strings.Contains(out, "it is used when the origin of manual fails") {
		t.Errorf("verify says\n%s", out)
	}
	name := filepath.Join(state, "sites/twin/current/phm.json")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	var reg replicas.Registry
	out, _ := mirrord("replicas", "--registry", "--json")
	if err := json.Unmarshal([]byte(out), &reg); err != nil {
		t.Fatal(err)
	}
	if len(reg.Mirrors) != 1 || reg.Mirrors[0].Job != "manual" || len(reg.Mirrors[0].Equivalents) != 1 ||
		len(reg.Problems) != 1 || reg.Problems[0].Job != "twin" {
		t.Errorf("registry %+v", reg)
	}
	if _, errs := mirrord("replicas", "--registry"); !strings.Contains(errs, "the mirror of twin is left out") {
		t.Errorf("the registry says %s", errs)
	}
	if out, _ := mirrord("replicas", "--verify"); !strings.Contains(out, "level 1") {
		t.Errorf("verify says\n%s", out)
	}
}

// Two mirrors whose collections lie under different directories: these are tested, and known to be
// equivalents.
func TestReplicasUnderOtherDirectories(t *testing.T) {
	t.Parallel()
	first, second := mirrortest.Serve(t, "127.0.0.1", &manual{prefix: "/"}),
		mirrortest.Serve(t, "127.0.0.2", &manual{prefix: "/copies/manual/"})
	jobs, state := t.TempDir(), t.TempDir()
	for name, url := range map[string]string{"manual": first.URL + "/", "copy": second.URL + "/copies/manual/"} {
		if err := os.WriteFile(filepath.Join(jobs, name+".toml"),
			[]byte(
				fmt.Sprintf(
					"url = %q\npolite.delay = \"0s\"\npolite.factor = 0\npolite.max_delay = \"50ms\"\nlimits.retries = 0\n",
					url)), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := runArgs(t, nil, "run-now", name, "--jobs", jobs, "--state",
			state); code != cli.ExitOK {
			t.Fatal(out, errs)
		}
	}
	var pairs []replicas.ReplicaPair
	code, out, errs := runArgs(t, nil, "replicas", "--verify", "--json", "--jobs", jobs, "--state", state)
	if err := json.Unmarshal([]byte(out), &pairs); code != cli.ExitOK || err != nil {
		t.Fatal(code, err, errs)
	}
	if len(pairs) != 1 || pairs[0].Base1 != first.URL+"/" || pairs[0].Base2 != second.URL+"/copies/manual/" ||
		pairs[0].Level != "1" || !pairs[0].Equal {
		t.Errorf("pairs %+v", pairs)
	}

	if code, out, _ := runArgs(t, nil, "replicas", "--verify", "copy", "--jobs", jobs, "--state",
		state); code != cli.ExitOK || !strings.Contains(out, "there are no alternates of copy") {
		t.Error(code, out)
	}

	// One of them does not answer: that ends soon, says nothing, and what was found stays.
	second.Close()
	code, out, errs = runArgs(t, nil, "replicas", "--verify", "--jobs", jobs, "--state", state)
	if code != cli.ExitOK || !strings.Contains(out, "this says nothing of the two") {
		t.Error(code, out, errs)
	}
	code, out, errs = runArgs(t, nil, "replicas", "--registry", "--jobs", jobs, "--state", state)
	if code != cli.ExitOK || strings.Count(out, "level 1, interchangeable") != 2 {
		t.Error(code, out, errs)
	}
}
