// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler/status"
)

// Every remedy that status can name is walked to its end: the trouble is made, the remedy is the same in
// status, JSON, message and page, it is carried out as it says, and the trouble is gone. A new cause, or a
// new hint, without a walk fails.
func TestRemediesAreWalked(t *testing.T) {
	walks := causeWalks()
	file, err := os.ReadFile("../../scheduler/status/troubles.txt")
	if err != nil {
		t.Fatal(err)
	}
	var causes []string
	for _, m := range regexp.MustCompile(`(?m)^in: "(.*)"$`).FindAllSubmatch(file, -1) {
		causes = append(causes, string(m[1]))
	}
	for _, cause := range causes {
		if walks[cause] == nil {
			t.Errorf("no walk for the cause %q", cause)
			continue
		}
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			walks[cause](t, cause)
		})
	}
	if len(walks) != len(causes) {
		t.Errorf("%d walks for %d causes", len(walks), len(causes))
	}
	others := hintWalks()
	hints := hintsOf(t)
	for _, hint := range hints {
		if others[hint] == nil {
			t.Errorf("no walk for the hint %q", hint)
			continue
		}
		t.Run(hint, func(t *testing.T) {
			t.Parallel()
			others[hint](t, "")
		})
	}
	if len(others) != len(hints) {
		t.Errorf("%d walks for the hints %q", len(others), hints)
	}
}

// hintsOf returns the functions of the rules of package status that make a remedy, and the remedies that
// stand in the rules themselves, up to the first comma or blank at the end.
func hintsOf(t *testing.T) (hints []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../scheduler/status/judge.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if f.Recv == nil && strings.HasSuffix(f.Name.Name, "Hint") {
			hints = append(hints, f.Name.Name)
		}
		if f.Name.Name != "fix" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			ret, ok := n.(*ast.ReturnStmt)
			if !ok {
				return true
			}
			x := ret.Results[0]
			for b, ok := x.(*ast.BinaryExpr); ok; b, ok = x.(*ast.BinaryExpr) {
				x = b.X
			}
			lit, ok := x.(*ast.BasicLit)
			if !ok {
				return true
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && text != "" {
				text, _, _ = strings.Cut(text, ",")
				hints = append(hints, strings.TrimSpace(text))
			}
			return true
		})
	}
	return hints
}

// causeWalks are the walks from each cause.
func causeWalks() map[string]func(t *testing.T, cause string) {
	return map[string]func(t *testing.T, cause string){
		"address not allowed: ":               walkForbiddenAddress,
		"disallowed":                          walkRobots,
		"read secret: ":                       walkSecret,
		"tls.ca_file: |auth.cookies_file: ":   walkFile,
		"status 401":                          walkLogin,
		"status 403":                          walkRefused,
		"it refuses also what it gave before": walkWall,
		"no such host":                        walkNoHost,
		"x509: ":                              walkCertificate,
		"x509: certificate has expired or is not yet valid":                walkExpiredCertificate,
		"tls handshake or certificate":                                     walkHandshake,
		"HTTP response to HTTPS client|does not look like a TLS handshake": walkNoHTTPS,
		"proxy answers …status 403":                                        walkProxyRefuses,

		"x509: certificate is valid for |x509: certificate is not valid for any names|" +
			"x509: cannot validate certificate for ": walkOtherName,
		"status 407|authentication methods|username/password authentication failed": walkProxyLogin,
		"entry point …: redirected (to ":                                            walkLeadsAway,
		"no entry point":                                                            walkNoEntry,
		"entry point …: gone":                                                       walkGone,
		"entry point …: it answers with an empty page":                              walkEmptyEntry,
		"longer than polite.max_wait":                                               walkRetryAfter,
		"the entry point":                                                           walkEntryFails,
		"limits.max_failures":                                                       walkFailures,
		"was left for the next run":                                                 walkLeft,
		"takes more than limits.max_state":                                          walkFull,
		"takes more than its share of the room":                                     walkShare,
		"limits.max_time":                                                           walkTime,
		"publish.dir":                                                               walkPublishDir,
		"permission denied":                                                         walkPermission,
		"Crawl-delay of … longer than polite.max_wait":                              walkCrawlDelay,

		"its robots.txt cannot be had: it leads to …no such host":          walkRobotsLead,
		"its robots.txt cannot be had: it leads to …address not allowed: ": walkRobotsLeadInside,

		"connection refused|no route to host|network is unreachable|timeout|timed out": walkNoAnswer,
	}
}

// hintWalks are the walks from the remedies of other rules.
func hintWalks() map[string]func(t *testing.T, cause string) {
	return map[string]func(t *testing.T, cause string){
		"RebuildHint":                  walkDamaged,
		"AcceptHint":                   walkHeld,
		"GapsHint":                     walkGaps,
		"AllowHint":                    walkForgotten,
		"ForgetHint":                   walkForgottenElsewhere,
		"HeldHint":                     walkRolledBack,
		"free some space (mirrord gc)": walkNoRoom,
		"mirrord check":                walkInvalid,
		"mirrord resume":               walkPaused,
	}
}

