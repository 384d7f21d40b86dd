// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"net/url"
	"strings"
)

// Trouble is why a run did not end well, as far as a user can do something about it.
type Trouble struct {
	Cause string // the expression that the reasons match: one of Causes
	What  string // in a few words, behind the URL that it concerns
	Do    string // what to do for a mirror with a job file
	Get   string // what to do when a command line says it; "" when its next run may continue
	// another run has the same result until a user does what Do says
	Lasting bool
	// it is tried again by itself, and Do only helps when that does not
	Again bool
	Waits bool // no run helps before a time that the reasons name
}

// TroubleOf finds the first trouble in the reasons and the error of a run; ok is false when none is known.
func TroubleOf(why string) (t Trouble, ok bool) {
	for _, c := range Troubles(why) {
		if isIn(why, c.In) {
			c.Cause = c.In
			return c.Trouble, true
		}
	}
	return Trouble{}, false
}

// KnownTrouble is a trouble with the texts that name it: alternatives between bars, in which … stands for any
// text of the line.
type KnownTrouble struct {
	In string
	Trouble
}

// isIn reports whether a line of the reasons has one of the texts.
func isIn(why, texts string) bool {
	for line := range strings.Lines(why) {
		for text := range strings.SplitSeq(texts, "|") {
			first, second, _ := strings.Cut(text, "…")
			if _, rest, ok := strings.Cut(line, first); ok && strings.Contains(rest, second) {
				return true
			}
		}
	}
	return false
}

