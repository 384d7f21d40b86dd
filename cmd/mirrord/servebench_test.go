// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mirrord/phm"
)

// TestServeBench compares serve with nginx, and with the least that net/http can do, on a mirror of the site
// whose files lie in the folder MIRRORD_SERVE_BENCH, with an index.html. All serve the published tree; wrk
// requests one page of it, and then all files in turn. Needs nginx and wrk. More of the environment:
//
//	MIRRORD_SERVE_WITH         other mirrord programs to compare with: paths with ':' between them
//	MIRRORD_SERVE_ROUNDS       rounds, in which each has its turn (3); the median is printed
//	MIRRORD_SERVE_SECONDS      of one turn (3)
//	MIRRORD_SERVE_CONNECTIONS  that wrk keeps (32)
//
// Processor time is that of the server for each request, which holds on a busy machine too.
func TestServeBench(t *testing.T) {
	from := os.Getenv("MIRRORD_SERVE_BENCH")
	if from == "" {
		t.Skip("MIRRORD_SERVE_BENCH names no folder of a site")
	}
	for _, tool := range []string{"nginx", "wrk"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is missing", tool)
		}
	}
	b := serveBench{t: t, dir: t.TempDir()}
	b.mirror(from)
	tree, err := filepath.EvalSymlinks(filepath.Join(b.dir, "state/sites/site/current"))
	if err != nil {
		t.Fatal(err)
	}
	servers := []*benched{b.nginx("nginx", tree)}
	serve := []string{"serve", "--state", b.dir + "/state", "--jobs", b.dir + "/jobs", "--listen", "127.0.0.1:0"}
	servers = append(servers, b.announced("mirrord", "mirrord", serve...))
	for _, p := range filepath.SplitList(os.Getenv("MIRRORD_SERVE_WITH")) {
		servers = append(servers, b.announced(filepath.Base(p), p, serve...))
	}
	for _, kind := range []string{"memory", "content"} {
		servers = append(servers, b.announced("net/http: "+kind, "servefloor", kind, tree))
	}
	all := b.paths(tree, servers)
	page := all[len(all)/2]
	for _, load := range []struct {
		what  string
		paths []string
	}{
		{fmt.Sprintf("one page of %d bytes", b.size(tree, page)), []string{page}},
		{fmt.Sprintf("%d files", len(all)), all},
	} {
		for range b.number("MIRRORD_SERVE_ROUNDS", 3) {
			for _, s := range servers {
				s.load(&b, load.paths)
			}
		}
		b.show(load.what, servers)
	}
}

// serveBench is what the servers have in common.
type serveBench struct {
	t   *testing.T
	dir string
}

// benched is one server.
type benched struct {
	name, address string
	pid           int
	turns         []turn
}

// turn is what came of one turn: requests a second, latencies and processor time for each request.
type turn struct{ rate, p50, p99, cpu float64 }

func (b *serveBench) number(name string, usual int) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(usual)))
	if err != nil || n < 1 {
		b.t.Fatalf("%s: not a positive number", name)
	}
	return n
}

// mirror makes the mirror "site" of a folder, by way of nginx.
func (b *serveBench) mirror(from string) {
	origin := b.nginx("origin", from)
	toml := "url = \"http://" + origin.address + "/\"\nobey_nofollow = false\n" +
		"[polite]\nconnections = 16\ndelay = \"0s\"\nfactor = 0\nallow_private = true\n"
	if err := os.MkdirAll(b.dir+"/jobs", 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.dir+"/jobs/site.toml", []byte(toml), 0o644); err != nil {
		b.t.Fatal(err)
	}
	out, err := exec.Command("mirrord", "run-now", "site", "--jobs", b.dir+"/jobs", "--state", b.dir+"/state").
		CombinedOutput()
	if err != nil {
		b.t.Logf("run-now: %v\n%s", err, out) // a few missing files are no reason to stop
	}
}

