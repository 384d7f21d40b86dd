// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/internal/webhook"
	"mirrord/job"
	"mirrord/scheduler/status"
	"mirrord/testing/poll"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func options(vars map[string]string) Options {
	return Options{
		Host:      "mirror.example",
		LookupEnv: func(k string) (string, bool) { v, ok := vars[k]; return v, ok },
		ReadFile:  os.ReadFile,
		Now:       func() time.Time { return noon },
		Pauses:    []time.Duration{time.Millisecond},
	}
}

func testJob(set ...string) *job.Job {
	j := job.Default("https://example.org/")
	j.Name = "samba"
	for i := 0; i < len(set); i += 2 {
		if err := j.Set(set[i], set[i+1]); err != nil {
			panic(err)
		}
	}
	if err := j.Validate(); err != nil {
		panic(err)
	}
	return j
}

func failed() status.Job {
	s := status.Job{
		Name: "samba",
		Last: &status.Run{
			Verdict: status.VerdictPartial,
			Ended:   noon,
			Reasons: []string{"the höst does not answer"},
		},
		Failures: 2,
	}
	s.Judge(noon)
	return s
}

func one(t *testing.T, n *Notifier, j *job.Job) Delivery {
	t.Helper()
	all := n.Test(t.Context(), j, failed())
	if len(all) != 1 {
		t.Fatalf("%d deliveries", len(all))
	}
	return all[0]
}

func TestCommand(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	o := options(map[string]string{"PATH": os.Getenv("PATH"), "SECRET": "x"})
	if d := one(t, New(o), testJob("notify.command", fmt.Sprintf(`{ env; cat; } > %s`, out))); d.Err != nil {
		t.Fatal(d.Err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	env, body, _ := strings.Cut(string(b), "{")
	for _, want := range []string{
		"MIRRORD_JOB=samba\n", "MIRRORD_KIND=test\n", "MIRRORD_STATE=partial\n",
		"MIRRORD_SUBJECT=mirrord on mirror.example: samba sends a test message\n",
	} {
		if !strings.Contains(env, want) {
			t.Errorf("no %q in %s", want, env)
		}
	}
	if strings.Contains(env, "SECRET") {
		t.Error("the daemon's environment is passed on")
	}
	var m status.Message
	if err := json.Unmarshal([]byte("{"+body), &m); err != nil || m.Job.Failures != 2 {
		t.Errorf("%v: %s", err, body)
	}
	d := one(t, New(o),
		testJob("notify.command", "echo the reason >&2; head -c 100000 /dev/zero | tr '\\0' x; exit 3"))
	if d.Err == nil || !strings.Contains(d.Err.Error(), "exit status 3: the reason") ||
		len(d.Err.Error()) > shown+100 {
		t.Errorf("%.200v", d.Err)
	}
}

// A command that hangs is killed with all that it has started, also when a child process goes its own
// way.
func TestHangingCommand(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	o := options(map[string]string{"PATH": os.Getenv("PATH")})
	for o.Timeout = 300 * time.Millisecond; o.Timeout < time.Hour; o.Timeout *= 4 {
		d := one(t, New(o),
			testJob("notify.command", fmt.Sprintf("sleep 1000 & echo $! > %s; trap '' TERM; wait", pid)))
		if d.Err == nil || !strings.Contains(d.Err.Error(), "no end after "+o.Timeout.String()) {
			t.Fatal(d.Err)
		}
		b, err := os.ReadFile(pid)
		if n, noNumber := strconv.Atoi(strings.TrimSpace(string(b))); (err == nil) && (noNumber == nil) {
			waitDead(t, n)
			return
		} // else the machine is so busy that the command did not come that far
	}
	t.Fatal("the command starts nothing")
}

// waitDead waits until a process that was killed has died: it does when it is scheduled the next time.
func waitDead(t *testing.T, pid int) {
	t.Helper()
	poll.Until(t, "the death of what the command started", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ") || strings.Contains(string(stat), ") X ")
	})
}

