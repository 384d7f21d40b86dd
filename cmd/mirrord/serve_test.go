// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
)

// serving runs "mirrord serve" until the test ends and returns the addresses that it listens on.
func served(t *testing.T, n int, args ...string) (addresses []string) {
	t.Helper()
	r, w := io.Pipe()
	var errs bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		e := cli.Environ{
			Stdin:     strings.NewReader(""),
			Stdout:    w,
			Stderr:    &errs,
			LookupEnv: func(string) (string, bool) { return "", false },
		}
		ended <- run(ctx, e, append([]string{"serve"}, args...))
		w.Close()
	}()
	t.Cleanup(func() {
		cancel()
		go io.Copy(io.Discard, r)
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("serve ended with code %d: %s", code, &errs)
		}
	})
	lines := bufio.NewScanner(r)
	for range n {
		if !lines.Scan() {
			t.Fatalf("serve says nothing more")
		}
		addresses = append(addresses, regexp.MustCompile(`http://[^/]*`).FindString(lines.Text()))
	}
	return addresses
}

// fetchAs asks address for a path under a host name, without following redirects.
func fetchAs(t *testing.T, address, host, path string) (status int, location, body string) {
	t.Helper()
	req, err := http.NewRequest("GET", address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Location"), string(b)
}

func TestServe(t *testing.T) {
	site := demosite.New()
	srv := httptest.NewServer(site)
	defer srv.Close()
	jobs, state := jobsFor(t, srv.URL+"/"), t.TempDir()
	mirror := func() {
		t.Helper()
		if code, _, errs := runArgs(t, nil, "run-now", "demo", "--jobs", jobs, "--state",
			state); code != cli.ExitOK {
			t.Fatalf("exit code %d: %s", code, errs)
		}
	}
	if code, _, errs := runArgs(t, nil, "serve", "--state", state, "--listen",
		"127.0.0.1:0"); code != cli.ExitError || !strings.Contains(errs, "no mirrors") {
		t.Errorf("nothing to serve: code %d, %s", code, errs)
	}
	mirror()
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"nosuch"}, cli.ExitUsage, "no job and no mirror is named"},
		{[]string{"../demo"}, cli.ExitUsage, "is no file and cannot name a job"},
		{[]string{"--own", "../demo=:0"}, cli.ExitUsage, "cannot name a job"},
		{[]string{"--base", "http://x/"}, cli.ExitUsage, "no host name"},
		{[]string{"--listen", "nowhere"}, cli.ExitError, "nowhere"},
		{[]string{"--listen", "127.0.0.1:0", "--own", "demo=256.0.0.1:1"}, cli.ExitError, "256.0.0.1"},
	} {
		code, out, errs := runArgs(t, nil,
			append([]string{"serve", "--jobs", jobs, "--state", state}, tc.args...)...)
		if code != tc.code || !strings.Contains(errs, tc.want) {
			t.Errorf("%v: code %d, want %d with %q: %s%s", tc.args, code, tc.code, tc.want, out, errs)
		}
	}

	at := served(t, 2, "demo", "--state", state, "--jobs", jobs, "--listen", "127.0.0.1:0", "--own",
		"demo=127.0.0.1:0", "--base", "mirrors.test", "--forward")
	for _, tc := range []struct {
		on         string
		host, path string
		status     int
		want       string
	}{
		{at[0], "", "/", 200, `href="/demo/index.html"`},
		{at[0], "", "/demo/", 200, "<title>"},
		{at[0], "demo.mirrors.test", "/almanac/", 200, "<title>"},
		{at[0], "demo.mirrors.test", "/old-home", 301, "/"},
		{at[0], "demo.mirrors.test", "/private/keeper.html", 404, srv.URL + "/private/keeper.html"},
		{at[0], "demo.mirrors.test", "/cgi-bin/x", 200, ""}, // forwarded: the job names that address
		{at[0], "elsewhere.test", "/", 421, ""},
		{at[1], "", "/old-home", 301, "/"},
		{at[1], "", "/demo/", 404, srv.URL + "/demo/"},
	} {
		status, loc, body := fetchAs(t, tc.on, tc.host, tc.path)
		if status/100 == 3 {
			body = loc
		}
		if status != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s %s: %d %.200q, want %d %q", tc.host, tc.path, status, body, tc.status, tc.want)
		}
	}

	// Runs continue meanwhile, and what they publish is served; a run that holds the site does not disturb
	// readers.
	versionOf := func() int {
		t.Helper()
		_, _, body := fetchAs(t, at[0], "", "/.well-known/mirrord/sites")
		var list []struct{ Version int }
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) != 1 {
			t.Fatalf("%v: %s", err, body)
		}
		return list[0].Version
	}
	before := versionOf()
	site.SetVersion(2)
	mirror()
	if got := versionOf(); got != before+1 {
		t.Errorf("version %d after a publish over %d", got, before)
	}
	defer holdDemo(t, state)()
	if status, _, _ := fetchAs(t, at[0], "", "/demo/"); status != 200 {
		t.Errorf("locked: %d", status)
	}
	again := served(t, 1, "--state", state, "--listen", "127.0.0.1:0")
	if status, _, _ := fetchAs(t, again[0], "", "/demo/almanac/"); status != 200 {
		t.Errorf("started while locked: %d", status)
	}
}
