// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/fetch"
	"mirrord/internal/demosite"
	"mirrord/scheduler/status"
	"mirrord/testing/poll"
)

// shared is a writer that may be read meanwhile.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// testDaemon is a daemon in this process.
type testDaemon struct {
	t           *testing.T
	jobs, state string
	out, log    shared
	told        *net.UnixConn // what systemd would hear
	words       chan string   // that it heard
	cancel      context.CancelFunc
	ended       chan int
}

// startDaemon starts a daemon and waits until it is ready.
func startDaemon(t *testing.T, jobs, state string, args ...string) *testDaemon {
	t.Helper()
	return startDaemonOn(t, nil, jobs, state, args...)
}

// startDaemonOn starts a daemon that reaches sites by a network; nil is the system's.
func startDaemonOn(t *testing.T, to fetch.Network, jobs, state string, args ...string) *testDaemon {
	t.Helper()
	d := &testDaemon{
		t:     t,
		jobs:  jobs,
		state: state,
		ended: make(chan int, 1),
	}
	path := filepath.Join(t.TempDir(), "n")
	var err error
	if d.told, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d.cancel = cancel
	e := cli.Environ{
		Stdin:     strings.NewReader(""),
		Stdout:    &d.out,
		Stderr:    &d.log,
		LookupEnv: vars("NOTIFY_SOCKET", path, "WATCHDOG_USEC", "600000", "PATH", os.Getenv("PATH")),
		Network:   to,
	}
	go func() {
		d.ended <- run(ctx, e,
			append([]string{"daemon", "--jobs", jobs, "--state", state, "--spread", "0"}, args...))
	}()
	t.Cleanup(func() {
		d.stop(cli.ExitOK)
		d.told.Close()
	})
	d.hear("READY=1")
	return d
}

// hear waits until systemd would have heard a word. All that is said is read, as systemd does.
func (d *testDaemon) hear(word string) {
	d.t.Helper()
	if d.words == nil {
		d.words = make(chan string, 1000)
		go func() {
			defer close(d.words)
			buf := make([]byte, 1000)
			for {
				n, err := d.told.Read(buf)
				if err != nil {
					return
				}
				select {
				case d.words <- string(buf[:n]):
				default:
				}
			}
		}()
	}
	late := time.After(15 * time.Minute)
	for {
		select {
		case said, ok := <-d.words:
			if !ok {
				d.t.Fatalf("the daemon does not say %s; log:\n%s", word, d.log.String())
			}
			if strings.Contains(said, word) {
				return
			}
		case <-late:
			d.t.Fatalf("the daemon does not say %s; log:\n%s", word, d.log.String())
		}
	}
}

func (d *testDaemon) stop(want int) {
	d.t.Helper()
	if d.cancel == nil {
		return
	}
	d.cancel()
	d.cancel = nil
	if code := <-d.ended; code != want {
		d.t.Errorf("the daemon ends with %d, want %d; log:\n%s", code, want, d.log.String())
	}
}

