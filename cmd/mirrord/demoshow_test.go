// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/daemon"
	"mirrord/internal/demosite"
)

// shown is a demonstration that has come to its end and shows its mirror.
type shown struct {
	t                *testing.T
	console, mirrors string // console is a link that logs in
	end              func() // and wait
}

// showDemo runs a demonstration up to where it would wait for its end.
func showDemo(t *testing.T) *shown {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan string, 1)
	var out, errs shared
	link := regexp.MustCompile(`(?s)date: (http://\S+)\n.*in: (http://\S+)\nPress`)
	e := cli.Environ{
		Stdin: strings.NewReader(""),
		Stdout: writerFunc(func(p []byte) (int, error) {
			out.Write(p)
			if strings.Contains(string(p), "Press ^C") {
				said <- out.String()
			}
			return len(p), nil
		}),
		Stderr:    &errs,
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, e, []string{"demo", "--serve", "-o", filepath.Join(t.TempDir(), "demo")}) }()
	s := &shown{t: t, end: func() {
		cancel()
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
	}}
	select {
	case text := <-said:
		m := link.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("it does not say where to look:\n%s", text)
		}
		s.mirrors, s.console = m[1], m[2]
	case code := <-ended:
		t.Fatalf("it ended with %d: %s\n%s", code, errs.String(), out.String())
	}
	return s
}

// A demonstration ends with a console over its weeks, in which everything works, and with the mirror.
func TestDemoShows(t *testing.T) {
	s := showDemo(t)
	defer s.end()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	base, login, _ := strings.Cut(s.console, "/login")
	v := &visitor{T: t, http: &http.Client{Jar: jar}, base: base}
	defer v.http.CloseIdleConnections()
	list := v.see(http.StatusOK, "Kestrel Point Observatory", "/login"+login, nil)
	week := demosite.Published(demosite.Versions()).Format("2006-01-02")
	if !strings.Contains(list, week) || !strings.Contains(list, s.mirrors+daemon.DemoName+"/") {
		t.Errorf("the list does not name %s, or the mirror below %s:\n%s", week, s.mirrors, list)
	}
	v.see(http.StatusOK, "8 versions", "/jobs/"+daemon.DemoName+"/versions", nil)
	v.see(http.StatusOK, "</svg>", "/jobs/"+daemon.DemoName+"/changes", nil)
	(&visitor{T: t, http: v.http, base: s.mirrors}).see(http.StatusOK, "Kestrel Point", daemon.DemoName+"/", nil)
}
