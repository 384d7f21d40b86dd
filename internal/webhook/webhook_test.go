// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The example of the Standard Webhooks: its libraries are tested with it, too.
const (
	exampleKey  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	exampleID   = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	exampleTime = "1614265330"
	exampleBody = `{"test": 2432232314}`
	exampleSig  = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func TestExample(t *testing.T) {
	key, err := ParseKey(exampleKey)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1614265330, 0)
	if got := Sign(key, exampleID, at, []byte(exampleBody)); got != exampleSig {
		t.Errorf("%s, want %s", got, exampleSig)
	}
	other := []byte("another key")
	good := Signed{exampleID, exampleTime, exampleSig, []byte(exampleBody)}
	for _, tc := range []struct {
		name   string
		change func(s *Signed)
		now    time.Time
		keys   [][]byte
		want   error
	}{
		{"as it is", func(*Signed) {}, at, [][]byte{key}, nil},
		{"one of two keys", func(*Signed) {}, at, [][]byte{other, key}, nil},
		{"late within the tolerance", func(*Signed) {}, at.Add(Tolerance), [][]byte{key}, nil},
		{"early within the tolerance", func(*Signed) {}, at.Add(-Tolerance), [][]byte{key}, nil},
		{"too late", func(*Signed) {}, at.Add(Tolerance + time.Second), [][]byte{key}, ErrTime},
		{"too early", func(*Signed) {}, at.Add(-Tolerance - time.Second), [][]byte{key}, ErrTime},
		{"no keys", func(*Signed) {}, at, nil, ErrSignature},
		{"another key", func(*Signed) {}, at, [][]byte{other}, ErrSignature},
		{"several signatures", func(s *Signed) {
			s.Signature = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,x v1a,AAAA " + exampleSig
		}, at, [][]byte{key}, nil},
		{"only another version", func(s *Signed) { s.Signature = strings.Replace(exampleSig, "v1", "v2", 1) }, at,
			[][]byte{key}, ErrSignature},
		{"no version", func(s *Signed) { s.Signature = strings.TrimPrefix(exampleSig, "v1,") }, at,
			[][]byte{key}, ErrSignature},
		{"cut signature", func(s *Signed) { s.Signature = exampleSig[:20] }, at, [][]byte{key}, ErrSignature},
		{"empty signature", func(s *Signed) { s.Signature = "v1," }, at, [][]byte{key}, ErrSignature},
		{"beyond the bound", func(s *Signed) { s.Signature = strings.Repeat("v1,AAAA ", 16) + exampleSig }, at,
			[][]byte{key}, ErrSignature},
		{"another body", func(s *Signed) { s.Body = []byte(exampleBody + " ") }, at, [][]byte{key}, ErrSignature},
		{"another identifier", func(s *Signed) { s.ID += "x" }, at, [][]byte{key}, ErrSignature},
		{"another time", func(s *Signed) { s.Time = "1614265331" }, at, [][]byte{key}, ErrSignature},
		{"no identifier", func(s *Signed) { s.ID = "" }, at, [][]byte{key}, ErrHeaders},
		{"long identifier", func(s *Signed) { s.ID = strings.Repeat("x", mostID+1) }, at, [][]byte{key},
			ErrHeaders},
		{"no time", func(s *Signed) { s.Time = "" }, at, [][]byte{key}, ErrHeaders},
		{"a time in words", func(s *Signed) { s.Time = "now" }, at, [][]byte{key}, ErrHeaders},
		{"no signature", func(s *Signed) { s.Signature = "" }, at, [][]byte{key}, ErrHeaders},
	} {
		s := good
		tc.change(&s)
		if err := Verify(tc.keys, s, tc.now); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	for _, bad := range []string{"whsec_", "whsec_!"} {
		if _, err := ParseKey(bad); err == nil || strings.Contains(err.Error(), "!") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if k, err := ParseKey("plain"); err != nil || string(k) != "plain" {
		t.Errorf("%q, %v", k, err)
	}
}
