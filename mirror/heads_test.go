// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mirrord/fetch/heads"
	"mirrord/mirror"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// rawSite is a server that answers with texts as they stand, over one connection after the other.
type rawSite struct {
	mu      sync.Mutex
	answers map[string]string // path -> head and body; "<path> 304" for conditional requests
}

func (s *rawSite) set(path, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = strings.ReplaceAll(answer, "\n", "\r\n")
}

// startRaw serves answers over HTTP/1.1, over TLS when config is given, and returns the site and its URL.
func startRaw(t *testing.T, config *tls.Config) (*rawSite, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawSite{answers: map[string]string{}}
	url := "http://" + l.Addr().String()
	if config != nil {
		l, url = tls.NewListener(l, config), "https://"+l.Addr().String()
	}
	var open sync.WaitGroup
	t.Cleanup(func() { l.Close(); open.Wait() })
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { s.serve(c) })
		}
	})
	return s, url
}

func (s *rawSite) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		s.mu.Lock()
		answer, ok := s.answers[req.URL.Path]
		if not, is := s.answers[req.URL.Path+" 304"]; is && req.Header.Get("If-None-Match")+
			req.Header.Get("If-Modified-Since") != "" {
			answer = not
		}
		s.mu.Unlock()
		if !ok {
			answer = "HTTP/1.1 404 Not Here\r\nX-Why: no\r\ncontent-length: 0\r\n\r\n"
		}
		if strings.Contains(answer, "{auth}") {
			answer = strings.ReplaceAll(answer, "{auth}", req.Header.Get("Authorization"))
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// headsOf returns the stored heads of a URL as explain --head shows them.
func headsOf(t *testing.T, m *mirrortest.Mirror, url string) (head, last *heads.Head) {
	t.Helper()
	m.Site(func(s *store.Site) {
		x, err := explainURL(m, s, url)
		if err != nil {
			t.Fatal(err)
		}
		x.Heads(s)
		head, last = x.Head, x.LastHead
		var text bytes.Buffer
		if err := x.WriteText(&text); err != nil ||
			(head != nil && !strings.Contains(text.String(), head.Status)) ||
			(head == nil && last == nil && x.NoHead == "") {
			t.Errorf("%v\n%s", err, &text)
		}
	})
	return head, last
}

func wantHead(t *testing.T, what string, got *heads.Head, want string, normalised bool) {
	t.Helper()
	switch {
	case want == "" && got == nil:
	case got == nil || got.String() != want:
		t.Errorf("%s: got\n%v\nwant\n%s", what, got, want)
	case got.Normalised != normalised:
		t.Errorf("%s: normalised is %v", what, got.Normalised)
	}
}

// What a site sends is in the stored head byte for byte, in order and spelling: over plain HTTP and TLS,
// with 1xx answers before, for documents, other bodies, redirects and errors. A kept mirror alone has them.
func TestHeadsAreKeptAsTheyCame(t *testing.T) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	defer cert.Close()
	for _, config := range []*tls.Config{nil, {Certificates: cert.TLS.Certificates}} {
		raw, url := startRaw(t, config)
		page := "HTTP/1.1 200 Fine\nx-order: 2\nDATE: Fri, 20 Nov 2026 18:11:13 GMT\nETag: \"1\"\ncontent-TYPE: " +
			"text/html\nX-Order: 1\nset-cookie: a=b\nContent-length: %d\nSet-Cookie: c=d\n"
		links := `<a href="r">r</a><a href="gone">g</a><img src="i.png"><a href="q.html">q</a>`
		raw.set("/", "HTTP/1.1 103 Early Hints\nLink: </s.css>\n\n"+fmt.Sprintf(page, len(links))+"\n"+links)
		raw.set("/ 304",
			"HTTP/1.1 304 Not Modified\nDate: Sat, 21 Nov 2026 18:11:13 GMT\nETag: \"1\"\nset-cookie: n=e\n\n")
		raw.set("/r", "HTTP/1.1 302 Over There\nlocation: q.html\nContent-Length: 0\nX-Who: me\n\n")
		raw.set("/i.png",
			"HTTP/1.1 200 OK\ncontent-type: image/png\ntransfer-encoding: chunked\nServer:  two words \n\n3\npng\n"+
				"0\n\n")
		same := strings.Replace(fmt.Sprintf(page, len("<p>q")), "x-order: 2", "x-order: 3", 1)
		raw.set("/q.html", same+"\n<p>q")
		m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\n", url+"/"))
		m.Durable = true
		if config != nil {
			pemFile := filepath.Join(t.TempDir(), "ca.pem")
			if err := os.WriteFile(pemFile, pem.EncodeToMemory(&pem.Block{
				Type:  "CERTIFICATE",
				Bytes: cert.Certificate().Raw,
			}), 0o644); err != nil {
				t.Fatal(err)
			}
			m.Job.TLS.CAFile = pemFile
		}
		wantVerdict(t, m.Run(), mirror.Complete, true)
		home, last := headsOf(t, m, url+"/")
		wantHead(t, "/", home, fmt.Sprintf(page, len(links)), false)
		wantHead(t, "/", last, "", false)
		head, _ := headsOf(t, m, url+"/i.png")
		wantHead(t, "/i.png", head,
			"HTTP/1.1 200 OK\ncontent-type: image/png\ntransfer-encoding: chunked\nServer: two words\n", false)
		head, _ = headsOf(t, m, url+"/q.html")
		wantHead(t, "/q.html", head, same, false)
		head, last = headsOf(t, m, url+"/r")
		wantHead(t, "/r", head, "", false)
		wantHead(t, "/r", last, "HTTP/1.1 302 Over There\nlocation: q.html\nContent-Length: 0\nX-Who: me\n", false)
		_, last = headsOf(t, m, url+"/gone")
		wantHead(t, "/gone", last, "HTTP/1.1 404 Not Here\nX-Why: no\ncontent-length: 0\n", false)

		wantVerdict(t, m.Run(), mirror.Complete, false) // 304 with nothing but dates and cookies
		head, _ = headsOf(t, m, url+"/")
		wantHead(t, "/ after 304", head, fmt.Sprintf(page, len(links)), false)
		raw.set("/ 304",
			"HTTP/1.1 304 Not Modified\nDate: Sun, 22 Nov 2026 18:11:13 GMT\nETag: \"1\"\nX-NEW: n\n\n")
		for range 5 { // a run may ask without validators, to see whether they are to be believed
			wantVerdict(t, m.Run(), mirror.Complete, false)
			if head, _ = headsOf(t, m, url+"/"); len(head.Values("x-new")) > 0 {
				break
			}
		}
		wantHead(t, "/ after 304 with a new field", head,
			strings.Replace(fmt.Sprintf(page, len(links)), "Fri, 20", "Sun, 22", 1)+"X-NEW: n\n", false)

		raw.set("/q.html", "HTTP/1.1 500 No Luck\nX-Trouble: yes\nContent-Length: 0\n\n")
		m.Run()
		head, last = headsOf(t, m, url+"/q.html")
		wantHead(t, "/q.html as it is kept", head, same, false)
		wantHead(t, "/q.html that failed", last, "HTTP/1.1 500 No Luck\nX-Trouble: yes\nContent-Length: 0\n", false)
	}
}