// do runs a command and wants an exit code and a text.
func (d *testDaemon) do(code int, want string, args ...string) string {
	d.t.Helper()
	got, out, errs := runArgs(d.t, nil, append(args, "--jobs", d.jobs, "--state", d.state)...)
	if got != code || !regexp.MustCompile("(?m)"+want).MatchString(out+errs) {
		d.t.Errorf("mirrord %s: exit code %d, want %d with %q; got\n%s%s", strings.Join(args, " "), got, code,
			want, out, errs)
	}
	return out
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDaemon(t *testing.T) {
	site := demosite.New()
	gate := make(chan struct{}) // open when closed
	asked := make(chan struct{}, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/about/") {
			select {
			case asked <- struct{}{}:
			default:
			}
			<-gate
		}
		site.ServeHTTP(w, r)
	}))
	defer srv.Close()
	jobs, state := t.TempDir(), t.TempDir()
	fast := "[adaptive]\nlearn_for = \"0s\"\n[polite]\ndelay = \"0s\"\nfactor = 0.0\nconnections = 4\n"
	put(t, jobs, "docs.toml", fmt.Sprintf("url = %q\nschedule = \"0 0 1 1 *\"\n%s", srv.URL+"/docs/", fast))
	put(t, jobs, "about.toml",
		fmt.Sprintf("url = %q\n%s[notify]\ncommand = \"cat > %s/told\"\n", srv.URL+"/about/", fast, state))
	d := startDaemon(t, jobs, state, "--listen", "127.0.0.1:0")
	d.hear("WATCHDOG=1")

	// Who commands the daemon.
	if fi, err := os.Stat(filepath.Join(state, "daemon.sock")); err != nil || fi.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", fi, err)
	}
	code, _, errs := runArgs(t, nil, "daemon", "--jobs", jobs, "--state", state)
	if want := fmt.Sprintf("is owned by the daemon with process id %d\n", os.Getpid()); code != cli.ExitLocked ||
		!strings.Contains(errs, want) {
		t.Errorf("a second daemon: %d %s", code, errs)
	}

	// A run in the daemon ends as one here would, with its report.
	// Its first one begins at once, and may have ended.
	d.do(cli.ExitOK, `^docs +(new|ok).* \d{4}-01-01 00:00 [A-Z0-9+-]+ +0 0 1 1 \*$`, "status")
	d.do(cli.ExitOK, "^docs: (complete|no change found)", "run-now", "docs")
	// a plan may want all that there is
	d.do(cli.ExitOK,
		"^docs: (no change found; 2[0-9] of 26 requested(.*\n)*.*; mirrord run-now docs --full requests all|"+
			"complete, nothing changed since version 1 .*\n  requested 26:)",
		"run-now", "docs.toml", "--set", "title=Other")
	d.do(cli.ExitOK, "^docs: complete, nothing changed since version 1", "run-now", "docs", "--full")
	d.do(cli.ExitOK, `"verdict": "complete"`, "run-now", "docs", "--json")
	d.do(cli.ExitOK, "^docs +ok +1 ", "status")
	d.do(cli.ExitOK, "^docs: ok\n(.*\n)*docs: (no change found|complete, nothing changed)", "status", "docs")
	d.do(cli.ExitOK, "complete +1 ", "status", "docs", "--runs", "5")
	d.do(cli.ExitOK, `"asked": [0-9]+,\n +"known": 26,`, "status", "docs", "--runs", "1", "--json")
	d.do(cli.ExitOK, "^docs: no change found; [23] of 26 requested", "run-now", "docs", "/docs/manual/")
	d.do(cli.ExitUsage, "job docs: /about/ is not mirrored: ", "run-now", "docs", "/about/")
	d.do(cli.ExitUsage, "choose one of the two", "run-now", "docs", "/docs/manual/", "--full")
	d.do(cli.ExitUsage, "no such job", "run-now", "nosuch")

	// A closed window is waited for, unless a user says otherwise, also of a run that waits already.
	put(t, jobs, "late.toml",
		fmt.Sprintf("url = %q\nwindow = %q\n%s", srv.URL+"/docs/manual/", closedWindow(), fast))
	d.do(cli.ExitOK,
		"^late: asked for; waits for its window, which opens .*; mirrord run-now late --now does not wait for it$",
		"run-now", "late", "--wait=false")
	d.do(cli.ExitOK, "^late: complete, version 1 published", "run-now", "late", "--now")
	d.do(cli.ExitOK, "^late: (complete|no change)", "run-now", "late", "--now", "--full")
	if err := os.Remove(filepath.Join(jobs, "late.toml")); err != nil {
		t.Fatal(err)
	}
	d.do(cli.ExitUsage, "no such job", "status", "nosuch")
	d.do(cli.ExitUsage, "unknown key", "run-now", "docs", "--set", "titel=x")
	d.do(cli.ExitError, "nothing is held for review; the last run was complete", "accept", "docs")
	d.do(cli.ExitError, "no run is under way", "cancel", "docs")
	d.do(cli.ExitOK, "^ok$", "daemon", "health")

	// A run that takes longer: --wait=false, joined, left alone, cancelled.
	d.do(cli.ExitOK, "^about: started$", "run-now", "about", "--wait=false")
	<-asked
	d.do(cli.ExitOK, "^about: a run is under way$", "run-now", "about", "--wait=false")
	d.do(cli.ExitLocked, "a run is under way; wait for it, or end it: mirrord cancel about",
		"run-now", "about", "--full")
	d.do(cli.ExitOK, "^about +new, running", "status")
	d.do(cli.ExitOK, "running since .*\n", "status", "about")
	ctx, leave := context.WithCancel(t.Context())
	var out, errOut shared
	left := make(chan int, 1)
	go func() {
		left <- run(ctx, cli.Environ{
			Stdin:  strings.NewReader(""),
			Stdout: &out,
			Stderr: writerFunc(func(p []byte) (int, error) {
				n, err := errOut.Write(p)
				leave()
				return n, err
			}),
			LookupEnv: vars(),
		}, []string{"run-now", "about", "--jobs", jobs, "--state", state})
	}()
	if code := <-left; code != cli.ExitPartial ||
		!strings.Contains(errOut.String(), "a run is under way; this is it") ||
		!strings.Contains(errOut.String(), "left alone: the run of about continues") {
		t.Errorf("%d %s", code, errOut.String())
	}
	d.do(cli.ExitOK, "^about: cancelled$", "cancel", "about")
	close(gate)
	d.do(cli.ExitOK, "^about: complete, version 1 published", "run-now", "about")

	// Paused, suspicious, accepted.
	d.do(cli.ExitOK, "^docs: paused$", "pause", "docs")
	d.do(cli.ExitError, "it is paused", "pause", "docs")
	d.do(cli.ExitOK, "^docs +ok, paused +1 ", "status")
	d.do(cli.ExitOK, "^docs: resumed$", "resume", "docs")
	site.SetVersion(6)
	d.do(cli.ExitSuspicious, "held for review, version 1 stays published", "run-now", "docs", "--full",
		"--set", "limits.max_delete=0.1%")
	d.do(cli.ExitOK, "^docs: held for review\n  why: .*max_delete.*\n  fix: .*mirrord accept docs",
		"status", "docs")
	d.do(cli.ExitOK, "version 2 published", "accept", "docs")

	// The jobs directory.
	put(t, jobs, "docs.toml", "x = 1")
	put(t, jobs, "more.toml", fmt.Sprintf("url = %q\n%s", srv.URL+"/news/", fast))
	d.do(cli.ExitError,
		"docs: refused\n.*docs.toml:1:1: unknown key \"x\"(.*\n)*more: added\n3 jobs are in force",
		"daemon", "reload")
	// and again: it still is
	d.do(cli.ExitError, "^docs: refused\n.*\n(.*\n)*3 jobs are in force", "daemon", "reload")
	d.do(cli.ExitOK, "^docs +invalid +2 .*0 0 1 1 \\*$", "status")
	d.do(cli.ExitOK, "^late +ok +1 ", "status") // its mirror stays, without a job
	d.do(cli.ExitOK, "there is no job file of this name", "status", "late")
	d.do(cli.ExitOK, "complete|no change", "run-now", "docs") // its last good version stays
	put(t, jobs, "new.toml", fmt.Sprintf("url = %q\n%s", srv.URL+"/almanac/", fast))
	d.do(cli.ExitOK, "complete", "run-now", "new") // without a word to the daemon
	d.do(cli.ExitOK, `^command cat …: ok$`, "daemon", "notify", "about")
	d.do(cli.ExitError, "notifies no one", "daemon", "notify", "docs")
	if data, err := os.ReadFile(filepath.Join(state, "told")); err != nil ||
		!strings.Contains(string(data), `"kind":"test"`) {
		t.Errorf("%s, %v", data, err)
	}

	// A disk with less free space than a job wants to leave: it waits, and says so.
	put(t, jobs, "large.toml", fmt.Sprintf("url = %q\nlimits.min_free = \"900TB\"\n%s", srv.URL+"/data/", fast))
	d.do(cli.ExitOK, "^large: asked for; waits for room on the disk$", "run-now", "large", "--wait=false")
	d.do(cli.ExitOK, "^large +new, waits for (room on the disk|its turn) ", "status")
	d.do(cli.ExitOK, "^large: cancelled$", "cancel", "large")

	// The status page, and what monitoring asks for.
	base := statusAddress(t, d)
	for path, want := range map[string]string{
		"/":             "docs</td>",
		"/status.json":  `"job": "docs"`,
		"/metrics":      `mirrord_job_refused{job="docs"} 1`,
		"/healthz":      "ok",
		"/readyz":       "ok",
		"/v1/status":    "404",
		"/debug/pprof/": "404",
		"/v1/reload":    "404",

		"/static/tunasync.json": `"upstream": "` + srv.URL,
		"/mirrorz.json":         "404the key mirrorz of daemon.toml",
	} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(fmt.Sprint(resp.StatusCode)+string(body), want) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	d.stop(cli.ExitOK)
	d.hear("STOPPING=1")

	// Without a daemon the same commands work, or say what they need.
	d.do(cli.ExitOK, "^docs +invalid +2 ", "status")
	d.do(cli.ExitOK, "no daemon runs, the next one honors it", "pause", "about")
	d.do(cli.ExitOK, "^about +ok, paused", "status")
	d.do(cli.ExitError, "no daemon runs", "cancel", "about")
	d.do(cli.ExitError, "no daemon runs", "daemon", "reload")
	d.do(cli.ExitError, "needs a daemon", "run-now", "about", "--wait=false")
	d.do(cli.ExitOK, "^command .*: ok$", "daemon", "notify", "about")
	if data, err := os.ReadFile(filepath.Join(state, "told")); err != nil ||
		!strings.Contains(string(data[bytes.LastIndex(data, []byte(`"kind":"test"`)):]), `"state":"ok"`) {
		t.Errorf("%s, %v", data, err)
	}
	d.do(cli.ExitOK, "complete", "run-now", "about")
	again := startDaemon(t, jobs, state)
	again.do(cli.ExitOK, "^about +ok, paused", "status")
	// the last good version outlives the daemon
	again.do(cli.ExitOK, "^docs +invalid +2 .*0 0 1 1 \\*$", "status")
}

