// SPDX-License-Identifier: Apache-2.0

package zst

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// text is data as documents have it: words, some of them again and again.
func text(r *rand.Rand, n int) []byte {
	var b []byte
	for len(b) < n {
		if r.IntN(3) == 0 {
			b = append(b, "<a href=\"../index.html\">index</a> "...)
		}
		for range 1 + r.IntN(9) {
			b = append(b, 'a'+byte(r.IntN(26)))
		}
		b = append(b, ' ')
	}
	return b[:n]
}

// A frame depends on its content alone, also with another dictionary each time, and decoders read it:
// exports of one mirror are the same.
func TestFramesDependOnTheirContent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	used, over := NewEncoder(1<<20), NewEncoder(1<<18)
	dec := NewDecoder(1 << 22)
	defer dec.Close()
	for range 60 {
		data := text(r, r.IntN(1<<r.IntN(22)))
		got := used.EncodeAll(data, nil)
		if !bytes.Equal(got, NewEncoder(1<<20).EncodeAll(data, nil)) {
			t.Fatalf("%d bytes make another frame behind others", len(data))
		}
		if back, err := dec.DecodeAll(got, nil); err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%d bytes come back as %d, %v", len(data), len(back), err)
		}
		dict := zstd.WithEncoderDictRaw(0, text(r, 16+r.IntN(1<<16)))
		data = data[:min(len(data), 1<<16)]
		if err := over.ResetWithOptions(nil, dict); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(over.EncodeAll(data, nil), NewEncoder(1<<18, dict).EncodeAll(data, nil)) {
			t.Fatalf("%d bytes make another delta behind others", len(data))
		}
	}
}

// What repeats nothing is smaller too when its bytes are not equally frequent.
func TestLettersWithoutMatches(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	data := make([]byte, 4000)
	for i := range data {
		data[i] = "0123456789abcdef"[r.IntN(16)]
	}
	if n := len(NewEncoder(1<<20).EncodeAll(data, nil)); n > len(data)*3/5 {
		t.Errorf("%d hexadecimal digits take %d bytes", len(data), n)
	}
}
