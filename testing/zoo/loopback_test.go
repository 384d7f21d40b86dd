// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"mirrord/fetch"
	"mirrord/testing/badserver"
	"mirrord/testing/mirrortest"
)

// TestLoopback plays some of the zoo over real connections: what the system says of closed ports and
// handshakes is what the rest of the zoo supposes. What only a timeout ends is in a bubble of time.
func TestLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close) // after the tests below, which run when this function has ended
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for name, link := range map[string]string{
		"closed port":                     "http://" + closed + "/%d.gif",
		"closed port of https":            "https://" + closed + "/%d.gif",
		"certificate of a stranger":       stranger.URL + "/%d.gif",
		"plain http on the port of https": "https" + plain.URL[len("http"):] + "/%d.gif",
		"connection that is reset":        "/reset-header?%d",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goodBeside(t, badserver.Start(t), nil, link)
		})
	}
	for name, link := range map[string]string{
		"body that trickles":           "/slow-body?%d&every=1000",
		"header that trickles":         "/slow-header?%d&every=1000",
		"connection without an answer": "/silent?%d",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pipes := badserver.NewPipes()
				goodBeside(t, badserver.StartInMemory(t, pipes), pipes, link)
			})
		})
	}
}

// goodBeside makes four runs of a site of which four pictures never come: its pages do.
func goodBeside(t *testing.T, srv *badserver.Server, network fetch.Network, link string) {
	t.Helper()
	const html = "Content-Type: text/html"
	run := 0
	for i := range 5 {
		srv.Handle(fmt.Sprintf("/good%d", i), func(c *badserver.Conn, _ *http.Request) bool {
			c.Answer("200 OK", fmt.Appendf(nil, "<title>good %d</title>edition %d", i, run), html)
			return true
		})
	}
	srv.Handle("/", func(c *badserver.Conn, _ *http.Request) bool {
		body := many(4, `<a href="/good%d">good</a>`) + many(4, `<img src="`+link+`">`)
		c.Answer("200 OK", []byte("<title>home</title>"+body), html)
		return true
	})
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\nobey_robots = false\n", srv.URL+"/"))
	m.World.Network = network
	var problems []string
	for run = 1; run <= 4; run++ {
		s := m.Run()
		if v := s.Verdict.String(); v != "complete" && (v != "gaps" || run == 4) {
			problems = append(problems, fmt.Sprintf("run %d: verdict %s", run, v), indented(mirrortest.Text(s)))
		}
		if !m.Published() {
			problems = append(problems, fmt.Sprintf("run %d: nothing is published", run))
			continue
		}
		for i := 1; i <= 4; i++ {
			u := fmt.Sprintf("%s/good%d", srv.URL, i)
			if got := editions(m)[u]; got != fmt.Sprint(run) {
				problems = append(problems, fmt.Sprintf("run %d: %s is of edition %q", run, u, got))
			}
		}
	}
	expect(t, "loopback "+t.Name(), problems)
}
