// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"
)

// Each cause has a remedy of its own, and none sends the reader back to where it stands.
func TestRemedyFollowsTheReason(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct{ reason, want string }{
		{"https://h was left for the next run: its robots.txt answers 503",
			"nothing, it is tried again; at once: mirrord run-now x"},
		{"the entry point http://h/: disallowed (Disallow: /)", "its robots.txt forbids that"},
		{"the entry point http://h/: failed (status 401)", "[auth]"},
		{"the entry point http://h/: gone", "look whether url"},
		{"12 of 100 requests failed, more than limits.max_failures = 1%", "mirrord explain x URL"},
		{"something new", "mirrord run-now x"},
	} {
		j := Job{
			Name:    "x",
			Reasons: []string{c.reason},
			Last:    &Run{Verdict: VerdictPartial, Ended: now, Reasons: []string{c.reason}},
		}
		j.Judge(now)
		if !strings.Contains(j.Fix, c.want) || !strings.Contains(j.Fix, "mirrord run-now x") ||
			strings.Contains(j.Fix, "mirrord status") {
			t.Errorf("%s: %q", c.reason, j.Fix)
		}
	}
	j := Job{Name: "x", Last: &Run{Verdict: VerdictError, Error: "publish.dir: permission denied"}}
	if j.Judge(now); !strings.Contains(j.Fix, "let the daemon's user write there") {
		t.Error(j.Fix)
	}
}

// Four causes that look alike have four remedies; what another run would only repeat is never answered by
// another run alone; and status, mail and JSON say the same.
func TestRemediesAreTheirOwn(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	seen := map[string]string{}
	for _, why := range []string{
		"http://h was left for the next run: address not allowed: h is a private address; use --set x",
		"the entry point http://h/: disallowed (robots.txt line 2: Disallow: /)",
		"http://h was left for the next run: its robots.txt cannot be had: connect: connection refused",
		"http://h was left for the next run: its robots.txt cannot be had: lookup h: no such host",
		"http://h was left for the next run: its robots.txt cannot be had: it leads to g: lookup g: no such host",
		"http://h was left for the next run: its robots.txt cannot be had: it leads to http://g/robots.txt: " +
			"fetch http://g/robots.txt: address not allowed: g at ::1 is a loopback address that the job " +
			"does not allow",
		"http://h was left for the next run: fetch http://h/: address not allowed: h at 169.254.169.254 is the " +
			"metadata service of a cloud, which is never reached",
		"https://h was left for the next run: tls: failed to verify certificate: x509: unknown authority",
		"https://h was left for the next run: tls: x509: certificate has expired or is not yet valid: now",
		"https://h was left for the next run: tls: x509: certificate is valid for www.h, h.org, not h",
		"https://h was left for the next run: http: server gave HTTP response to HTTPS client",
		"https://h was left for the next run: tls handshake or certificate: remote error: handshake failure",
		"https://h was left for the next run: the proxy answers CONNECT with status 403",
		"the entry point http://h/: failed (status 401)",
		"the entry point http://h/: failed (status 403)",
		"the entry point http://h/: failed (status 407)",
		"the entry point http://h/: redirected (to https://g/x, which is not mirrored); is that the url to give?",
		"the entry point http://h/: gone",
		"12 of 100 requests failed, more than limits.max_failures = 1%",
		"limits.max_time was reached",
		"publish.dir: /srv/www exists and is not a symbolic link",
		"read secret: environment variable P is not set",
		"open /var/lib/mirrord/x: permission denied",
	} {
		j := Job{Name: "x", Reasons: []string{why}, Last: &Run{Verdict: VerdictPartial, Ended: now}}
		j.Judge(now)
		if other := seen[j.Fix]; other != "" {
			t.Errorf("%q has the remedy of %q: %s", why, other, j.Fix)
		}
		seen[j.Fix] = why
		if tr, ok := TroubleOf(why); !ok || (tr.Lasting && tr.Again) || j.Fix == "mirrord run-now x" ||
			(tr.Lasting && strings.HasPrefix(j.Fix, "nothing")) {
			t.Errorf("%q: %+v, %q", why, tr, j.Fix)
		}
		if strings.HasSuffix(j.Fix, ": ") || strings.Contains(j.Fix, ": ;") {
			t.Errorf("%q: no remedy in %q", why, j.Fix)
		}
		if text := NewMessage(TellFailed, "host", j, now).Text; !strings.Contains(text, "fix: "+j.Fix) {
			t.Errorf("%q: the mail says\n%s", why, text)
		}
	}
	full := Job{Name: "x", Last: &Run{Verdict: VerdictPartial, Cause: DiskFull, Ended: now}}
	if full.Judge(now); seen[full.Fix] != "" || !strings.Contains(full.Fix, "free some space") {
		t.Errorf("full disk: %q", full.Fix)
	}
	const away = "the entry point http://h/: redirected (to https://g/x, which is not mirrored)"
	if to := LeadsTo(away); to != "https://g/x" {
		t.Errorf("redirects to %q", to)
	}
}

// Causes are found without expressions that would have to be compiled for each job of each look.
func TestTroublesAreCheap(t *testing.T) {
	why := "the entry point http://h/: redirected (to https://g/x, which is not mirrored)"
	if n := testing.AllocsPerRun(10, func() { TroubleOf(why) }); n > 40 {
		t.Errorf("%v allocations for one cause", n)
	}
	for text, want := range map[string]bool{
		"the entry point http://h/: gone":                     true,
		"the entry point http://h/: failed\nhttp://h/x: gone": false, // of another line
		"http://h/x: gone":                                    false,
	} {
		if got := isIn(text, "no text|entry point …: gone"); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