// statusAddress is where a daemon says that its status page is.
func statusAddress(t *testing.T, d *testDaemon) string {
	t.Helper()
	base := regexp.MustCompile(`http://[0-9.:]+`).FindString(d.out.String())
	if base == "" {
		t.Fatalf("no address of a status page in %q", d.out.String())
	}
	return base
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A daemon that is asked to end ends its runs as partial, and the next one resumes them by itself.
func TestDaemonResumes(t *testing.T) {
	t.Parallel()
	site := demosite.New()
	gate, asked := make(chan struct{}), make(chan struct{}, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/docs/manual/" {
			asked <- struct{}{}
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		site.ServeHTTP(w, r)
	}))
	defer srv.Close()
	jobs, state := t.TempDir(), t.TempDir()
	put(t, jobs, "site.toml",
		fmt.Sprintf("url = %q\nschedule = \"@every 1h\"\n[polite]\ndelay = \"0s\"\nfactor = 0.0\nconnections = 4\n",
			srv.URL+"/"))
	d := startDaemon(t, jobs, state)
	<-asked
	d.stop(cli.ExitOK)
	if !strings.Contains(d.log.String(), "verdict=partial cause=shutdown") {
		t.Errorf("log:\n%s", d.log.String())
	}
	d.do(cli.ExitOK, "^site +partial ", "status")
	close(gate)
	d = startDaemon(t, jobs, state)
	// the run that resumes by itself may have ended already
	d.do(cli.ExitOK, "^site: (complete, (version 1 published|nothing changed since version 1)|no change found)",
		"run-now", "site")
	if log := d.log.String(); !strings.Contains(log, "published=true") {
		t.Errorf("no run published:\n%s", log)
	}
	var all status.Job
	if err := json.Unmarshal([]byte(d.do(cli.ExitOK, "", "status", "site", "--json")), &all); err != nil ||
		all.Health != status.OK || all.Verified == nil || all.Verified.After(all.Last.Ended) {
		t.Errorf("%+v, %v", all, err)
	}
	d.stop(cli.ExitOK)
	d.do(cli.ExitOK, "all is well", "verify", "site")
}

