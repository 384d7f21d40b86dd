// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
	"mirrord/testing/oracle"
)

const nginxConf = `
daemon off;
master_process off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 64; }
http {
  types { text/html html; text/css css; image/png png; application/octet-stream bin; }
  access_log %[1]s/access.log;
  client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;
  gzip on; gzip_min_length 100; gzip_types text/css;
  server {
    listen 127.0.0.1:%[2]d;
    root %[1]s/www;
    location /old/ { return 301 /new/; }
  }
}
`

// startNginx serves dir/www and returns its URL.
func startNginx(t *testing.T, dir string) string {
	t.Helper()
	bin := oracle.Program(t, "nginx", "nginx-light")
	for range 10 {
		if url := tryNginx(t, bin, dir); url != "" {
			return url
		}
	}
	t.Fatal("nginx found no free port in 10 attempts")
	return ""
}

// tryNginx returns "" when another process took the port before nginx listened on it.
func tryNginx(t *testing.T, bin, dir string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	os.Remove(filepath.Join(dir, "error.log"))
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, port), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "error.log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 15_000 {
		if res, err := http.Get(url + "/"); err == nil {
			res.Body.Close()
			if strings.HasPrefix(res.Header.Get("Server"), "nginx") { // else another process took the port
				return url
			}
		}
		select {
		case err := <-ended:
			ended <- err
			log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
			if strings.Contains(string(log), "Address already in use") {
				return ""
			}
			t.Fatalf("nginx: %v\n%s", err, log)
		case <-tick.C:
		}
	}
	t.Fatal("nginx does not answer")
	return ""
}

// TestNginxAnswersNotModified mirrors a site behind nginx with gzip, entity tags and ranges: a second run
// gets 304 for everything, and a change deep in the site is found.
func TestNginxAnswersNotModified(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		p := filepath.Join(dir, "www", path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	filler := strings.Repeat("<p>text that gzip makes short</p>\n", 50)
	write("index.html",
		`<title>Home</title><link rel=stylesheet href=style.css><a href="a/">a</a> <a href=big.bin>big</a> <a href="/old/">old</a>`+filler)
	write("style.css", strings.Repeat("p { background: url(bg.png) }\n", 20))
	write("bg.png", "png")
	write("big.bin", strings.Repeat("0123456789abcdef", 1<<16))
	write("a/index.html", `<title>A</title><a href="b/">b</a>`+filler)
	write("a/b/index.html", `<title>B</title><a href="c.html">c</a>`+filler)
	write("a/b/c.html", `<title>C</title>one`)
	write("new/index.html", `<title>New</title>`+filler)
	url := startNginx(t, dir)
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\n", url+"/"))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantPaths(t, m, "index.html", "style.css", "bg.png", "big.bin", "a/index.html", "a/b/index.html",
		"a/b/c.html", "new/index.html")
	if m.Tree()["big.bin"] != strings.Repeat("0123456789abcdef", 1<<16) {
		t.Error("big.bin is not what it was")
	}
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if s.Unchanged != 8 || s.Fetched != 0 || s.Wire > 1000 {
		t.Error(mirrortest.Text(s))
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	n := 0
	for range 15_000 { // it logs an answer after it was sent
		log, err := os.ReadFile(filepath.Join(dir, "access.log"))
		if err != nil {
			t.Fatal(err)
		}
		if n = strings.Count(string(log), `" 304 `); n >= 8 {
			break
		}
		<-tick.C
	}
	if n != 8 {
		t.Errorf("nginx answered 304 %d times", n)
	}
	write("a/b/c.html", `<title>C</title>two, longer`)
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Changed != 1 || s.Fetched != 1 || !strings.Contains(m.Tree()["a/b/c.html"], "two") {
		t.Error(mirrortest.Text(s))
	}
	if err := os.RemoveAll(filepath.Join(dir, "www/a/b")); err != nil {
		t.Fatal(err)
	}
	m.Set("limits.max_delete", "0%")
	s = m.Run()
	wantVerdict(t, s, mirror.Suspicious, false) // two of eight files
	s = m.Accept()
	if s.Removed != 2 || !s.Published {
		t.Error(mirrortest.Text(s))
	}
}
