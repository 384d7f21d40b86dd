// SPDX-License-Identifier: Apache-2.0

package site

import (
	"math/rand/v2"
	"strings"
	"testing"

	"mirrord/testing/oracle"
)

// TestOracleResolve holds Resolve against whatwg-url, the reference implementation of the URL standard, on
// references made of pieces that are special in one or another part of a URL.
func TestOracleResolve(t *testing.T) {
	type question struct {
		Base string `json:"base"`
		Ref  string `json:"ref"`
	}
	type answer struct{ Href string }
	bases := []string{"", testBase, "http://h/", "http://[::1]:8080/a//b/?",
		"https://xn--bcher-kva.example/a/..b/c?d/e"}
	pieces := []string{"http:", "https:", "HTTP:", "ftp:", "mailto:", "/", "//", "\\", "?", "#", ":", "@", ".",
		"..", "%2e", "%2E%2e", "a", "B", "example.org", "h", ":80", ":443",
		":8080", ":0", ":99999", "[::1]", "[1:0::2]", "127.1", "0x7f.1", "08.1", "1", "256", "%", "%zz", "%41",
		"%00", " ", "\t", "\n", "é", "ü.de", "日本", "ß", "\u00ad", "\u3002", "xn--a", "xn--mnchen-3ya",
		"'", "\"", "<", ">", "`", "{", "}", "|", "^", "~", "_", "-", "!", "$", "&", ";", ",", "=", "+", "(", ")",
		"*", "\x01", "\x7f", "\ufffd", "😀", "file.html"}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	questions := make([]question, 20_000)
	for i := range questions {
		var ref strings.Builder
		for range rng.IntN(8) {
			ref.WriteString(pieces[rng.IntN(len(pieces))])
		}
		questions[i] = question{bases[rng.IntN(len(bases))], ref.String()}
	}
	// The library refuses names that mix letters beyond ASCII with signs of ASCII, which no registry hands out.
	known := func(err error) bool { return err != nil && strings.Contains(err.Error(), "disallowed rune U+00") }
	bad := 0
	for i, want := range oracle.Ask[question, answer](t, "url", questions) {
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
	if bad > 0 {
		t.Logf("seed %d", seed)
	}
}