// A running daemon knows a job as soon as init has written it.
func TestInitBesideDaemon(t *testing.T) {
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	d := startDaemon(t, t.TempDir(), t.TempDir())
	d.do(cli.ExitOK, "written: job new", "init", srv.URL+"/about/", "--as", "new", "--schedule", "@yearly")
	d.do(cli.ExitOK, "^new", "status")
}

// A daemon that lives for years must not lose a file or a goroutine with each run.
func TestDaemonLeaks(t *testing.T) {
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	d := startDaemon(t, jobsFor(t, srv.URL+"/about/"), t.TempDir())
	held := func() (files, goroutines int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list), runtime.NumGoroutine()
	}
	run := func(n int) {
		for range n {
			d.do(cli.ExitOK, "complete|no change", "run-now", "demo")
			d.do(cli.ExitOK, "ok", "status")
			d.do(cli.ExitOK, "1 job is in force", "daemon", "reload")
		}
	}
	run(3)
	files, goroutines := held()
	run(15)
	poll.Until(t, "at most 8 files and 12 goroutines more than 15 runs before", func() bool {
		f, g := held() // of the last run some end a moment later
		return f <= files+8 && g <= goroutines+12
	})
}

// Two jobs on one host are polite together: what one may not do, both may not.
func TestDaemonPoliteTogether(t *testing.T) {
	site := demosite.New()
	var now, most, requests atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		requests.Add(1)
		site.ServeHTTP(w, r)
	}))
	defer srv.Close()
	jobs, state := t.TempDir(), t.TempDir()
	for _, name := range []string{"docs", "about", "news"} {
		put(t, jobs, name+".toml",
			fmt.Sprintf("url = \"%s/%s/\"\n[polite]\ndelay = \"0s\"\nfactor = 0.0\nconnections = 1\n", srv.URL, name))
	}
	d := startDaemon(t, jobs, state)
	for _, name := range []string{"docs", "about"} {
		d.do(cli.ExitOK, "started", "run-now", name, "--wait=false")
	}
	for _, name := range []string{"news", "docs", "about"} {
		d.do(cli.ExitOK, "complete|no change", "run-now", name)
	}
	if most.Load() != 1 || requests.Load() < 60 {
		t.Errorf("%d requests at a time to a host of which jobs allow one; %d requests", most.Load(),
			requests.Load())
	}
}