// nginx starts one that serves a folder as serve does: with sendfile, without compression and without a log.
func (b *serveBench) nginx(name, root string) *benched {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	own := filepath.Join(b.dir, name)
	if err := os.MkdirAll(own, 0o755); err != nil {
		b.t.Fatal(err)
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;"
	}
	conf := fmt.Sprintf(`daemon off; %s worker_processes %d; pid %s/pid; error_log %[3]s/errors;
events { worker_connections 4096; }
http {
  types { text/html html htm; text/css css; text/plain txt; image/svg+xml svg; image/png png; }
  default_type application/octet-stream; access_log off; sendfile on; tcp_nopush on; tcp_nodelay on;
  keepalive_requests 100000000; etag on; server_tokens off;
  client_body_temp_path %[3]s/t1; proxy_temp_path %[3]s/t2; fastcgi_temp_path %[3]s/t3;
  uwsgi_temp_path %[3]s/t4; scgi_temp_path %[3]s/t5;
  server { listen %s backlog=2048; root %q; }
}
`, user, runtime.NumCPU(), own, address, root)
	if err := os.WriteFile(own+"/conf", []byte(conf), 0o644); err != nil {
		b.t.Fatal(err)
	}
	s := &benched{name: name, address: address}
	s.start(b, exec.Command("nginx", "-c", own+"/conf", "-p", own, "-e", own+"/errors"))
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return s
		}
		time.Sleep(20 * time.Millisecond) // it does not listen yet
	}
	b.t.Fatalf("nginx does not listen: see %s", own)
	return nil
}

var servingAt = regexp.MustCompile(`http://([0-9.]+:[0-9]+)/`)

// announced starts a server that prints its address.
func (b *serveBench) announced(name, program string, args ...string) *benched {
	cmd := exec.Command(program, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	s := &benched{name: name}
	s.start(b, cmd)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := servingAt.FindStringSubmatch(lines.Text()); m != nil {
			s.address = m[1]
			return s
		}
	}
	b.t.Fatalf("%s says no address", name)
	return nil
}

func (s *benched) start(b *serveBench, cmd *exec.Cmd) {
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	b.t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
}

// get requests a path as wrk does.
func (s *benched) get(path string) (int, []byte, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+s.address+path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Host = "site.localhost"
	tr := http.Transport{DisableCompression: true, DisableKeepAlives: true}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// paths lists the files of a tree that can be requested of every server by the same path, smallest first. Of
// some of them it compares what the servers send.
func (b *serveBench) paths(tree string, servers []*benched) (all []string) {
	f, err := os.Open(filepath.Join(tree, phm.FilesName))
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	plain := regexp.MustCompile(`^[A-Za-z0-9/._-]+$`)
	size := map[string]int64{}
	for x, err := range phm.Files(f) {
		if err != nil {
			b.t.Fatal(err)
		}
		p := "/" + x.Path
		atItsURL := strings.HasSuffix(x.URL, p) && strings.Count(x.URL, "/") == 2+strings.Count(p, "/")
		if atItsURL && plain.MatchString(x.Path) {
			all = append(all, p)
			size[p] = x.Size
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b))
	})
	if len(all) == 0 {
		b.t.Fatal("the mirror has no file that lies where its URL says")
	}
	for i := 0; i < len(all); i += 1 + len(all)/20 {
		want, err := os.ReadFile(filepath.Join(tree, all[i]))
		if err != nil {
			b.t.Fatal(err)
		}
		for _, s := range servers {
			status, got, err := s.get(all[i])
			if err != nil || status != http.StatusOK || !bytes.Equal(got, want) {
				b.t.Fatalf("%s sends %s with status %d, %d bytes of %d, %v", s.name, all[i], status, len(got),
					len(want), err)
			}
		}
	}
	return all
}

func (b *serveBench) size(tree, p string) int64 {
	fi, err := os.Stat(filepath.Join(tree, p))
	if err != nil {
		b.t.Fatal(err)
	}
	return fi.Size()
}

// requestAll is a script of wrk that requests the paths of a file in turn.
const requestAll = `local paths, i = {}, 0
function init(args)
  for line in io.lines(args[1]) do paths[#paths + 1] = wrk.format("GET", line) end
end
function request() i = i % #paths + 1; return paths[i] end
function done(summary, latency, requests)
  io.write(string.format("RESULT %d %d %f %f %d\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), summary.errors.status + summary.errors.read + summary.errors.timeout))
end
`

var wrkResult = regexp.MustCompile(`RESULT (\S+) (\S+) (\S+) (\S+) (\S+)`)

