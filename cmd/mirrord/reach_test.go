// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/jobs"
	"mirrord/app/serving"
	"mirrord/cmd/mirrord/cli"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// insider is a jobs directory and a state in a network whose names change.
type insider struct {
	t           *testing.T
	n           *mirrortest.FakeNetwork
	jobs, state string
}

func newInsider(t *testing.T) (*mirrortest.Web, *insider) {
	t.Helper()
	w := mirrortest.NewWeb()
	w.SetAll("http://wiki.corp.test", map[string]mirrortest.Page{
		"/": mirrortest.HTML("home", `<a href="a.html">a</a> <img src="http://static.corp.test:8080/x.png">`), "/a.html": mirrortest.HTML("a", "<p>page</p>"),
	})
	w.Set("http://static.corp.test:8080/x.png", mirrortest.Page{Body: "\x89PNG"})
	return w, &insider{t, mirrortest.StartNetwork(t, w), t.TempDir(), t.TempDir()}
}

func (in *insider) job(name, toml string) {
	in.t.Helper()
	if err := os.WriteFile(filepath.Join(in.jobs, name+".toml"), []byte(toml), 0o644); err != nil {
		in.t.Fatal(err)
	}
}

// do runs a command and wants an exit code and parts of what it says; "!" before a part wants it absent.
func (in *insider) do(code int, want []string, args ...string) {
	in.t.Helper()
	var out, errs bytes.Buffer
	e := cli.Environ{
		Stdin:     strings.NewReader(""),
		Stdout:    &out,
		Stderr:    &errs,
		LookupEnv: func(string) (string, bool) { return "", false },
		Network:   in.n,
	}
	got := run(in.t.Context(), e, append(args, "--jobs", in.jobs, "--state", in.state))
	text := strings.ReplaceAll(out.String()+errs.String(), in.jobs, "JOBS")
	if got != code {
		in.t.Errorf("%v: exit code %d, want %d\n%s", args, got, code, text)
	}
	for _, w := range want {
		if absent, not := strings.CutPrefix(w, "!"); not == strings.Contains(text, strings.TrimPrefix(w, "!")) {
			in.t.Errorf("%v: want %q %v in\n%s", args, absent, !not, text)
		}
	}
}

// The upgrade of a user whose site is inside: check says which line to add, it works, and so does each
// further remedy to its end.
func TestInsideSite(t *testing.T) {
	t.Parallel()
	w, in := newInsider(t)
	in.n.Inside.SetAll("http://wiki.corp.test", map[string]mirrortest.Page{
		"/":           w.Page("http://wiki.corp.test/"),
		"/a.html":     w.Page("http://wiki.corp.test/a.html"),
		"/robots.txt": mirrortest.Status(404),
	})
	in.n.Inside.Set("http://static.corp.test:8080/x.png", mirrortest.Page{Body: "\x89PNG"})
	in.n.Inside.Set("*", mirrortest.Status(404))
	in.n.Name("wiki.corp.test", "10.0.0.7")
	in.n.Name("static.corp.test", "fd00::8")
	in.n.Name("hook.corp.test", "192.168.3.3")
	in.n.Name("www.public.test", "93.184.216.34")
	const top = "url = \"http://wiki.corp.test/\"\nrequisites = \"any\"\n" +
		"notify.webhook = \"https://hook.corp.test/x\"\n[polite]\ndelay = \"0s\"\nfactor = 0\n"
	in.job("wiki", top)
	in.job("public", "url = \"http://www.public.test/\"\n")
	in.job("lost", "url = \"http://lost.corp.test/\"\n")
	const needs = `add allow_private = ["wiki.corp.test:80", "hook.corp.test:443"] to the table [polite] of JOBS/wiki.toml`
	in.do(cli.ExitOK, []string{
		"JOBS/wiki.toml: ok\n",
		"JOBS/wiki.toml: warning: http://wiki.corp.test, named by url, will not be reached: wiki.corp.test at " +
			"10.0.0.7 is a private address",
		"warning: https://hook.corp.test, named by notify.webhook, will not be reached: hook.corp.test at " +
			"192.168.3.3", needs, "JOBS/public.toml: ok\n", "!public.toml: warning", "!lost.toml: warning",
		"unknown: lost.corp.test",
	}, "check")
	in.do(cli.ExitOK, []string{"!warning", "!unknown"}, "check", "--resolve=false")
	in.do(cli.ExitOK, []string{`"warnings": [`, `[\"wiki.corp.test:80\"`}, "check", "--json")
	in.do(cli.ExitError, // another run would meet the same
		[]string{`add allow_private = ["wiki.corp.test:80"] to the table [polite] of JOBS/wiki.toml`},
		"run-now", "wiki")

	in.job("wiki", top+"allow_private = [\"wiki.corp.test:80\", \"hook.corp.test:443\"]\n")
	in.do(cli.ExitOK, []string{"!warning"}, "check")
	in.do(cli.ExitOK, nil, "run-now", "wiki")
	// The image was refused, as it was before nothing said that it is meant; here it is.
	in.job("wiki", top+"allow_private = [\"10.0.0.0/8\", \"[fd00::/8]:8080\", \"192.168.3.3:443\"]\n")
	in.do(cli.ExitOK, nil, "run-now", "wiki")
	if in.n.Inside.Asked()["http://static.corp.test:8080/x.png"] == 0 {
		t.Error("the image was not asked")
	}
	in.job("wiki", top) // what the mirror has of other hosts is in the line too
	in.do(cli.ExitOK,
		[]string{"named by a file of the mirror",
			`allow_private = ["wiki.corp.test:80", "static.corp.test:8080", "hook.corp.test:443"]`}, "check")

	// The name is public for a time.
	in.n.Name("wiki.corp.test", "93.184.216.34")
	in.do(cli.ExitOK, nil, "run-now", "wiki")
	in.n.Name("wiki.corp.test", "10.0.0.7")
	in.job("wiki", top+"allow_private = true\n")
	in.do(cli.ExitOK, []string{"the name was public before", "run mirrord forget --address wiki.corp.test"},
		"check")
	in.do(cli.ExitPartial,
		[]string{"if it has moved inside for good, run mirrord forget --address wiki.corp.test"},
		"run-now", "wiki")
	in.do(cli.ExitError, []string{"x.corp.test: not remembered", "wiki.corp.test: forgotten"}, "forget-address",
		"x.corp.test", "Wiki.corp.test.")
	in.do(cli.ExitOK, []string{"!warning"}, "check")
	in.do(cli.ExitOK, nil, "run-now", "wiki")
	in.do(cli.ExitError, []string{`"name": "wiki.corp.test"`, `"forgotten": false`}, "forget-address", "--json",
		"wiki.corp.test")
}

