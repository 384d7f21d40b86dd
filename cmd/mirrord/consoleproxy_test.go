// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/testing/certtest"
	"mirrord/testing/oracle"
)

// nginxBefore runs nginx with the configuration that docs/console.md gives, before a console. It returns its
// address and a pool that trusts its certificate.
func nginxBefore(t *testing.T, console string) (base string, pool *x509.CertPool) {
	t.Helper()
	bin := oracle.Program(t, "nginx", "nginx-light")
	text, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	_, conf, _ := strings.Cut(string(text), "```nginx\n")
	conf, _, ok := strings.Cut(conf, "```")
	if !ok {
		t.Fatal("docs/console.md has no configuration of nginx")
	}
	dir := t.TempDir()
	_, pool = certtest.Put(t, dir, 1)
	put(t, dir, "users", "ann:{PLAIN}secret\nbob:{PLAIN}secret\n")
	at := unusedAddress(t)
	for from, to := range map[string]string{
		"listen 443 ssl":                    "listen " + at + " ssl",
		"/etc/nginx/tls/fullchain.pem":      dir + "/cert.pem",
		"/etc/nginx/tls/privkey.pem":        dir + "/key.pem",
		"/etc/nginx/mirrord.users":          dir + "/users",
		"proxy_pass http://127.0.0.1:9181;": "proxy_pass " + console + ";",
	} {
		if !strings.Contains(conf, from) {
			t.Fatalf("the configuration has no %q", from)
		}
		conf = strings.ReplaceAll(conf, from, to)
	}
	put(t, dir, "nginx.conf", fmt.Sprintf("daemon off;\nmaster_process off;\npid %[1]s/pid;\n"+
		"events {}\nhttp {\naccess_log off;\n"+
		"client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3;\n"+
		"uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;\n%[2]s}\n", dir, conf))
	log := filepath.Join(dir, "error.log")
	cmd := exec.Command(bin, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", log)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	for {
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			return "https://" + at, pool
		}
		select {
		case err := <-ended:
			ended <- err
			said, _ := os.ReadFile(log)
			t.Fatalf("nginx: %v\n%s", err, said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Behind nginx with a certificate, as the guide says: users are those of nginx, regardless of what a client
// says of itself, forms and cookies work, live pages are live, and the API takes tokens.
func TestConsoleBehindNginx(t *testing.T) {
	gate := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			<-gate
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>slow</title>")
	}))
	t.Cleanup(site.Close)
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	jobs := t.TempDir()
	put(t, jobs, "slow.toml", fmt.Sprintf("url = %q\n[polite]\ntimeout = \"1h\"\n", site.URL+"/"))
	d := startDaemon(t, jobs, t.TempDir(), "--console", "127.0.0.1:0", "--console-proxy", "127.0.0.1",
		"--console-operator", "ann")
	link := strings.TrimSpace(d.do(cli.ExitOK, "", "open"))
	console, _, _ := strings.Cut(link, "/login")
	token := strings.TrimSpace(d.do(cli.ExitOK, "", "console", "token", "add", "reader"))
	base, pool := nginxBefore(t, console)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	t.Cleanup(client.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	ask := func(user, path string, form url.Values, head ...string) *http.Response {
		t.Helper()
		method, body := http.MethodGet, ""
		if form != nil {
			method, body = http.MethodPost, form.Encode()
		}
		r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if form != nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Origin", base)
		}
		for i := 0; i < len(head); i += 2 {
			r.Header.Set(head[i], head[i+1])
		}
		if user != "" {
			r.SetBasicAuth(user, "secret")
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	want := func(resp *http.Response, code int, text string) {
		t.Helper()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != code || !strings.Contains(string(body), text) {
			t.Errorf("%s: %s, %v, want %d with %q:\n%s", resp.Request.URL, resp.Status, err, code, text, body)
		}
	}
	want(ask("", "/", nil), http.StatusUnauthorized, "")
	want(ask("ann", "/", nil), http.StatusOK, "ann · operate")
	want(ask("bob", "/", nil, "Remote-User", "ann"), http.StatusOK, "bob · read")
	want(ask("bob", "/jobs/slow/run", url.Values{}), http.StatusForbidden, "your role")
	want(ask("ann", "/jobs/slow/run", url.Values{}, "Origin", "https://evil.test"), http.StatusForbidden,
		"another site")
	want(ask("", "/v1/status", nil), http.StatusUnauthorized, "")
	want(ask("", "/v1/status", nil, "Remote-User", "ann"), http.StatusUnauthorized, "")
	want(ask("", "/v1/me", nil, "Authorization", "Bearer "+token), http.StatusOK, "token:reader")

	want(ask("ann", "/jobs/slow/run", url.Values{}), http.StatusOK, "The run was requested")
	for lines := bufio.NewScanner(ask("bob", "/jobs/slow/live", nil).Body); ; {
		if !lines.Scan() {
			t.Fatalf("the live page ends: %v", lines.Err())
		}
		if strings.Contains(lines.Text(), " done, ") { // the site answers nothing before this was read
			break
		}
	}
	open()
	d.do(cli.ExitOK, "", "run-now", "slow")
	feed := ask("bob", "/jobs/slow/feed.atom", nil)
	want(feed, http.StatusOK, "<id>tag:mirrord,2026:slow/1</id>")
}