// load lets wrk request paths for one turn.
func (s *benched) load(b *serveBench, paths []string) {
	script, list := b.dir+"/all.lua", b.dir+"/paths"
	for name, text := range map[string]string{script: requestAll, list: strings.Join(paths, "\n") + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	for i, seconds := range [...]int{1, b.number("MIRRORD_SERVE_SECONDS", 3)} {
		before := s.processor(b)
		out, err := exec.Command("wrk", "-t1", "--timeout", "30s",
			"-c"+strconv.Itoa(b.number("MIRRORD_SERVE_CONNECTIONS", 32)), "-d"+strconv.Itoa(seconds)+"s",
			"-H", "Host: site.localhost", "-s", script, "http://"+s.address, "--", list).CombinedOutput()
		if err != nil {
			b.t.Fatalf("wrk: %v\n%s", err, out)
		}
		cpu := s.processor(b) - before
		m := wrkResult.FindSubmatch(out)
		if m == nil || string(m[5]) != "0" {
			b.t.Fatalf("%s: wrk reports errors:\n%s", s.name, out)
		}
		if i == 0 {
			continue // the first is to warm up
		}
		var v [4]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(string(m[i+1]), 64); err != nil {
				b.t.Fatal(err)
			}
		}
		s.turns = append(s.turns, turn{
			rate: v[0] / v[1] * 1e6,
			p50:  v[2],
			p99:  v[3],
			cpu:  cpu / v[0] * 1e6,
		})
	}
}

// processor is the user and system time in seconds that a server and its children have taken.
func (s *benched) processor(b *serveBench) (sum float64) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		b.t.Fatal("processor times are not at /proc/PID/stat")
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(text, []byte(") ")) // fields from the third on
		f := bytes.Fields(rest)
		pid := strconv.Itoa(s.pid)
		if len(f) < 13 || (path.Base(path.Dir(name)) != pid && string(f[1]) != pid) {
			continue
		}
		for _, ticks := range f[11:13] {
			n, err := strconv.ParseFloat(string(ticks), 64)
			if err != nil {
				b.t.Fatal(err)
			}
			sum += n / 100 // USER_HZ
		}
	}
	return sum
}

// show prints the medians, and begins anew.
func (b *serveBench) show(what string, servers []*benched) {
	var nginx turn
	b.t.Logf("%s", what)
	b.t.Logf("%-20s %12s %8s %8s %8s %14s %8s", "", "requests/s", "of nginx", "p50 µs", "p99 µs",
		"µs a request", "of nginx")
	for i, s := range servers {
		median := func(of func(turn) float64) float64 {
			var all []float64
			for _, x := range s.turns {
				all = append(all, of(x))
			}
			slices.Sort(all)
			return all[len(all)/2]
		}
		m := turn{
			rate: median(func(x turn) float64 { return x.rate }),
			p50:  median(func(x turn) float64 { return x.p50 }),
			p99:  median(func(x turn) float64 { return x.p99 }),
			cpu:  median(func(x turn) float64 { return x.cpu }),
		}
		if i == 0 {
			nginx = m
		}
		b.t.Logf("%-20s %12.0f %8.2f %8.0f %8.0f %14.1f %8.2f", s.name, m.rate, m.rate/nginx.rate, m.p50,
			m.p99, m.cpu, m.cpu/nginx.cpu)
		s.turns = nil
	}
}

// serveFloor is the program "servefloor KIND FOLDER": the least that net/http can do. memory sends files from
// memory, with the fields that it must; content opens each and calls http.ServeContent.
func serveFloor() {
	kind, dir := os.Args[1], os.Args[2]
	files := map[string][]byte{}
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		f, err := root.Open(r.URL.Path[1:])
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer f.Close()
		fi, err := f.Stat()
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(r.URL.Path)))
		http.ServeContent(w, r, "", fi.ModTime(), f)
	}
	if kind == "memory" {
		err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(name)
			files[strings.TrimPrefix(name, dir)] = b
			return err
		})
		if err != nil {
			panic(err)
		}
		handler = func(w http.ResponseWriter, r *http.Request) {
			b, ok := files[r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			h := w.Header()
			h["Content-Type"] = []string{mime.TypeByExtension(path.Ext(r.URL.Path))}
			h["Content-Length"] = []string{strconv.Itoa(len(b))}
			w.Write(b)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("serving at http://%s/\n", l.Addr())
	panic(http.Serve(l, http.HandlerFunc(handler)))
}
