// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Bytes that no text has are counted wherever they stand: eight at a time are passed over only when none of
// them is below a space.
func TestManyControls(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var yes int
	for range 20_000 {
		head := bytes.Repeat([]byte{"aZ\xff\x80 "[r.IntN(5)]}, r.IntN(80))
		for n := r.IntN(len(head)/3 + 1); n > 0; n-- {
			head[r.IntN(len(head))] = byte(r.IntN(256))
		}
		controls, nul := 0, [2]int{}
		for i, c := range head {
			switch {
			case c == 0:
				nul[i%2]++
				controls++
			case bytes.IndexByte([]byte("\t\n\f\r\x1b"), c) < 0 && c < ' ':
				controls++
			}
		}
		want := controls > len(head)/8
		if n := len(head); (nul[0] > n/5) != (nul[1] > n/5) && controls-nul[0]-nul[1] <= n/16 {
			want = false
		}
		if bytes.HasPrefix(head, []byte("\xff\xfe")) {
			want = false
		}
		if got := manyControls(head); got != want {
			t.Fatalf("%q: %v", head, got)
		}
		if want {
			yes++
		}
	}
	if yes < 100 {
		t.Errorf("only %d heads with many", yes)
	}
}