// Troubles are the troubles that are known, by the texts that name them. What causes another one stands
// before it.
func Troubles(why string) []KnownTrouble {
	to := LeadsTo(why)
	private, use := forbidden(why)
	names := certified(why)
	robotsTo := "its robots.txt redirects to " + robotsAt(why)
	robots, inside := robotsTo+", and no host has that name", robotsTo+", and "+private
	return []KnownTrouble{
		{robotsLeads + "…" + forbiddenAddress, Trouble{
			What: inside,
			Do: fmt.Sprintf("%s: tell its owner, or, if you may, set obey_robots = false or add %q to allow_private "+
				"of the table [polite] in the job's file", inside, endpointOf(robotsAt(why))),
			Get: fmt.Sprintf("tell its owner, or, if you may, use --set obey_robots=false or "+
				"--set 'polite.allow_private=[%q]'", endpointOf(robotsAt(why))),
			Lasting: true,
		}},
		{forbiddenAddress, Trouble{
			What:    private,
			Do:      private + ": " + use,
			Get:     use,
			Lasting: true,
		}},
		{robotsLeads + "…no such host", Trouble{
			What:    robots,
			Do:      robots + ": tell its owner, or set obey_robots = false in the job's file if you may",
			Get:     "tell its owner, or use --set obey_robots=false if you may",
			Lasting: true,
		}},
		{"disallowed", Trouble{
			What: "its robots.txt forbids that",
			Do: "its robots.txt forbids that: ask its owner (mirrord run-now JOB --full reads it again), or " +
				"change url or scope in the job's file",
			Get:     "ask its owner, or get a part that it allows",
			Lasting: true,
		}},
		{"read secret: ", Trouble{
			What:    "a secret cannot be read",
			Do:      "let the daemon's user read the secret, or set the variable: mirrord check names it",
			Get:     "make the file readable, or set the variable",
			Lasting: true,
		}},
		{"tls.ca_file: |auth.cookies_file: ", Trouble{
			What: "a file that the job names cannot be read",
			Do: "a file that the job names cannot be read: let the daemon's user read it, or correct its name: " +
				"mirrord check says more",
			Get:     "look at its name, and whether you may read it",
			Lasting: true,
		}},
		{"status 401", Trouble{
			What:    "the site wants a login (status 401)",
			Do:      "the site wants a login: user and password of [auth] in the job's file",
			Get:     "--set auth.user=NAME --set 'auth.password=${VARIABLE}' give one",
			Lasting: true,
		}},
		{"proxy answers …status 403", Trouble{
			What:    "the proxy refuses that (status 403)",
			Do:      "the proxy refuses that: ask its operator, or check proxy in the job's file",
			Get:     "ask the operator of the proxy",
			Lasting: true,
		}},
		{"status 407|authentication methods|username/password authentication failed", Trouble{
			What:    "the proxy wants a login",
			Do:      "the proxy wants a login: proxy = \"http://USER:${VARIABLE}@HOST:PORT\" in the job's file",
			Get:     "--set 'proxy=http://USER:${VARIABLE}@HOST:PORT' gives one",
			Lasting: true,
		}},
		{"it refuses also what it gave before", Trouble{
			Do: "nothing at first, it is tried again; if it stays so, ask the site's owner, or set polite.delay " +
				"and [auth] in the job's file as it wants them",
			Again: true,
		}},
		{"status 403", Trouble{
			What:    "the site refuses that (status 403)",
			Do:      "the site refuses that: ask its owner, or whether it wants a login ([auth] in the job's file)",
			Get:     "ask its owner, or whether it wants a login",
			Lasting: true,
		}},
		{"no such host", Trouble{
			What: "no host has this name",
			Do: "no host has this name: look at url in the job's file, and at the name service of this " +
				"machine",
			Get:     "look at its spelling, and at the name service of this machine",
			Lasting: true,
		}},
		{expiredCertificate, Trouble{
			What: "its certificate has expired, or is not valid yet",
			Do: "its certificate has expired, or is not valid yet: look at the clock of this machine, and ask its " +
				"owner; until it is renewed tls.insecure in the job's file takes any certificate",
			Get:     "look at the clock of this machine; --set tls.insecure=true takes any certificate",
			Lasting: true,
		}},
		{otherName, Trouble{
			What:    "its certificate is for " + names,
			Do:      "its certificate is for " + names + ": look at the name in url of the job's file",
			Get:     "look at its spelling",
			Lasting: true,
		}},
		{"HTTP response to HTTPS client|does not look like a TLS handshake", Trouble{
			What:    "it speaks no HTTPS at that port",
			Do:      "it speaks no HTTPS at that port: look at scheme and port in url of the job's file",
			Get:     "look at scheme and port",
			Lasting: true,
		}},
		{"x509: ", Trouble{
			What: "its certificate is not accepted",
			Do: "its certificate is not accepted: name the authority that you trust for it in tls.ca_file of the " +
				"job's file",
			Get:     "--set tls.ca_file=PEM names an authority that you trust for it",
			Lasting: true,
		}},
		{"tls handshake or certificate", Trouble{
			What: "the TLS handshake fails",
			Do: "the TLS handshake fails: the server may be too old, or want a certificate of its clients; look " +
				"whether url in the job's file works with http",
			Get:     "the server may be too old, or want a certificate of its clients; look whether http works",
			Lasting: true,
		}},
		{"entry point …: redirected (to ", Trouble{
			What:    "it redirects to " + to,
			Do:      fmt.Sprintf("it leads elsewhere: write url = %q in the job's file, if that is meant", to),
			Get:     "when that is meant: mirrord get " + to,
			Lasting: true,
		}},
		{noEntry, Trouble{Do: "look at the site; if it has moved, change url in the job's file"}},
		{"entry point …: gone", Trouble{
			What:    "the site has no such page",
			Do:      "the site has no such page: look whether url in the job's file is right",
			Get:     "look at its spelling",
			Lasting: true,
		}},
		{EmptyEntry, Trouble{
			What:    "the site answers with an empty page",
			Do:      "the site answers with an empty page: look at it, and whether url in the job's file is right",
			Get:     "look at it in a browser, and at the spelling of the URL",
			Lasting: true,
		}},
		{"Crawl-delay of … longer than polite.max_wait", Trouble{
			What:    "its robots.txt wants longer pauses than polite.max_wait",
			Do:      "its robots.txt wants longer pauses: raise polite.max_wait in the job's file",
			Get:     "--set polite.max_wait=1h accepts them",
			Lasting: true,
		}},
		{"longer than polite.max_wait", Trouble{
			Do:    "nothing, the site wants to be left alone for so long; the first run after that continues",
			Waits: true,
		}},
		{"the entry point", Trouble{Do: "look whether url in the job's file is right"}},
		{"limits.max_failures", Trouble{Do: "mirrord explain JOB URL says why one failed; raise " +
			"limits.max_failures if the site is like that"}},
		{noAnswer, Trouble{
			What: "the host does not answer (" + silence(why) + ")",
			Do: "nothing, the host does not answer and is tried again; if it stays so, look whether url in the " +
				"job's file is right",
			Get:   "look at its spelling, or try again later",
			Again: true,
		}},
		{"was left for the next run", Trouble{Do: "nothing, it is tried again", Again: true}},
		{"takes more than limits.max_state", Trouble{
			Do: "raise limits.max_state in the job's file, or mirror less of the site (scope, limits)",
		}},
		{"takes more than its share of the room", Trouble{
			Do: "raise --max-state of the daemon, or remove a mirror (mirrord remove JOB)",
		}},
		{"limits.max_time", Trouble{Do: "nothing, the next run continues", Again: true}},
		{"publish.dir", Trouble{
			Do:      "let the daemon's user write there: mirrord check names the obstacle",
			Lasting: true,
		}},
		{"permission denied", Trouble{
			Do:      "give the state directory to the daemon's user (sudo chown -R)",
			Lasting: true,
		}},
	}
}