func TestWebhook(t *testing.T) {
	var got []*http.Request
	var bodies []string
	answers := []int{500, 200}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, bodies = append(got, r), append(bodies, string(b))
		w.WriteHeader(answers[min(len(got), len(answers))-1])
	}))
	defer srv.Close()
	o := options(map[string]string{"HOOK": srv.URL + "/token-of-mine", "KEY": "k1"})
	n := New(o)
	j := testJob("notify.webhook", `{ env = "HOOK" }`, "notify.webhook_key", `{ env = "KEY" }`)
	n.deliver(t.Context(), j, status.NewMessage(status.TellFailed, "mirror.example", failed(), noon))
	if len(got) != 2 || n.Untold() != 0 {
		t.Fatalf("%d requests, %d untold; want a second attempt after the 500", len(got), n.Untold())
	}
	if h := got[1].Header; h.Get(SignatureHeader) != Sign("k1", noon, []byte(bodies[1])) ||
		h.Get("Content-Type") != "application/json" || h.Get("X-Mirrord-Event") != "failed" {
		t.Errorf("%v", h)
	}
	const whsec = "whsec_azE="
	broken := options(map[string]string{"HOOK": srv.URL, "KEY": "whsec_not base64"})
	if d := one(t, New(broken), j); d.Err == nil || strings.Contains(d.Err.Error(), "not base64") {
		t.Errorf("a broken key: %+v", d)
	}
	key, err := webhook.ParseKey(whsec)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		signed := webhook.Signed{
			ID:        r.Header.Get("webhook-id"),
			Time:      r.Header.Get("webhook-timestamp"),
			Signature: r.Header.Get("webhook-signature"),
			Body:      []byte(bodies[i]),
		}
		err := webhook.Verify([][]byte{key}, signed, noon)
		if err != nil || signed.ID != got[0].Header.Get("webhook-id") {
			t.Errorf("%v: %v", r.Header, err)
		}
	}
	// printf '%s' '1795176000.{}' | openssl dgst -sha256 -hmac k1
	if got, want := Sign("k1", noon, []byte("{}")),
		"t=1795176000,v1=799a664a7df60d78c7d9e89610b00ea66568e1823ce599ca461ebfe6fb2fe5fd"; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	answers = []int{404}
	if d := one(t, n, j); d.Err == nil || d.Err.Error() != "the receiver answers 404 Not Found" ||
		d.To != "webhook $HOOK" {
		t.Errorf("%+v", d)
	}
	answers = []int{307}
	if d := one(t, n, j); d.Err == nil || !strings.Contains(d.Err.Error(), "307") {
		t.Errorf("a redirect is followed: %+v", d)
	}
	srv.Close()
	if d := one(t, n, j); d.Err == nil || strings.Contains(d.Err.Error(), "token-of-mine") {
		t.Errorf("%+v", d)
	}
	for hook, want := range map[string]string{
		"{ env = \"NONE\" }": "NONE is not set",
		"{ env = \"KEY\" }":  "no web URL",
	} {
		if d := one(t, n, testJob("notify.webhook", hook)); d.Err == nil || !strings.Contains(d.Err.Error(), want) {
			t.Errorf("%s: %v", hook, d.Err)
		}
	}
}

// A receiver that takes the connection and says nothing does not hold anybody up.
func TestHangingWebhook(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := options(nil)
	o.Timeout = 100 * time.Millisecond
	if d := one(t, New(o), testJob("notify.webhook", `"http://`+l.Addr().String()+`/"`)); d.Err == nil ||
		!strings.Contains(d.Err.Error(), "no end after 100ms") {
		t.Errorf("%v", d.Err)
	}
}

func readMail(t *testing.T, raw string) (*mail.Message, string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	return m, string(text)
}

func TestSendmail(t *testing.T) {
	dir := t.TempDir()
	prog := filepath.Join(dir, "sendmail")
	if err := os.WriteFile(prog, []byte("#!/bin/sh\nprintf '%s\\n' \"$*\" > "+dir+"/args\ncat > "+dir+"/mail\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	o := options(nil)
	o.Mail = Mail{Program: prog}
	n := New(o)
	s := failed()
	s.Last.Reasons = []string{"ü\r\nBcc: all@example.org\r\n\r\n.\r\nQUIT"}
	n.deliver(t.Context(), testJob("notify.email", "ops@example.org"),
		status.NewMessage(status.TellFailed, "mirror.example", s, noon))
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil || string(args) != "-i -f mirrord@mirror.example -- ops@example.org\n" {
		t.Errorf("%q, %v", args, err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "mail"))
	if err != nil {
		t.Fatal(err)
	}
	m, text := readMail(t, string(raw))
	subject, _ := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if subject != "mirrord on mirror.example: samba did not end well, 2 times in a row" ||
		m.Header.Get("Bcc") != "" || m.Header.Get("To") != "<ops@example.org>" {
		t.Errorf("%v", m.Header)
	}
	if !strings.Contains(text, "why: ü  Bcc: all@example.org") ||
		!strings.Contains(text, "fix: mirrord run-now samba") {
		t.Errorf("%s", text)
	}
	o.Mail = Mail{Program: filepath.Join(dir, "none")}
	if d := one(t, New(o), testJob("notify.email", "ops@example.org")); d.Err == nil {
		t.Error("no such program, no error")
	}
	o.Mail = Mail{}
	if d := one(t, New(o), testJob("notify.email", "ops@example.org")); d.Err == nil ||
		!strings.Contains(d.Err.Error(), "mail.via") {
		t.Errorf("%v", d.Err)
	}
}

// smtpServer takes one mail and returns what it was told.
func smtpServer(t *testing.T) (addr string, said func() (lines []string, data string)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var lines []string
	var data strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		l.Close()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		fmt.Fprintf(c, "220 here\r\n")
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSpace(line)
			lines = append(lines, line)
			switch {
			case strings.HasPrefix(line, "EHLO"):
				fmt.Fprintf(c, "250-here\r\n250-STARTTLS\r\n250 AUTH PLAIN\r\n")
			case line == "DATA":
				fmt.Fprintf(c, "354 continue\r\n")
				for {
					l, err := r.ReadString('\n')
					if err != nil {
						return
					}
					if l == ".\r\n" {
						break
					}
					data.WriteString(l)
				}
				fmt.Fprintf(c, "250 taken\r\n")
			case line == "QUIT":
				fmt.Fprintf(c, "221 bye\r\n")
				return
			default:
				fmt.Fprintf(c, "250 ok\r\n")
			}
		}
	}()
	return l.Addr().String(), func() ([]string, string) { <-done; return lines, data.String() }
}

