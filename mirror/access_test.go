// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/source"
	"mirrord/scheduler/status"
	"mirrord/testing/mirrortest"
)

// A job's credentials go to the site and to no other host.
func TestCredentials(t *testing.T) {
	w := mirrortest.Start(t)
	guarded := func(p mirrortest.Page) mirrortest.Page {
		return mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			if user != "reader" || password != "s3cret" || r.Header.Get("X-Token") != "token" {
				rw.WriteHeader(401)
				return
			}
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, p.Body)
		}}
	}
	w.Set(home+"/",
		guarded(mirrortest.HTML("Home", `<a href="a.html">a</a> <img src="http://cdn.example.org/1.png">`)))
	w.Set(home+"/a.html", guarded(mirrortest.HTML("A", "")))
	w.Set("http://cdn.example.org/1.png", mirrortest.Page{Body: "1"})
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := mirrortest.New(t, w, job(`auth.user = "reader"`, fmt.Sprintf("auth.password_file = %q", file),
		`auth.headers = { "X-Token" = { env = "TEST_TOKEN" }, "X-Plain" = "yes" }`))
	m.World.LookupEnv = func(k string) (string, bool) { return "token", k == "TEST_TOKEN" }
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantPaths(t, m, "index.html", "a.html", "@cdn.example.org_80/1.png")
	for _, r := range w.Requests() {
		if !strings.HasPrefix(r.URL, home) &&
			(r.Header.Get("Authorization") != "" || r.Header.Get("X-Token")+r.Header.Get("X-Plain") != "") {
			t.Errorf("%s was sent the headers of the job's own origin", r.URL)
		}
	}
}

// Cookies that the site sets are kept for the run when the job says so; a cookie file is sent from the start.
func TestCookies(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "seen", Value: "yes", Path: "/"})
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, `<a href="inner.html">inner</a>`)
	}})
	w.Set(home+"/inner.html", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		_, err1 := r.Cookie("seen")
		_, err2 := r.Cookie("given")
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "seen %v, given %v", err1 == nil, err2 == nil)
	}})
	file := filepath.Join(t.TempDir(), "cookies.txt")
	if err := os.WriteFile(file,
		[]byte("# Netscape HTTP Cookie File\nwww.example.org\tFALSE\t/\tFALSE\t0\tgiven\tvalue\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{nil, "seen false, given false"},
		{[]string{"auth.cookies = true"}, "seen true, given false"},
		{[]string{"auth.cookies = true", fmt.Sprintf("auth.cookies_file = %q", file)}, "seen true, given true"},
	} {
		m := mirrortest.New(t, w, job(c.lines...))
		wantVerdict(t, m.Run(), mirror.Complete, true)
		if got := m.Tree()["inner.html"]; got != c.want {
			t.Errorf("%q: %q, want %q", c.lines, got, c.want)
		}
	}
}

// With auth.cookies no page is requested without the cookie that the entry point, or the target of its
// redirect, sets: not when the entry point is slow, and not in a run that resumes after an interruption.
func TestCookieComesFirst(t *testing.T) {
	w := mirrortest.Start(t)
	var mu sync.Mutex
	var bare []string
	page := func(body string) mirrortest.Page {
		return mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			if _, err := r.Cookie("seen"); err != nil {
				mu.Lock()
				bare = append(bare, r.URL.Path)
				mu.Unlock()
			}
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(rw, "<title>%s</title>%s", r.URL.Path, body)
		}}
	}
	w.Set(home+"/", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("seen"); err != nil {
			time.Sleep(50 * time.Millisecond) // slow, so that other pages would be requested first
			http.Redirect(rw, r, "/enter", http.StatusFound)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<title>Home</title>")
		for i := range 20 {
			fmt.Fprintf(rw, "<a href=/%d.html>%d</a>", i, i)
		}
	}})
	w.Set(home+"/enter", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "seen", Value: "yes", Path: "/"})
		http.Redirect(rw, r, "/", http.StatusFound)
	}})
	for i := range 20 {
		w.Set(fmt.Sprintf("%s/%d.html", home, i), page("text"))
	}
	m := mirrortest.New(t, w, job("auth.cookies = true"))
	ctx, stop := context.WithCancel(t.Context())
	w.Hook(func(r *http.Request) {
		if r.URL.Path == "/7.html" {
			stop()
		}
	})
	if s, err := m.RunWith(ctx, func(*mirror.Options) {}); (err != nil) || (s.Verdict != mirror.Partial) {
		t.Fatal(s, err)
	}
	w.Hook(nil)
	for i := range 3 { // the first one resumes
		wantVerdict(t, m.Run(), mirror.Complete, i == 0)
	}
	if len(bare) > 0 {
		t.Errorf("requested without a cookie: %v", bare)
	}
}