// Metadata services are no sites, and no setting makes them some.
func TestMetadataIsNoSite(t *testing.T) {
	t.Parallel()
	_, in := newInsider(t)
	for _, u := range []string{
		"http://169.254.169.254/latest/", "http://[fd00:ec2::254]/", "http://metadata.google.internal/",
		"http://[::ffff:a9fe:a9fe]/", "http://2852039166/",
	} {
		in.job("m", fmt.Sprintf("url = %q\npolite.allow_private = true\n", u))
		in.do(cli.ExitError, []string{"is the metadata service of a cloud, which is never reached"}, "check")
	}
}

// What a job names by addresses needs no resolver, and what it allows already stays in the line.
func TestCheckWithoutResolver(t *testing.T) {
	t.Parallel()
	_, in := newInsider(t)
	in.job("two", `url = "http://127.0.0.1:81/"
scope = ["http://127.0.0.1:81/", "http://127.0.0.1:82/", "http://[fd00::7]/x/", "http://192.168.1.1/"]
alternates = ["http://10.0.0.9/"]
polite.allow_private = ["192.168.0.0/16"]
`)
	in.do(cli.ExitOK, []string{
		"warning: http://127.0.0.1:82, named by scope, ", "warning: http://[fd00::7], named by scope, ",
		"!127.0.0.1:81", "!10.0.0.9", "!192.168.1.1",
		`change allow_private of the table [polite] in JOBS/two.toml to ["192.168.0.0/16", "127.0.0.1:82", "[fd00::7]:80"]`,
	}, "check", "--resolve=false")
}

