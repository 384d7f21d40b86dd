// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Motive is why two hosts have the same pages, as far as the evidence tells it (Bharat, Broder, section 5).
type Motive string

const (
	MotiveAlias       Motive = "one host by two names" // one of the two redirects to the other
	MotiveTypo        Motive = "typo of a host name"
	MotiveSession     Motive = "session names"   // names of hosts that were made for visitors
	MotiveServers     Motive = "several servers" // names that differ in a small number
	MotiveVirtualHost Motive = "virtual host"    // one server, and a name of its own beside that of the hoster
	MotiveAddress     Motive = "same address"
	MotiveNetwork     Motive = "same network" // addresses that differ in the last byte
	MotiveLanguage    Motive = "language"     // names of languages, and pages that have some words in common
	MotiveCountry     Motive = "country"      // names of countries, and the same pages
)

// PairEvidence is the evidence about two hosts.
type PairEvidence struct {
	Host1, Host2 string // with a port, if it is not the usual one
	Level        Level
	Alias        bool            // PairVerdict.Alias
	Addresses    [2][]netip.Addr // nil when they are not known
}

// Motives returns why two hosts have the same pages. Of pairs that are no mirrors it says nothing but that a
// name is a typo of the other, or that the two have an address in common.
func (e PairEvidence) Motives() []Motive {
	var out []Motive
	one, two := hostname(e.Host1), hostname(e.Host2)
	add := func(m Motive, is bool) {
		if is {
			out = append(out, m)
		}
	}
	mirrors := e.Level.Mirrors()
	same := haveCommon(e.Addresses[0], e.Addresses[1])
	byName := nameMotive(one, two, e.Level)
	add(MotiveAlias, e.Alias)
	add(byName, byName != "")
	add(MotiveVirtualHost, mirrors && same && isHosted(one, two))
	add(MotiveAddress, same)
	add(MotiveNetwork, !same && haveCommon(networks(e.Addresses[0]), networks(e.Addresses[1])))
	return out
}

// nameMotive is what the names of two hosts say; "" for nothing.
func nameMotive(one, two string, level Level) Motive {
	a, b, differ := differingLabel(one, two)
	switch {
	case IsTypo(one, two):
		return MotiveTypo
	case !differ || !level.Mirrors():
		return ""
	case isMade(a) && isMade(b):
		return MotiveSession
	case isNumbered(a, b):
		return MotiveServers
	case isRegion(a) && isRegion(b) && level <= Level3:
		return MotiveCountry
	case isRegion(a) && isRegion(b):
		return MotiveLanguage
	}
	return ""
}

func hostname(host string) string {
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	return strings.Trim(host, "[]")
}

// differingLabel returns the two labels in which two names differ, when it is one of each.
func differingLabel(one, two string) (a, b string, ok bool) {
	if isAddress(one) || isAddress(two) {
		return "", "", false
	}
	x, y := strings.Split(one, "."), strings.Split(two, ".")
	if len(x) != len(y) {
		return "", "", false
	}
	at := -1
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		if at >= 0 {
			return "", "", false
		}
		at = i
	}
	if at < 0 {
		return "", "", false
	}
	return x[at], y[at], true
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// isMade reports whether a label looks like one that a program made for a session: eight letters and digits
// or more, a third of them digits, in at least two runs.
func isMade(label string) bool {
	digits, turns, was := 0, 0, false
	for i := range len(label) {
		is := label[i] >= '0' && label[i] <= '9'
		if is {
			digits++
		}
		if i > 0 && is != was {
			turns++
		}
		was = is
	}
	return len(label) >= 8 && 3*digits >= len(label) && (turns >= 2 || digits >= 8)
}

// isNumbered reports whether two labels are the same but for a number of at most three digits.
func isNumbered(a, b string) bool {
	digits := func(s string) (rest string, n int) {
		rest = strings.Trim(s, "0123456789-")
		return rest, len(s) - len(rest)
	}
	x, n := digits(a)
	y, m := digits(b)
	return x == y && x != "" && n <= 4 && m <= 4
}

// isRegion reports whether a label is the name of a country or language: two letters, perhaps twice as in
// pt-br, or a word for it.
func isRegion(label string) bool {
	first, second, both := strings.Cut(label, "-")
	if both {
		return isCode(first) && isCode(second)
	}
	return isCode(label) || slices.Contains([]string{
		"english", "french", "german", "deutsch", "spanish", "espanol", "italian", "italiano", "francais",
		"portuguese", "portugues", "russian", "japanese", "chinese", "korean", "polish", "dutch", "turkish",
	}, label)
}

func isCode(s string) bool {
	return len(s) == 2 && s[0] >= 'a' && s[0] <= 'z' && s[1] >= 'a' && s[1] <= 'z'
}

// isHosted reports whether one of two names is that of a domain of its own, and the other one has it as a
// label below the domain of a hoster: acme.example and acme.hoster.example.
func isHosted(one, two string) bool {
	d, e := registered(one), registered(two)
	if d == "" || e == "" || d == e {
		return false
	}
	below := func(name, domain, of string) bool {
		label, _, _ := strings.Cut(of, ".")
		labels := strings.Split(strings.TrimSuffix(name, domain), ".")
		return slices.Contains(labels, label)
	}
	return below(one, d, e) || below(two, e, d)
}

// registered is the domain under which a name was registered; "" when it has none.
func registered(name string) string {
	if isAddress(name) {
		return ""
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(name)
	if err != nil {
		return ""
	}
	return d
}

// TopLevel is the last label of a host's name, "address" of an address.
func TopLevel(host string) string {
	name := hostname(host)
	if isAddress(name) {
		return "address"
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// IsTypo reports whether two host names differ as a word and a slip of the finger: one letter is missing, too
// much, another, or has changed places with the next one, or the dot after "www" is missing. Names that
// differ in a digit, or in a label of fewer than five letters, are none: "fr" and "br" are two names.
func IsTypo(one, two string) bool {
	one, two = hostname(one), hostname(two)
	if isAddress(one) || isAddress(two) || one == two {
		return false
	}
	if strings.Replace(one, "www.", "www", 1) == two || strings.Replace(two, "www.", "www", 1) == one {
		return true
	}
	a, b, ok := differingLabel(one, two)
	isWWW := strings.Trim(a, "w") == "" && strings.Trim(b, "w") == "" && min(len(a), len(b)) >= 2
	return ok && (isWWW || (min(len(a), len(b)) >= 5 && isSlip(a, b)))
}

// isSlip reports whether two words are one slip apart (the distance of Damerau is 1): not by a digit, nor by
// the last letter of a part, by which servers and plurals differ ("mirror-a", "archives").
func isSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	x, y := a[n:], b[n:]
	if y == "" || isDigit(y[0]) || (x != "" && isDigit(x[0])) {
		return false
	}
	isLast := len(y) == 1 || y[1] == '-'
	switch {
	case len(y)-len(x) == 1:
		return !isLast && x == y[1:]
	case len(x) != len(y):
		return false
	case x[1:] == y[1:]:
		return !isLast
	}
	return len(x) > 1 && x[0] == y[1] && x[1] == y[0] && x[2:] == y[2:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func haveCommon[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

// networks are the networks of 256 addresses that addresses of version 4 lie in.
func networks(addrs []netip.Addr) []netip.Prefix {
	var out []netip.Prefix
	for _, a := range addrs {
		if a = a.Unmap(); a.Is4() {
			if p, err := a.Prefix(24); err == nil {
				out = append(out, p)
			}
		}
	}
	return out
}