// noAnswer are the texts of hosts that do not answer.
const noAnswer = "connection refused|no route to host|network is unreachable|timeout|timed out"

// silence returns the first of them in the reasons of a run.
func silence(why string) string {
	for text := range strings.SplitSeq(noAnswer, "|") {
		if strings.Contains(why, text) {
			return text
		}
	}
	return ""
}

// robotsLeads is the text of package fetch for a robots.txt whose redirect target cannot be fetched.
const robotsLeads = "its robots.txt cannot be had: it leads to "

// robotsAt returns the URL that follows it.
func robotsAt(why string) string {
	_, at, _ := strings.Cut(why, robotsLeads)
	at, _, _ = strings.Cut(at, ": ")
	return at
}

// endpointOf returns the host and port of a URL, as polite.allow_private has them.
func endpointOf(at string) string {
	u, err := url.Parse(at)
	switch {
	case err != nil:
		return at
	case u.Port() != "":
		return u.Host
	case u.Scheme == "https":
		return u.Host + ":443"
	}
	return u.Host + ":80"
}

// EmptyEntry is the cause of a first run whose entry page came without a byte.
const EmptyEntry = "entry point …: it answers with an empty page"

// forbiddenAddress is the error text of package fetch for an address that a job may not connect to. The
// address and what allows it follow it.
const forbiddenAddress = "address not allowed: "

// forbidden takes that apart.
func forbidden(why string) (what, use string) {
	_, why, _ = strings.Cut(why, forbiddenAddress)
	why, _, _ = strings.Cut(why, "\n")
	what, use, ok := strings.Cut(why, "; ")
	if !ok { // it is no address for any job
		use = "look where its name leads"
	}
	return what, use
}

// The texts of package crypto/x509 about a certificate that is not valid now, or not for the name in the URL.
const (
	expiredCertificate = "x509: certificate has expired or is not yet valid"
	validFor           = "x509: certificate is valid for " // names follow
	otherName          = validFor + "|x509: certificate is not valid for any names|" +
		"x509: cannot validate certificate for "
)

// certified returns the names for which a certificate is valid, as far as a line can hold them.
func certified(why string) string {
	_, names, ok := strings.Cut(why, validFor)
	names, _, _ = strings.Cut(names, ", not ")
	if !ok || len(names) > 100 {
		return "other names"
	}
	return names
}

// AgainHint is what to do about a run that did not end well, by the reasons that it gave.
func AgainHint(name, why string) string {
	now := "mirrord run-now " + name
	t, ok := TroubleOf(why)
	do := strings.ReplaceAll(t.Do, " JOB ", " "+name+" ")
	switch {
	case !ok:
		return now
	case t.Waits:
		return do
	case t.Again:
		return do + "; at once: " + now
	}
	return do + "; then: " + now
}

// LeadsTo returns the URL outside of the mirror to which the entry point of a run redirects, "" if it does
// not.
func LeadsTo(why string) string {
	for line := range strings.Lines(why) {
		_, rest, entry := strings.Cut(line, "entry point ")
		_, rest, leads := strings.Cut(rest, ": redirected (to ")
		to, _, known := strings.Cut(rest, ", which")
		if u, err := url.Parse(to); entry && leads && known && (err == nil) && (u.Host != "") {
			return to
		}
	}
	return ""
}
