// SPDX-License-Identifier: Apache-2.0

package living

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mirrord/testing/oracle"
	"mirrord/testing/poll"
)

// place is where a program runs: a folder, and an address at which each request is noted.
type place struct {
	t   *testing.T
	dir string
	url string // of the server, without a slash at its end

	clock []string      // environment of the programs when their clock moves,
	ahead time.Duration // to so long after now

	mu    sync.Mutex
	inner http.Handler
	seen  []answer
}

// answer is one that the program gave.
type answer struct {
	uri    string
	status int
	mime   string
	body   []byte // as a reader sees it; nil when it says unchanged
	valid  string // its validators
	asked  bool   // whether the request had some
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, dir: t.TempDir()}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	p.url = srv.URL
	return p
}

// ServeHTTP has the program answer.
func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	inner := p.inner
	p.mu.Unlock()
	if inner == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	rec := httptest.NewRecorder()
	uri := r.URL.RequestURI()
	inner.ServeHTTP(rec, r)
	res, body := rec.Result(), rec.Body.Bytes()
	for k, v := range res.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(res.StatusCode)
	if _, err := w.Write(body); err != nil && r.Method == http.MethodGet {
		p.t.Logf("%s: %v", uri, err)
	}
	if res.Header.Get("Content-Encoding") == "gzip" {
		body = unpacked(body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	mime, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	p.seen = append(p.seen, answer{
		uri:    uri,
		status: res.StatusCode,
		mime:   mime,
		body:   body,
		valid:  res.Header.Get("ETag") + res.Header.Get("Last-Modified"),
		asked:  r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != "",
	})
}

// unpacked returns the text of a packed answer, or an answer that is not packed.
func unpacked(body []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		return body
	}
	return plain
}

// take returns the answers since the last time.
func (p *place) take() []answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}

// answers makes a handler the program.
func (p *place) answers(h http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inner = h
}

// command is a command of Debian's package in a folder below that of the place.
func (p *place) command(in string, args ...string) *exec.Cmd {
	p.t.Helper()
	c := exec.CommandContext(p.t.Context(), args[0], args[1:]...)
	c.Dir = filepath.Join(p.dir, in)
	c.Env = append(os.Environ(), "HOME="+p.dir, "LC_ALL=C.UTF-8", "TZ=UTC", "USER=ada", "GIT_CONFIG_NOSYSTEM=1")
	c.Env = append(c.Env, p.clock...)
	return c
}

// moves makes the clock of the programs one that later moves.
func (p *place) moves() {
	p.t.Helper()
	libs, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(libs) == 0 {
		p.t.Fatal("libfaketime is not installed: apt-get install libfaketime")
	}
	p.later(0)
	p.clock = []string{"LD_PRELOAD=" + libs[0], "FAKETIME_TIMESTAMP_FILE=" + filepath.Join(p.dir, "clock"),
		"FAKETIME_NO_CACHE=1", "NO_FAKE_STAT=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}
}

// later moves the clock of the programs to so long after now.
func (p *place) later(d time.Duration) {
	p.t.Helper()
	p.ahead = d
	p.write("clock", fmt.Sprintf("%+d\n", int64(d.Seconds())))
}

// run runs a command to its end.
func (p *place) run(in string, args ...string) {
	p.t.Helper()
	if out, err := p.command(in, args...).CombinedOutput(); err != nil {
		p.t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// write writes a file below the folder.
func (p *place) write(name, text string) {
	p.t.Helper()
	at := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// add adds to a file below the folder.
func (p *place) add(name, text string) {
	p.t.Helper()
	old, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(name, string(old)+text)
}

// copies copies what a package has installed, and the targets of its symbolic links.
func (p *place) copies(from, to string) {
	p.t.Helper()
	p.run(".", "mkdir", "-p", to)
	c := p.command(".", "cp", "-rL", from+"/.", to)
	out, err := c.CombinedOutput() // links to files of root only fail
	if _, at := os.Stat(filepath.Join(p.dir, to)); at != nil {
		p.t.Fatalf("cp %s: %v\n%s", from, err, out)
	}
}

// serves starts a server that listens at an address of its own, for which %d in the arguments is the port.
func (p *place) serves(in string, env []string, args ...string) {
	p.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "%d", fmt.Sprint(port))
	}
	c := p.command(in, args...)
	c.Env = append(c.Env, env...)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it may start others
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		c.Cancel()
		c.Wait()
		if p.t.Failed() {
			p.t.Logf("%s said: %s", args[0], cmp.Or(last(said.String(), 300), "nothing"))
		}
	})
	at := fmt.Sprintf("127.0.0.1:%d", port)
	poll.Until(p.t, args[0]+" at "+at, func() bool {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: at})
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}}
	p.answers(proxy)
}

// php serves a folder with PHP's own server, by a script of testdata that finds what answers a path.
func (p *place) php(site, router string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", router))
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("router.php", string(text))
	p.serves(".", []string{"PHP_CLI_SERVER_WORKERS=4"}, "php", "-d", "error_reporting=0", "-S",
		"127.0.0.1:%d", "-t", site, "router.php")
}

// cgi answers with a CGI program, with the files of a folder beside it.
func (p *place) cgi(bin, files string, env ...string) {
	env = append(env, p.clock...)
	env = append(env, "HOME="+p.dir,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	mux := http.NewServeMux()
	mux.Handle("/", &cgi.Handler{
		Path:   bin,
		Dir:    p.dir,
		Root:   "/",
		Env:    env,
		Stderr: io.Discard,
	})
	entries, err := os.ReadDir(files)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) != ".cgi" {
			mux.Handle("/"+e.Name(), http.FileServer(http.Dir(files)))
		}
	}
	p.answers(mux)
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

// needs fails the test when a program is not installed, with the name of its package.
func (p *place) needs(program, debian string) {
	p.t.Helper()
	if !filepath.IsAbs(program) {
		oracle.Program(p.t, program, debian)
		return
	}
	if _, err := os.Stat(program); err != nil {
		p.t.Fatalf("%s is not installed: apt-get install %s", program, debian)
	}
}

// words are so many words, other ones for each seed.
func words(seed, n int) string {
	list := strings.Fields("harbour lamp orchard copper winter ledger stone river paper engine meadow signal " +
		"glass timber coast archive kettle ribbon north valley grain bridge tower")
	out := make([]string, n)
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	for i := range out {
		out[i] = list[r.IntN(len(list))]
	}
	return strings.Join(out, " ") + "."
}