// A site with a certificate of its own authority is mirrored with tls.ca_file, and refused without.
func TestOwnAuthority(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<title>secure</title>")
	}))
	srv.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = discard()
	srv.StartTLS()
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{
		Type:  "CERTIFICATE",
		Bytes: srv.Certificate().Raw,
	}), 0o644); err != nil {
		t.Fatal(err)
	}
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\nobey_robots = false\n", srv.URL+"/"))
	s := m.Run()
	wantVerdict(t, s, mirror.Partial, false)
	wantText(t, s, "certificate")
	m.Set("tls.ca_file", file)
	wantVerdict(t, m.Run(), mirror.Complete, true)
}

// What the site names must not lead the mirror into its own network: literal addresses, redirects to them,
// localhost.
func TestForbiddenAddresses(t *testing.T) {
	hit := make(chan string, 100)
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hit <- r.URL.String()
	}))
	defer inner.Close()
	// The site is named by an address of the loopback net, which allows that host and no other.
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	defer srv.Close()
	port := inner.URL[strings.LastIndexByte(inner.URL, ':')+1:]
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w,
			`<!DOCTYPE html><img src="http://localhost:%[1]s/1"><img src="http://127.0.0.2:%[1]s/2"><img src="http://[::1]:%[1]s/3"><img src="http://0x7f.3:%[1]s/4"><a href="/r">r</a><img src="http://169.254.169.254/5">`, port)
	})
	mux.HandleFunc("/r", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.4:"+port+"/6", http.StatusFound)
	})
	mux.HandleFunc("/robots.txt", http.NotFound)
	m := mirrortest.New(t, nil,
		fmt.Sprintf(
			"url = %q\nrequisites = \"any\"\n[scope]\nkind = \"host\"\ninclude = [\"http://127.0.0.4:%s/**\"]\n",
			srv.URL+"/", port))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantPaths(t, m, "index.html")
	wantText(t, s, "address")
	close(hit)
	for u := range hit {
		t.Errorf("%s was reached", u)
	}
}

