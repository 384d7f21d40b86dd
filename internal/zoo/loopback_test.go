// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"mirrord/internal/badserver"
	"mirrord/internal/mirrortest"
)

// hasty are settings under which nothing takes long on a real network.
const hasty = `
polite.connect_timeout = "1s"
polite.header_timeout = "500ms"
polite.idle_timeout = "500ms"
polite.total_timeout = "2s"
`

// TestLoopback plays some of the zoo over real connections: what the system says of closed ports, handshakes
// and bodies that do not end is what the rest of the zoo supposes.
func TestLoopback(t *testing.T) {
	const html = "Content-Type: text/html"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	defer stranger.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, link := range map[string]string{
		"closed port":                     "http://" + closed + "/%d.gif",
		"closed port of https":            "https://" + closed + "/%d.gif",
		"certificate of a stranger":       stranger.URL + "/%d.gif",
		"plain http on the port of https": "https" + plain.URL[len("http"):] + "/%d.gif",
		"body that trickles":              "/slow-body?%d",
		"header that trickles":            "/slow-header?%d",
		"connection without an answer":    "/silent?%d",
		"connection that is reset":        "/reset-header?%d",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := badserver.Start(t)
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
			m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\nobey_robots = false\n%s", srv.URL+"/", hasty))
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
			expect(t, "loopback "+name, problems)
		})
	}
}
