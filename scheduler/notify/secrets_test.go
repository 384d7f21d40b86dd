// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/scheduler/status"
)

// The text that names receivers, in the log and by notify-test, has none of their secrets.
func TestNoSecretsShown(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	var log bytes.Buffer
	o := options(map[string]string{"PATH": os.Getenv("PATH")})
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	n := New(o)
	for want, set := range map[string][2]string{
		"webhook " + srv.URL + "/…": {"notify.webhook", `"` + srv.URL + `/hook/hunter2?key=hunter2"`},
		"command true …":            {"notify.command", "true --token hunter2"},
		"command":                   {"notify.command", "TOKEN=hunter2 true"},
		"command /bin/true":         {"notify.command", "/bin/true"},
	} {
		j := testJob(set[0], set[1])
		if d := one(t, n, j); d.Err != nil || d.To != want {
			t.Errorf("%s: %q, %v, want %q", set[1], d.To, d.Err, want)
		}
		n.deliver(t.Context(), j, status.NewMessage(status.TellFailed, "h", failed(), noon))
	}
	if n := strings.Count(log.String(), "told"); n != 4 || strings.Contains(log.String(), "hunter2") {
		t.Errorf("%d messages\n%s", n, &log)
	}
}

// A signature has the time at which the message is sent: one that waited long in the queue would be refused
// as too old.
func TestSignatureIsFresh(t *testing.T) {
	var sign string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sign = r.Header.Get(SignatureHeader)
	}))
	defer srv.Close()
	o := options(map[string]string{"KEY": "k1"})
	o.Now = func() time.Time { return noon.Add(time.Hour) }
	New(o).deliver(t.Context(), testJob("notify.webhook", `"`+srv.URL+`"`, "notify.webhook_key",
		`{ env = "KEY" }`), status.NewMessage(status.TellFailed, "h", failed(), noon))
	if want := fmt.Sprintf("t=%d,", noon.Add(time.Hour).Unix()); !strings.HasPrefix(sign, want) {
		t.Errorf("%s, want %s…", sign, want)
	}
}

// A command that ends well has delivered, whichever processes it leaves behind; and those end with it.
func TestCommandLeavesChildren(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	o := options(map[string]string{"PATH": os.Getenv("PATH")})
	if d := one(t, New(o),
		testJob("notify.command", fmt.Sprintf("sleep 1000 & echo $! > %s", pid))); d.Err != nil {
		t.Error(d.Err)
	}
	b, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	waitDead(t, n)
}

// Receivers without further messages are forgotten.
func TestQuotasAreForgotten(t *testing.T) {
	var now atomic.Pointer[time.Time]
	at := noon
	now.Store(&at)
	o := options(nil)
	o.Now = func() time.Time { return *now.Load() }
	n := New(o)
	for i := range 5000 {
		n.take(fmt.Sprint("receiver ", i))
		next := noon.Add(time.Duration(i) * time.Minute)
		now.Store(&next)
	}
	if len(n.sent) > 200 {
		t.Errorf("%d receivers are remembered", len(n.sent))
	}
}