func walkForbiddenAddress(t *testing.T, cause string) {
	w := newWalk(t, cause)
	url := strings.Replace(w.site.URL, "127.0.0.1", "wiki.test", 1)
	w.job(url + "/")
	w.lasts("is a loopback address", "to the table [polite] of "+w.d.jobs, "then: mirrord run-now walked")
	key := regexp.MustCompile(`allow_private = \[[^\]]*\]`).FindString(w.was.Fix)
	w.job(url+"/", "polite."+key)
	w.gone()
}

func walkSecret(t *testing.T, cause string) {
	w := newWalk(t, cause)
	secret := w.file("secret")
	w.job(w.site.URL+"/", `auth.user = "me"`, fmt.Sprintf("auth.password_file = %q", secret))
	w.run(cli.ExitError)
	w.shown("let the daemon's user read the secret", "mirrord check names it")
	w.bySchedule()
	if said := w.do(cli.ExitOK, "check"); !strings.Contains(said, secret) {
		t.Errorf("check does not name %s:\n%s", secret, said)
	}
	if err := os.WriteFile(secret, []byte("word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.gone()
}

func walkFile(t *testing.T, cause string) {
	w := newWalk(t, cause)
	cookies := w.file("cookies")
	w.job(w.site.URL+"/", fmt.Sprintf("auth.cookies_file = %q", cookies))
	w.run(cli.ExitError)
	w.shown("let the daemon's user read it, or correct its name", "mirrord check says more")
	w.bySchedule()
	if said := w.do(cli.ExitOK, "check"); !strings.Contains(said, cookies) {
		t.Errorf("check does not name %s:\n%s", cookies, said)
	}
	if err := os.WriteFile(cookies, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.gone()
}

func walkLogin(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(func(rw http.ResponseWriter, r *http.Request) {
		if user, word, _ := r.BasicAuth(); user != "me" || word != "word" {
			rw.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		page(rw, r)
	})
	w.job(w.site.URL + "/")
	w.lasts("user and password of [auth] in the job's file")
	w.job(w.site.URL+"/", `auth.user = "me"`, "auth.password_file = "+w.secret())
	w.gone()
}

func walkRefused(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(noRobots(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }))
	w.job(w.site.URL + "/")
	w.lasts("ask its owner")
	w.answers(page) // the owner says yes
	w.gone()
}

func walkNoHost(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.job("http://nowhere.invalid/")
	w.lasts("no host has this name", "look at url in the job's file")
	w.job(w.site.URL + "/")
	w.gone()
}

func walkLeadsAway(t *testing.T, cause string) {
	w := newWalk(t, cause)
	there := httptest.NewServer(http.HandlerFunc(page))
	defer there.Close()
	w.answers(noRobots(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, there.URL+"/new/", http.StatusFound)
	}))
	w.job(w.site.URL + "/")
	w.lasts("write url = ")
	m := regexp.MustCompile(`write url = ("[^"]*")`).FindStringSubmatch(w.was.Fix)
	if m == nil {
		t.Fatal(w.was.Fix)
	}
	url, err := strconv.Unquote(m[1])
	if err != nil {
		t.Fatal(err)
	}
	w.job(url)
	w.gone()
}

func walkNoEntry(t *testing.T, cause string) {
	w := newWalk(t, cause)
	var gone atomic.Bool
	w.answers(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/old" && gone.Load():
			http.NotFound(rw, r)
		case r.URL.Path == "/old" || r.URL.Path == "/new":
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, "<title>x</title><a href=/other>other</a>")
		default:
			page(rw, r)
		}
	})
	w.job(w.site.URL + "/old")
	w.run(cli.ExitOK)
	gone.Store(true)
	w.until(status.Suspicious)
	fix := w.shown("if it has moved, change url in the job's file")
	if hint := status.AgainHint(w.name, "no entry point"); fix != hint {
		t.Errorf("%q in status, %q in the report", fix, hint)
	}
	w.job(w.site.URL + "/new")
	w.gone()
}

func walkGone(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/right" {
			page(rw, r)
			return
		}
		http.NotFound(rw, r)
	})
	w.job(w.site.URL + "/wrong")
	w.lasts("look whether url in the job's file is right")
	w.job(w.site.URL + "/right")
	w.gone()
}

func walkEmptyEntry(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			rw.Header().Set("Content-Type", "text/html")
			return
		}
		page(rw, r)
	})
	w.job(w.site.URL + "/")
	w.lasts("look at it, and whether url in the job's file is right")
	w.job(w.site.URL + "/right")
	w.gone()
}

func walkCrawlDelay(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(robots("User-agent: *\nCrawl-delay: 0.2\n"))
	w.job(w.site.URL+"/", `polite.max_wait = "100ms"`)
	w.lasts("raise polite.max_wait in the job's file")
	w.job(w.site.URL+"/", `polite.max_wait = "1m"`)
	w.gone()
}

