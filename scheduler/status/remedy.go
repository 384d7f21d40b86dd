// SPDX-License-Identifier: Apache-2.0

package status

import (
	_ "embed"
	"net/url"
	"slices"
	"strings"
)

// Trouble is why a run did not end well, as far as a user can do something about it.
type Trouble struct {
	Cause string // the texts that name it: alternatives between bars, in which … stands for any text of the line
	What  string // in a few words, behind the URL that it concerns
	Do    string // what to do for a mirror with a job file
	Get   string // what to do when a command line says it; "" when its next run may continue
	// another run has the same result until a user does what Do says
	Lasting bool
	// it is tried again by itself, and Do only helps when that does not
	Again bool
	Waits bool // no run helps before a time that the reasons name
}

//go:embed troubles.txt
var troublesFile string

var troubles = readTroubles()

// readTroubles reads troubles.txt. What causes another trouble stands before it.
func readTroubles() (all []Trouble) {
	for block := range strings.SplitSeq(troublesFile, "\n\n") {
		var t Trouble
		for line := range strings.Lines(block) {
			switch key, text, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
			case "in":
				t.Cause = strings.Trim(text, `"`)
			case "what":
				t.What = text
			case "do":
				t.Do = strings.Replace(text, "{what}", t.What, 1)
			case "get":
				t.Get = text
			case "lasting":
				t.Lasting = true
			case "again":
				t.Again = true
			case "waits":
				t.Waits = true
			}
		}
		all = append(all, t)
	}
	return all
}

// TroubleOf finds the first trouble in the reasons and the error of a run; ok is false when none is known.
func TroubleOf(why string) (t Trouble, ok bool) {
	i := slices.IndexFunc(troubles, func(t Trouble) bool { return isIn(why, t.Cause) })
	if i < 0 {
		return t, false
	}
	t = troubles[i]
	to, robots := LeadsTo(why), robotsAt(why)
	private, use := forbidden(why)
	said := strings.NewReplacer("{to}", to, "{robots}", robots, "{endpoint}", endpointOf(robots),
		"{private}", private, "{use}", use, "{names}", certified(why), "{silence}", firstIn(why, t.Cause))
	t.What, t.Do, t.Get = said.Replace(t.What), said.Replace(t.Do), said.Replace(t.Get)
	return t, true
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

// firstIn returns the first of several texts, with bars between them, in the reasons of a run.
func firstIn(why, texts string) string {
	for text := range strings.SplitSeq(texts, "|") {
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

// validFor is the text of package crypto/x509 about a certificate that is not for the name in the URL: the
// names follow.
const validFor = "x509: certificate is valid for "

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