// Over HTTP/2 names have no spelling, and the reader does not tell their order.
func TestHeadsOfHTTP2AreNormalised(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		w.Header().Set("X-Two", "2")
		w.Header().Add("x-two", r.Proto)
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<p>x"))
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\nobey_robots = false\n", srv.URL+"/"))
	m.Durable, m.Job.TLS.Insecure = true, true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	head, _ := headsOf(t, m, srv.URL+"/")
	wantHead(t, "/", head,
		"HTTP/2.0 200 OK\nContent-Length: 4\nContent-Type: text/html\nX-Two: 2\nX-Two: HTTP/2.0\n", true)
}

// A server that repeats what it was told does not get the job's secrets into the heads.
func TestHeadsHaveNoSecretsOfTheJob(t *testing.T) {
	raw, url := startRaw(t, nil)
	raw.set("/", "HTTP/1.1 200 OK\nX-You-Said: {auth}\nContent-Length: 4\nContent-Type: text/html\n\n<p>x")
	m := mirrortest.New(t, nil,
		fmt.Sprintf("url = %q\n[auth]\nuser = \"u\"\npassword = \"${PASSWORD_OF_THIS_TEST}\"\n", url+"/"))
	t.Setenv("PASSWORD_OF_THIS_TEST", "hush-hush")
	m.Durable = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	head, _ := headsOf(t, m, url+"/")
	wantHead(t, "/", head, "HTTP/1.1 200 OK\nX-You-Said: [secret]\nContent-Length: 4\nContent-Type: text/html\n",
		false)
}

// What heads of nginx cost, and that two URLs of one body have two.
func TestHeadsOfNginx(t *testing.T) {
	dir := t.TempDir()
	const pages = 200
	if err := os.MkdirAll(filepath.Join(dir, "www"), 0o755); err != nil {
		t.Fatal(err)
	}
	var links strings.Builder
	for n := range pages {
		name := fmt.Sprintf("p%03d.html", n)
		fmt.Fprintf(&links, "<a href=%s>%d</a>\n", name, n)
		text := fmt.Sprintf("<title>%d</title>%s", n, strings.Repeat("<p>text</p>\n", 1+n*n%57))
		if n < 2 {
			text = "<p>the same"
		}
		if err := os.WriteFile(filepath.Join(dir, "www", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "www/index.html"), []byte(links.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	url := startNginx(t, dir)
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\npolite.delay = \"0s\"\n", url+"/"))
	m.Durable = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for n := range pages {
		u := fmt.Sprintf("%s/p%03d.html", url, n)
		if n > 5 && n%50 > 0 {
			continue
		}
		head, _ := headsOf(t, m, u)
		if head == nil || head.Normalised || len(head.Values("server")) != 1 ||
			len(head.Values("content-encoding"))+len(head.Values("content-length")) == 0 {
			t.Fatalf("%s: %v", u, head)
		}
	}
	fi, err := os.Stat(filepath.Join(m.Dir, "sites", m.Job.Name, "heads.1"))
	if err != nil {
		t.Fatal(err)
	}
	if mean := float64(fi.Size()) / pages; mean > 58 { // and 6 in each record
		t.Errorf("%.1f bytes a page", mean)
	} else {
		t.Logf("%.1f bytes a page in the file of heads", mean)
	}
	before := fi.Size()
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if fi, err = os.Stat(filepath.Join(m.Dir, "sites", m.Job.Name, "heads.1")); err != nil ||
		fi.Size() != before {
		t.Errorf("a run in which nothing changed wrote heads: %d after %d bytes, %v", fi.Size(), before, err)
	}
}
