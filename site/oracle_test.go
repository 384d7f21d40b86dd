// SPDX-License-Identifier: Apache-2.0

package site

import (
	"os"
	"strings"
	"testing"

	"mirrord/testing/oracle"
)

type (
	oracleQuestion struct {
		Base string `json:"base"`
		Ref  string `json:"ref"`
	}
	oracleAnswer struct{ Href string }
)

// TestOracleResolve holds Resolve against whatwg-url, the reference implementation of the URL standard, on
// references made of pieces that are special in one or another part of a URL.
func TestOracleResolve(t *testing.T) {
	bases := []string{"", testBase, "http://h/", "http://[::1]:8080/a//b/?",
		"https://xn--bcher-kva.example/a/..b/c?d/e"}
	pieces := []string{"http:", "https:", "HTTP:", "ftp:", "mailto:", "/", "//", "\\", "?", "#", ":", "@", ".",
		"..", "%2e", "%2E%2e", "a", "B", "example.org", "h", ":80", ":443",
		":8080", ":0", ":99999", "[::1]", "[1:0::2]", "127.1", "0x7f.1", "08.1", "1", "256", "%", "%zz", "%41",
		"%00", " ", "\t", "\n", "é", "ü.de", "日本", "ß", "\u00ad", "\u3002", "xn--a", "xn--mnchen-3ya",
		"'", "\"", "<", ">", "`", "{", "}", "|", "^", "~", "_", "-", "!", "$", "&", ";", ",", "=", "+", "(", ")",
		"*", "\x01", "\x7f", "\ufffd", "😀", "file.html"}
	rng := oracle.Rand(t)
	questions := make([]oracleQuestion, 20_000)
	for i := range questions {
		var ref strings.Builder
		for range rng.IntN(8) {
			ref.WriteString(pieces[rng.IntN(len(pieces))])
		}
		questions[i] = oracleQuestion{bases[rng.IntN(len(bases))], ref.String()}
	}
	askOracle(t, questions)
}

// TestOracleHosts asks of every host of up to four pieces, five with MIRRORD_LONG, of which numbers, names
// and addresses are made.
func TestOracleHosts(t *testing.T) {
	pieces := []string{
		"0", "1", "8", "300", "x", "F", "+", "-", ".", "%2e", "%2b", "_", "é", "\uff11", "[", "::1", "]",
	}
	length := 4
	if os.Getenv("MIRRORD_LONG") != "" {
		length = 5
	}
	hosts := []string{""}
	for shorter := hosts; length > 0; length-- {
		var longer []string
		for _, host := range shorter {
			for _, piece := range pieces {
				longer = append(longer, host+piece)
			}
		}
		hosts, shorter = append(hosts, longer...), longer
	}
	var questions []oracleQuestion
	for _, host := range hosts {
		questions = append(questions, oracleQuestion{Ref: "http://" + host + "/"})
	}
	askOracle(t, questions)
}

// askOracle fails where Resolve and whatwg-url answer differently.
func askOracle(t *testing.T, questions []oracleQuestion) {
	t.Helper()
	// The library refuses names that mix letters beyond ASCII with signs of ASCII, which no registry hands out.
	known := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "disallowed rune U+00")
	}
	bad := 0
	for i, want := range oracle.Ask[oracleQuestion, oracleAnswer](t, "url", questions) {
		q := questions[i]
		var got string
		u, frag, err := Canonical(q.Base).Resolve(q.Ref)
		if err == nil {
			got = u.String()
			if strings.Contains(want.Href, "#") {
				got += "#" + frag
			}
		}
		web := strings.HasPrefix(want.Href, "http:") || strings.HasPrefix(want.Href, "https:")
		if known(err) || (err != nil && !web) || (err == nil && got == want.Href) {
			continue
		}
		t.Errorf("%q in %q: %q, %v; whatwg-url: %q", q.Ref, q.Base, got, err, want.Href)
		if bad++; bad == 20 {
			break
		}
	}
}
