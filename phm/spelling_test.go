// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// An odd byte is found wherever it is.
func TestOddBytes(t *testing.T) {
	every := func(s string, ok func(c byte) bool) bool {
		for i := range len(s) {
			if !ok(s[i]) {
				return false
			}
		}
		return true
	}
	digit := func(c byte) bool { return strings.IndexByte("0123456789abcdef", c) >= 0 }
	for n := range 40 {
		for at := range n {
			for c := range 256 {
				b := []byte(strings.Repeat("a", n))
				if b[at] = byte(c); at > 0 {
					b[at-1] = byte(rand.N(256))
				}
				s := string(b)
				if got, want := isASCII(s), every(s, func(c byte) bool { return c < 0x80 }); got != want {
					t.Fatalf("%q is ASCII: %t", s, got)
				}
				got, want := unescaped(s), every(s, func(c byte) bool { return c != '\\' && c >= ' ' })
				if got != want {
					t.Fatalf("%q has no escape: %t", s, got)
				}
				got, want = isCanonical(s), every(s, func(c byte) bool {
					return c > ' ' && c < 0x7f && strings.IndexByte("\"<>#", c) < 0
				})
				if got != want {
					t.Fatalf("%q is canonical: %t", s, got)
				}
				long := s + strings.Repeat("0", 64-n)
				if got, want := isDigest(long), every(long, digit); got != want {
					t.Fatalf("%q is a digest: %t", long, got)
				}
			}
		}
	}
	if isDigest(strings.Repeat("0", 63)) || isDigest(strings.Repeat("0", 72)) || isDigest("") {
		t.Error("a digest of another length")
	}
}

// A time of a line is what the time package reads.
func TestParseTime(t *testing.T) {
	const form = "2006-01-02T15:04:05Z"
	check := func(s string) {
		want, err := time.Parse(form, s)
		got, ok := parseTime(s)
		if ok != (err == nil && len(s) == len(form)) || (ok && !got.Equal(want)) {
			t.Errorf("%q: %v, %t; the time package says %v, %v", s, got, ok, want, err)
		}
	}
	for _, s := range []string{
		form, "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z",
		"2023-04-31T00:00:00Z", "2023-00-01T00:00:00Z", "2023-13-01T00:00:00Z", "2023-01-00T00:00:00Z",
		"2023-01-01T24:00:00Z", "2023-01-01T00:60:00Z", "2023-01-01T00:00:60Z", "", "2023-01-01T00:00:00",
		"2023-01-01 00:00:00Z", "2023-01-01T00:00:00.5Z", "2023-01-01T00:00:0xZ",
	} {
		check(s)
	}
	for range 2000 {
		b := []byte(form)
		b[rand.N(len(b))] = byte(' ' + rand.N(95))
		check(string(b))
	}
}