func TestSMTP(t *testing.T) {
	addr, said := smtpServer(t)
	o := options(nil)
	var err error
	if o.Mail, err = ParseMail("smtp://" + addr); err != nil {
		t.Fatal(err)
	}
	if d := one(t, New(o), testJob("notify.email", "ops@example.org")); d.Err != nil {
		t.Fatal(d.Err)
	}
	lines, data := said()
	if got := strings.Join(lines,
		"|"); got != "EHLO mirror.example|MAIL FROM:<mirrord@mirror.example>|RCPT TO:<ops@example.org>|DATA|QUIT" {
		t.Errorf("%s", got)
	}
	if _, text := readMail(t, data); !strings.Contains(text, "why: the höst does not answer") {
		t.Errorf("%s", text)
	}
	if d := one(t, New(o), testJob("notify.email", "ops@example.org")); d.Err == nil { // the server is gone
		t.Error("no error")
	}
}

func TestParseMail(t *testing.T) {
	for in, want := range map[string]Mail{
		"/usr/sbin/sendmail": {Program: "/usr/sbin/sendmail"}, "smtp://localhost": {Host: "localhost", Port: 25},
		"smtp://m.example:2525/": {Host: "m.example", Port: 2525},
		"smtp://me@m.example": {
			Host: "m.example",
			Port: 587,
			User: "me",
		}, "smtps://me%40x@m.example": {
			Host: "m.example",
			Port: 465,
			TLS:  true,
			User: "me@x",
		}, "smtp://[::1]": {Host: "::1", Port: 25},
	} {
		if got, err := ParseMail(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", "sendmail", "http://x", "smtp://", "smtp://u:p@x", "smtp://x/y", "smtp://x:port",
	} {
		if got, err := ParseMail(in); err == nil {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

// A network that is down does not send a thousand mails: those above the bound are held back and counted, and
// the next one says so.
func TestBound(t *testing.T) {
	var mu sync.Mutex
	var got []status.Message
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m status.Message
		err := json.NewDecoder(r.Body).Decode(&m)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			got = append(got, m)
		}
	}))
	defer srv.Close()
	now := noon
	o := options(nil)
	o.PerHour, o.Now = 5, func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	n := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); n.Run(ctx) }()
	for i := range 100 {
		j := testJob("notify.webhook", `"`+srv.URL+`"`)
		j.Name = fmt.Sprintf("job%d", i)
		n.Tell(status.TellFailed, j, failed())
	}
	cancel() // what waits is delivered all the same
	<-done
	if len(got) != 5 || n.Untold() != 95 {
		t.Errorf("%d delivered, %d untold", len(got), n.Untold())
	}
	now = now.Add(61 * time.Minute)
	n.deliver(t.Context(), testJob("notify.webhook", `"`+srv.URL+`"`),
		status.NewMessage(status.TellFailed, "h", failed(), now))
	if m := got[len(got)-1]; m.Dropped != 95 ||
		!strings.Contains(m.Text, "95 messages before this one were held back") {
		t.Errorf("%+v", m)
	}
}

// No caller of Tell waits, even when nothing is delivered at all.
func TestFullQueue(t *testing.T) {
	n := New(options(nil))
	for range waiting + 10 {
		n.Tell(status.TellFailed, testJob("notify.command", "true"), failed())
	}
	if n.Untold() != 10 {
		t.Errorf("%d untold", n.Untold())
	}
}

func TestPlain(t *testing.T) {
	if err := plain(errors.New("x")); err.Error() != "x" {
		t.Error(err)
	}
}
