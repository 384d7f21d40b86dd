// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os/user"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
)

// visitor is a browser without scripts.
type visitor struct {
	*testing.T
	http *http.Client
	base string
}

// visit logs in with mirrord console.
func (d *testDaemon) visit(args ...string) *visitor {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	out := d.do(cli.ExitOK, `^http://127\.0\.0\.1:\d+/login\?key=\w+$`, append([]string{"open"}, args...)...)
	link := strings.TrimSpace(out)
	base, _, _ := strings.Cut(link, "/login")
	v := &visitor{T: d.t, http: &http.Client{Jar: jar}, base: base}
	d.t.Cleanup(v.http.CloseIdleConnections)
	v.see(http.StatusOK, "<h1>Mirrors</h1>", strings.TrimPrefix(link, base), nil)
	return v
}

// see goes to a page, or sends a form, and wants a status and a text of the resulting page.
func (v *visitor) see(code int, want, path string, form url.Values) string {
	v.Helper()
	var resp *http.Response
	var err error
	if form == nil {
		resp, err = v.http.Get(v.base + path)
	} else {
		resp, err = v.http.PostForm(v.base+path, form)
	}
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != code || !strings.Contains(string(body), want) {
		v.Errorf("%s: %v, %v, want %d with %q:\n%s", path, resp.Status, err, code, want, body)
	}
	return string(body)
}

// The console of a daemon opens when it is asked for, and does what the commands do.
func TestConsole(t *testing.T) {
	site := demosite.New()
	srv := httptest.NewServer(site)
	defer srv.Close()
	jobs, state := t.TempDir(), t.TempDir()
	const fast = "[polite]\ndelay = \"0s\"\nfactor = 0.0\n"
	put(t, jobs, "docs.toml", fmt.Sprintf("url = %q\n%s", srv.URL+"/docs/", fast))
	d := startDaemon(t, jobs, state)
	d.do(cli.ExitUsage, "no job and no mirror", "open", "nosuch")
	d.do(cli.ExitUsage, "is no role", "open", "--role", "king")
	v := d.visit()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	v.see(http.StatusOK, me.Username+" · operate", "/", nil)
	v.see(http.StatusOK, "The run was requested", "/jobs/docs/run", url.Values{})
	d.do(cli.ExitOK, "", "run-now", "docs") // that one, or one after it
	v.see(http.StatusOK, "published <time", "/jobs/docs", nil)
	v.see(http.StatusOK, "current", "/jobs/docs/versions", nil)
	v.see(http.StatusOK, "<title>", "/jobs/docs/feed.atom", nil)
	v.see(http.StatusConflict, "changed since this page", "/jobs/docs/accept", url.Values{"run": {"x"}})
	v.see(http.StatusOK, "Paused: no run", "/jobs/docs/pause", url.Values{})
	d.do(cli.ExitOK, "^docs +ok, paused", "status")
	v.see(http.StatusOK, "refused: it has changed", "/audit", nil)

	reader := d.visit("--role", "read")
	reader.see(http.StatusForbidden, "your role", "/jobs/docs/resume", url.Values{})
}

// A daemon refuses a console that strangers reach and no user can log in to, and one may be without.
func TestConsoleFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--console", "0.0.0.0:0"}, {"--console", "nonsense"}, {"--console-proxy", "proxy.example"},
		{"--console-operator", "ann"},
	} {
		if code, _, errs := runArgs(t, nil, append([]string{"daemon", "--state", t.TempDir()}, args...)...); code !=
			cli.ExitUsage || !strings.Contains(errs, "mirrord: console.") {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
	dir := t.TempDir()
	put(t, dir, "site.json", `{"site": {"url": "https://a.example/"}}`)
	site := dir + "/site.json"
	for file, want := range map[string]string{site: "ends with a slash", site + "x": "no such file"} {
		code, _, errs := runArgs(t, nil, "daemon", "--state", t.TempDir(), "--mirrorz", file)
		if code != cli.ExitUsage || !strings.Contains(errs, want) || !strings.Contains(errs, "mirrord: mirrorz: ") {
			t.Errorf("%s: %d %s", file, code, errs)
		}
	}
	d := startDaemon(t, t.TempDir(), t.TempDir(), "--console", "off")
	d.do(cli.ExitError, "console of this daemon is off", "open")
	d.stop(cli.ExitOK)
	d.do(cli.ExitError, "no daemon runs", "open")
}
