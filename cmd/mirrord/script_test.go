// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mirrord/internal/demosite"
	"mirrord/testing/mirrortest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mirrord": func() { os.Exit(realMain()) },
		// where each site is the server at $SITE_AT: orders reach no address of this machine
		"mirrord-of-site": func() {
			e := environment()
			e.Network = mirrortest.OneServer{At: os.Getenv("SITE_AT")}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			code := run(ctx, e, os.Args[1:])
			stop()
			os.Exit(code)
		},
		"servefloor": serveFloor,
	})
}

// TestScript runs the command line as scripts do: testdata/script holds one file per scenario. Each script
// has the demo site to itself, at $SITE ($HOST without the scheme, $NAME as a job name); $FAST are the
// settings for a server of one's own.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			h := demosite.New()
			asked := make(chan struct{}, 1) // a token: there was a request since the last "site await"
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case asked <- struct{}{}:
				default:
				}
				h.ServeHTTP(w, r)
			}))
			e.Defer(srv.Close)
			e.Values["site"], e.Values["asked"] = h, asked
			host := strings.TrimPrefix(srv.URL, "http://")
			e.Setenv("SITE", srv.URL)
			e.Setenv("HOST", host)
			e.Setenv("NAME", strings.ReplaceAll(host, ":", "-"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("CLOSED", closedWindow())
			e.Setenv("STATE_DIRECTORY", e.WorkDir+"/state")
			return os.WriteFile(e.WorkDir+"/fast.toml",
				[]byte(fmt.Sprintf("url = %q\n[polite]\ndelay = \"0s\"\nfactor = 0.0\nconnections = 4\n", srv.URL+"/")),
				0o644)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": cmdExits,
			"site":  cmdSite,
			"poke":  cmdPoke,

			"appendto": cmdAppend,
		},
	})
}

// closedWindow is a window of an hour that opens in two.
func closedWindow() string {
	now := time.Now()
	return now.Add(2*time.Hour).Format("15:04") + "-" + now.Add(3*time.Hour).Format("15:04")
}

// cmdExits runs a program and wants an exact exit code: exits CODE mirrord ARG…
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = strconv.Itoa(exit.ExitCode())
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// cmdSite drives the demo site: site version N; site asked PATH wants a request for it since the last "site
// forget" or "site asked"; site await waits for a request.
func cmdSite(ts *testscript.TestScript, neg bool, args []string) {
	h := ts.Value("site").(*demosite.Handler)
	switch {
	case len(args) == 2 && args[0] == "version":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		h.SetVersion(n)
	case len(args) == 1 && args[0] == "forget":
		h.Requests()
		select {
		case <-ts.Value("asked").(chan struct{}):
		default:
		}
	case len(args) == 2 && args[0] == "asked":
		found := false
		for _, r := range h.Requests() {
			found = found || strings.HasPrefix(r.Path, args[1])
		}
		if found == neg {
			ts.Fatalf("request for %s: %v", args[1], found)
		}
	case len(args) == 2 && args[0] == "few":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		if got := len(h.Requests()); got > n || got < 2 {
			ts.Fatalf("%d requests, want 2 to %d", got, n)
		}
	case len(args) == 1 && args[0] == "await":
		<-ts.Value("asked").(chan struct{})
	default:
		ts.Fatalf("usage: site version N | site forget | site asked PATH | site await")
	}
}

// cmdPoke appends a byte to a file without the mirror's knowledge: poke FILE
func cmdPoke(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: poke FILE")
	}
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	ts.Check(os.Remove(name)) // it may be another name of a stored file
	ts.Check(os.WriteFile(name, append(data, '!'), 0o644))
}

// cmdAppend appends a file to another: appendto FILE OTHER
func cmdAppend(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: appendto FILE OTHER")
	}
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	ts.Check(os.WriteFile(name, append(data, ts.ReadFile(args[1])...), 0o644))
}