// What serve --forward and webhooks send goes where the job of the mirror may reach, and by no other job's
// word.
func TestForwardAndWebhookGuard(t *testing.T) {
	t.Parallel()
	w, in := newInsider(t)
	w.Set("http://evil.test/", mirrortest.Status(200))
	in.job("own", "url = \"http://10.0.0.5:8080/\"\n")
	in.job("wiki", "url = \"http://wiki.corp.test/\"\npolite.allow_private = [\"10.0.0.0/8:80\"]\n")
	in.job("plain", "url = \"http://wiki.corp.test/\"\nscope = \"host\"\n")
	in.n.Name("wiki.corp.test", "10.0.0.7", "93.184.216.34", "10.0.0.7")
	in.n.Name("evil.test", "93.184.216.34", "169.254.169.254", "127.0.0.1", "::1")
	st, err := store.OpenState(in.state, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a := &cli.CLI{Environ: cli.Environ{Stderr: new(bytes.Buffer), Network: in.n}, JobsFlag: in.jobs}
	fw, done, err := serving.Forwarding(a.App(), st.PublicNames, false)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	all, doneAll, err := serving.Forwarding(a.App(), st.PublicNames, true)
	if err != nil {
		t.Fatal(err)
	}
	defer doneAll()
	job, err := a.App().FindJob("plain")
	if err != nil {
		t.Fatal(err)
	}
	hook := jobs.Webhooks(a.App(), st.PublicNames)(job)
	for _, tt := range []struct {
		name string
		way  http.RoundTripper
		url  string
		good bool
	}{
		{"the job's address", fw.Transport("own"), "http://10.0.0.5:8080/x.cgi", true},
		{"another port of it", fw.Transport("own"), "http://10.0.0.5:8500/x.cgi", false},
		{"another job's address", fw.Transport("wiki"), "http://10.0.0.5:8080/x.cgi", false},
		{"a mirror without a job", fw.Transport("gone"), "http://10.0.0.5:8080/x.cgi", false},
		{"a range that the job allows", fw.Transport("wiki"), "http://wiki.corp.test/x.cgi", true},
		{"public meanwhile", fw.Transport("plain"), "http://wiki.corp.test/x.cgi", true},
		{"private again", fw.Transport("wiki"), "http://wiki.corp.test/x.cgi", false},
		{"public", fw.Transport("plain"), "http://evil.test/x.cgi", true},
		{"metadata, all allowed", all.Transport("plain"), "http://evil.test/x.cgi", false},
		{"loopback, all allowed, public before", all.Transport("plain"), "http://evil.test/x.cgi", false},
		{"the same, IPv6", all.Transport("plain"), "http://evil.test/x.cgi", false},
		{"all allowed", all.Transport("gone"), "http://10.0.0.5:8500/x.cgi", true},
		{"a webhook at an address", hook, "http://10.9.9.9:9000/hook", true},
		{"a webhook at a name", hook, "http://evil.test/hook", false},
		{"a webhook at a metadata service", hook, "http://169.254.169.254/hook", false},
	} {
		in.n.Inside.Asked()
		req, err := http.NewRequestWithContext(t.Context(), "POST", tt.url, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := tt.way.RoundTrip(req)
		if err == nil {
			res.Body.Close()
		}
		if tt.good != (err == nil) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if n := len(in.n.Inside.Asked()); !tt.good && n != 0 {
			t.Errorf("%s: %d requests came through", tt.name, n)
		}
	}
}

// replicas --verify goes by the rules of the job.
func TestReplicasVerifyGuard(t *testing.T) {
	t.Parallel()
	_, in := newInsider(t)
	in.n.Name("wiki.corp.test", "93.184.216.34")
	in.n.Name("static.corp.test", "93.184.216.34")
	in.n.Name("alt.test", "93.184.216.34", "127.0.0.1", "::1", "169.254.169.254")
	in.job("wiki",
		"url = \"http://wiki.corp.test/\"\nalternates = [\"http://alt.test/\", "+
			"\"http://inside.test/\"]\n[polite]\ndelay = \"0s\"\nfactor = 0\n")
	in.n.Name("inside.test", "fd00::1")
	in.do(cli.ExitOK, nil, "run-now", "wiki")
	in.do(cli.ExitOK, nil, "replicas", "--verify", "wiki")
	in.do(cli.ExitOK, nil, "replicas", "--verify", "wiki")
	for u := range in.n.Inside.Asked() {
		t.Errorf("%s was asked inside", u)
	}
}

// A client that points a name of its own at the status page reads nothing.
func TestStatusPageHost(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, t.TempDir(), t.TempDir(), "--listen", "127.0.0.1:0", "--listen-host", "Mirror.corp.test")
	base := statusAddress(t, d)
	for host, want := range map[string]int{
		"":                           200,
		"localhost:80":               200,
		"[::1]:9180":                 200,
		"mirror.corp.test":           200,
		"mirror.corp.test.:9180":     200,
		"evil.test":                  421,
		"mirror.corp.test.evil.test": 421,
		"127.0.0.1.evil.test":        421,
	} {
		for _, path := range []string{"/", "/status.json", "/metrics", "/healthz",
			"/static/tunasync.json"} {
			if got, _, _ := fetchAs(t, base, host, path); got != want {
				t.Errorf("Host %q, %s: %d, want %d", host, path, got, want)
			}
		}
	}
	d.stop(cli.ExitOK)
}