// Sitemaps that are packed, in an index, and named twice; an interruption forgets nothing of them.
func TestSitemapPacked(t *testing.T) {
	pack := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(s))
		z.Close()
		return b.String()
	}
	w := mirrortest.Start(t)
	const n = 30
	var urls strings.Builder
	for i := range n {
		u := fmt.Sprintf("%s/only%02d.html", home, i)
		fmt.Fprintf(&urls, "<url><loc>%s</loc></url>", u)
		w.Set(u, mirrortest.HTML(fmt.Sprint("Only ", i), "in the sitemap"))
	}
	w.SetAll(home, map[string]mirrortest.Page{
		"/robots.txt": {Body: "Sitemap: http://www.example.org/maps/index.xml.gz\nSitemap: /maps/index.xml.gz\n" +
			"Sitemap: http://elsewhere.example/x.xml\nsitemap: /maps/broken.xml.gz\n"},
		"/maps/index.xml.gz": {Body: pack(
			`<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://www.example.org/maps/one.xml.gz</loc></sitemap><sitemap><loc>index.xml.gz</loc></sitemap></sitemapindex>`)},
		"/maps/one.xml.gz": {Body: pack(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` +
			urls.String() + `</urlset>`)},
		"/maps/broken.xml.gz": {Body: pack("<urlset><url>")[:12]},
		"/":                   mirrortest.HTML("Home", "no links"),
	})
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n[scope]\nkind = \"host\"\nexclude = [\"/maps/**\"]\n")
	interrupted := func() *mirror.Summary {
		for range 30 {
			ctx, cancel := context.WithCancel(t.Context())
			var asked atomic.Int64
			w.Hook(func(r *http.Request) {
				if asked.Add(1) == 7 {
					cancel()
				}
			})
			s, err := m.RunWith(ctx, func(*mirror.Options) {})
			cancel()
			w.Hook(nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.Verdict != mirror.Partial {
				return s
			}
		}
		t.Fatal("never complete")
		return nil
	}
	m.Set("polite.connections", "1")
	s := interrupted()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "mirror: 31 files")
	for range 2 { // nothing links to these pages: only the sitemap, read by an earlier process, keeps them
		wantVerdict(t, interrupted(), mirror.Complete, false)
		if len(m.Paths()) != n+1 {
			t.Fatalf("%d files", len(m.Paths()))
		}
	}
	asked := w.Asked()
	if asked["http://elsewhere.example/x.xml"] > 0 {
		t.Error("a sitemap of another host was asked")
	}
	// A page that leaves the sitemap leaves the mirror.
	w.Set(home+"/maps/one.xml.gz",
		mirrortest.Page{Body: pack(`<urlset>` + strings.Replace(urls.String(),
			"<url><loc>http://www.example.org/only00.html</loc></url>", "", 1) + `</urlset>`)})
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Removed != 1 {
		t.Error(mirrortest.Text(s))
	}
}

// Names that no file system takes as they are: long ones, long ones that differ at the end, deep ones.
func TestLongNames(t *testing.T) {
	w := mirrortest.Start(t)
	long := strings.Repeat("n", 300)
	paths := []string{
		"/" + long + "a.html", "/" + long + "b.html", "/" + long + "/x.html", "/" + long + "c/x.html",
		"/q?" + long + "1", "/q?" + long + "2",
		"/" + strings.Repeat("deep/", 25) + "x.html", "/" + strings.Repeat("%E4%BD%A0", 120), "/dots....",
		"/" + strings.Repeat(".", 280) + "a",
	}
	var links strings.Builder
	for i, p := range paths {
		fmt.Fprintf(&links, "<a href=\"%s\">%d</a>\n", p, i)
		w.Set(home+p, mirrortest.HTML(fmt.Sprint(i), `<a href="/">home</a>`))
	}
	w.Set(home+"/", mirrortest.HTML("Home", links.String()))
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Files != len(paths)+1-1 { // deep/deep/deep counts as a trap
		t.Errorf("%d files\n%s\n%q", s.Files, mirrortest.Text(s), m.Paths())
	}
	before := m.Paths()
	wantVerdict(t, m.Run(), mirror.Complete, false)
	wantPaths(t, m, before...)
}

// A job file that asks for secrets that are not there fails before any request.
func TestMissingSecret(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 1)
	m := mirrortest.New(t, w, job(`auth.user = "x"`, `auth.password = "${NOT_SET}"`))
	_, err := source.NewClient(m.Job, source.Surroundings{
		LookupEnv: func(string) (string, bool) { return "", false },
		ReadFile:  os.ReadFile,
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "auth.password") ||
		!strings.Contains(err.Error(), "NOT_SET") {
		t.Errorf("%v", err)
	}
}

// A proxy gets the password that the environment holds, and the sites behind it do not.
func TestProxyPassword(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 2)
	var without atomic.Int64
	w.Hook(func(r *http.Request) {
		if user, password, ok := proxyAuth(r); !ok || user != "mirror" || password != "pass" {
			without.Add(1)
		}
	})
	m := mirrortest.New(t, w, job(
		fmt.Sprintf("proxy = %q", strings.Replace(w.URL, "://", "://mirror:${PROXY_PASSWORD}@", 1))))
	m.World.LookupEnv = func(k string) (string, bool) { return "pass", k == "PROXY_PASSWORD" }
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if n := without.Load(); n > 0 {
		t.Errorf("%d requests had no or another password", n)
	}
}

// proxyAuth reads the credentials for a proxy.
func proxyAuth(r *http.Request) (user, password string, ok bool) {
	c := r.Clone(r.Context())
	c.Header.Set("Authorization", r.Header.Get("Proxy-Authorization"))
	return c.BasicAuth()
}

// Progress tells where a run stands, never twice at a time, and ends with the whole.
func TestProgress(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 30)
	m := mirrortest.New(t, w, job())
	m.Set("polite.delay", "5ms")
	var inside atomic.Int64
	var last status.Progress
	busy := make(chan status.BusyHost, 1) // a host that the run makes requests of
	var again atomic.Bool                 // the page is requested once more, to compare two answers
	w.Set(home+"/page05.html", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		if !again.Swap(true) { // answered when a report has named its host
			select {
			case b := <-busy:
				if b.Host != "www.example.org" || b.Gap < 5*time.Millisecond || b.Gap > time.Hour {
					t.Errorf("%+v", b)
				}
			case <-r.Context().Done():
			}
		}
		io.WriteString(rw, "<!DOCTYPE html><title>Page 5</title>") // into memory
	}})
	s, err := m.RunWith(t.Context(), func(o *mirror.Options) {
		o.Progress = func(p status.Progress) {
			if inside.Add(1) > 1 {
				t.Error("two reports at a time")
			}
			if last = p; len(p.Busy) == 1 && p.Busy[0].InFlight > 0 {
				select {
				case busy <- p.Busy[0]:
				default:
				}
			}
			inside.Add(-1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, s, mirror.Complete, true)
	if last.Done != 31 || last.Relocated != last.Total || last.Total != 31 ||
		last.Phase != status.Publishing || last.Queued != 0 {
		t.Errorf("%+v", last)
	}
	fetched := 0
	for _, r := range last.Recent {
		if r.Outcome == "fetched" && strings.HasPrefix(r.URL, "http") {
			fetched++
		}
	}
	if len(last.Recent) != 5 || fetched < 4 { // the icon, which is not there, may be among them
		t.Errorf("the last answers: %+v", last.Recent)
	}
}