func walkRetryAfter(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(noRobots(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "2")
		rw.WriteHeader(http.StatusServiceUnavailable)
	}))
	w.job(w.site.URL+"/", `polite.max_wait = "1s"`)
	w.run(cli.ExitPartial)
	w.shown("nothing, the site wants to be left alone for so long")
	w.answers(page)
	w.until(status.OK)
	w.well()
}

func walkEntryFails(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wrong" {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		page(rw, r)
	})
	w.job(w.site.URL + "/wrong")
	w.run(cli.ExitPartial)
	w.shown("look whether url in the job's file is right", "then: mirrord run-now walked")
	w.job(w.site.URL + "/right")
	w.gone()
}

func walkFailures(t *testing.T, cause string) {
	var broken atomic.Int64
	broken.Store(6)
	site := brokenSite(t, &broken)
	w := newWalk(t, cause)
	w.job(site.URL + "/")
	w.run(cli.ExitGaps)
	j := w.now()
	j.StaleAfter = 1
	j.Judge(time.Now().Add(time.Hour)) // it is shown when it was left alone for long
	for _, want := range []string{"mirrord explain walked URL says why", "raise limits.max_failures"} {
		if !strings.Contains(j.Fix, want) {
			t.Errorf("%q is not in %q", want, j.Fix)
		}
	}
	if said := w.do(cli.ExitOK, "explain", w.name, site.URL+"/p1.html"); !strings.Contains(said, "500") {
		t.Errorf("explain: %s", said)
	}
	w.job(site.URL+"/", `limits.max_failures = "50%"`)
	w.do(cli.ExitOK, "run-now", w.name, "--full")
	w.well()
}

func walkNoAnswer(t *testing.T, cause string) {
	w := newWalk(t, cause)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	w.job("http://" + address + "/")
	w.run(cli.ExitPartial)
	w.shown("the host does not answer and is tried again", "look whether url in the job's file is right",
		"at once: mirrord run-now walked")
	if w.was.Why != "retry" {
		t.Errorf("next run: %s", w.was.Why)
	}
	w.job(w.site.URL + "/")
	w.gone()
}

func walkLeft(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) })
	w.job(w.site.URL + "/")
	w.run(cli.ExitPartial)
	w.shown("nothing, it is tried again; at once: mirrord run-now walked")
	if w.was.Why != "retry" {
		t.Errorf("next run: %s", w.was.Why)
	}
	w.answers(page)
	w.gone()
}

func walkWall(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(noRobots(func(rw http.ResponseWriter, r *http.Request) {
		if page(rw, r); r.URL.Path != "/" {
			return
		}
		for i := range 20 {
			fmt.Fprintf(rw, "<a href=p%d.html>%d</a> ", i, i)
		}
	}))
	w.job(w.site.URL + "/")
	w.run(cli.ExitOK)
	open := *w.serve.Load()
	w.answers(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) })
	w.run(cli.ExitPartial)
	w.shown("it is tried again; if it stays so, ask the site's owner", "at once: mirrord run-now walked")
	if w.was.Why != "retry" {
		t.Errorf("next run: %s", w.was.Why)
	}
	w.answers(open)
	w.gone()
}

func walkFull(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.job(w.site.URL + "/")
	w.run(cli.ExitOK)
	w.job(w.site.URL+"/", `limits.max_state = "1kB"`)
	w.run(cli.ExitPartial)
	w.shown("raise limits.max_state in the job's file")
	w.job(w.site.URL+"/", `limits.max_state = "1GB"`)
	w.gone()
}

func walkShare(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.job(w.site.URL + "/")
	w.run(cli.ExitOK)
	w.d.stop(cli.ExitOK)
	jobs, state := w.d.jobs, w.d.state
	w.d = startDaemonOn(t, names{}, jobs, state, "--listen", "127.0.0.1:0", "--max-state", "1kB")
	w.run(cli.ExitPartial)
	w.shown("raise max_state in daemon.toml", "mirrord remove JOB")
	w.d.stop(cli.ExitOK)
	w.d = startDaemonOn(t, names{}, jobs, state, "--max-state", "1GB")
	w.gone()
}

func walkTime(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(func(rw http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	w.job(w.site.URL+"/", `limits.max_time = "1s"`)
	w.run(cli.ExitPartial)
	w.shown("nothing, the next run continues; at once: mirrord run-now walked")
	w.answers(page)
	w.until(status.OK)
	w.well()
}

func walkPublishDir(t *testing.T, cause string) {
	w := newWalk(t, cause)
	dir := filepath.Join(t.TempDir(), "www")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.job(w.site.URL+"/", fmt.Sprintf("publish.dir = %q", dir))
	w.run(cli.ExitError)
	w.shown("mirrord check names the obstacle")
	w.bySchedule()
	if said := w.do(cli.ExitOK, "check"); !strings.Contains(said, dir) {
		t.Errorf("check does not name %s:\n%s", dir, said)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	w.gone()
}
