// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/hash"
)

// What lies between the gaps of two lists is the same in both, and nothing is left out.
func TestDifferencesCoverBoth(t *testing.T) {
	r := rand.New(rand.NewPCG(58, 1))
	for range 4000 {
		x, y := make([]uint64, r.IntN(40)), make([]uint64, r.IntN(40))
		for i := range x {
			x[i] = r.Uint64N(30)
		}
		for i := range y {
			y[i] = r.Uint64N(30)
		}
		if r.IntN(2) == 0 && len(x) > 4 {
			y = slices.Delete(slices.Clone(x), 1, 1+r.IntN(len(x)-1))
		}
		i, j := 0, 0
		for _, g := range append(differences(x, y), gap{len(x), len(x), len(y), len(y)}) {
			if g.x0 < i || g.y0 < j || !slices.Equal(x[i:g.x0], y[j:g.y0]) {
				t.Fatalf("%v, %v: gaps %v", x, y, differences(x, y))
			}
			i, j = g.x1, g.y1
		}
	}
}

// variedWords returns words, of which some repeat themselves as in tables and menus.
func variedWords(r *rand.Rand, n int) (out []string) {
	for len(out) < n {
		switch r.IntN(6) {
		case 0:
			out = append(out, "in", "stock", "price", "on", "request", "only", "this", "week")
		case 1:
			out = append(out, fmt.Sprint("item", r.IntN(50)), "costs", fmt.Sprint(r.IntN(90)), "euro")
		default:
			out = append(out, fmt.Sprint("w", r.IntN(3000)))
		}
	}
	return out[:n]
}

// A page without its end or a part of its middle is detected, for any length, and however much of it is
// template; one of which some words were edited, or whose parts have moved, is not reported as one.
func TestMissingPartsOfAnyLength(t *testing.T) {
	r := rand.New(rand.NewPCG(58, 2))
	wrong := 0
	for round := range 240 {
		n := 12 + r.IntN(60)
		if round%3 == 0 {
			n = 12 + r.IntN(6000)
		}
		frame := variedWords(r, r.IntN(n+1))
		words := variedWords(r, n)
		for _, k := range []int{4, DefaultShingle} {
			body := func(own []string) PageBody {
				return NewBody([]byte("<p>"+strings.Join(own, " ")+"<p>"+strings.Join(frame, " ")), true, true, k)
			}
			var around []PageBody
			for range 4 {
				around = append(around, body(variedWords(r, n)))
			}
			var shared hash.Set
			if r.IntN(2) == 0 {
				shared = Template(around)
			}
			held := body(words)
			all := strings.Fields(strings.Join(words, " ") + " " + strings.Join(frame, " "))
			gone := max(3, len(all)/8+r.IntN(len(all)/2))
			if round%2 == 0 && len(all) > 8*k {
				gone = 3*k + r.IntN(k)
			}
			at := r.IntN(len(all) - gone + 1)
			for name, left := range map[string][]string{
				"end":    all[:len(all)-gone],
				"middle": slices.Delete(slices.Clone(all), at, at+gone),
			} {
				came := NewBody([]byte("<p>"+strings.Join(left, " ")), true, true, k)
				if kin := held.Kin(came, shared, 0.7); (kin == Alike || kin == Grown) && !held.LacksPart(came) {
					t.Errorf("round %d, k %d: %d of %d words are missing, the %s, and its kinship is %v",
						round, k, gone, len(all), name, kin)
				}
			}
			edited := slices.Clone(words)
			for range 1 + n/100 {
				edited[r.IntN(n)] = "other"
			}
			if held.LacksPart(body(edited)) {
				wrong++ // what repeats itself may be aligned with another
			}
			half := n / 2
			moved := append(slices.Clone(words[half:]), words[:half]...)
			if came := body(moved); n > 10*k && held.LacksPart(came) {
				t.Errorf("round %d, k %d: the halves of %d words were put in another order, and a part is "+
					"said to be missing", round, k, n)
			}
		}
	}
	if wrong > 4 {
		t.Errorf("of %d of 480 pages of which some words were edited a part is said to be missing", wrong)
	}
}

// A page that was cut where only its template follows, in the middle of a word.
func TestCutInTheTemplate(t *testing.T) {
	r := rand.New(rand.NewPCG(58, 3))
	foot := strings.Join(variedWords(r, 27), " ")
	page := func(own string) string { return "<title>Notes</title><p>" + own + "<p>" + foot }
	var around []PageBody
	for range 5 {
		around = append(around, NewBody([]byte(page(strings.Join(variedWords(r, 18), " "))), true, true, 4))
	}
	all := page(strings.Join(variedWords(r, 18), " "))
	held := NewBody([]byte(all), true, true, 4)
	at := strings.Index(all, foot)
	for cut := at; cut < at+len(foot)*3/4; cut++ {
		came := NewBody([]byte(all[:cut]), true, true, 4)
		if kin := held.Kin(came, Template(around), 0.7); kin == Alike || kin == Grown {
			t.Errorf("cut at byte %d of %d: %v", cut, len(all), kin)
		}
	}
}

// Twice the words take at most about twice the time, also of lists that were made to be hard to align.
func BenchmarkLossOf(b *testing.B) {
	for _, n := range []int{1 << 16, 1 << 17, 1 << 18} {
		r := rand.New(rand.NewPCG(58, 4))
		x, y := make([]uint64, n), make([]uint64, n)
		for i := range x {
			x[i] = uint64(i)
		}
		copy(y, x)
		r.Shuffle(n, func(i, j int) { y[i], y[j] = y[j], y[i] })
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				lossOf(x, y, 4)
			}
		})
	}
}
