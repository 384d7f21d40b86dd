// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/hash"
	"mirrord/testing/replicatest"
)

// heldOut is a kind of host that none of the sets has, made of a collection.
type heldOut struct {
	name   string
	mirror bool
	make   func(r *rand.Rand, all [][]byte, i int) []byte // of page i
	others bool                                           // they are made of another collection
	has    float64                                        // share of the pages that it has; 0 is all
}

var wordAt = regexp.MustCompile(`<[^>]*>|&#?\w+;|[\pL\pN\x{FFFD}]+`)

// reworded replaces the words of a page by those of f.
func reworded(page []byte, f func(word []byte) []byte) []byte {
	return wordAt.ReplaceAllFunc(page, func(w []byte) []byte {
		if w[0] == '<' {
			return w
		}
		return f(w)
	})
}

func letters(r *rand.Rand) []byte {
	b := make([]byte, 3+r.IntN(7))
	for i := range b {
		b[i] = "etaoinshrdlucmfw"[r.IntN(16)]
	}
	return b
}

func heldOutKinds() []heldOut {
	header := []byte("<p>" + strings.Repeat("You read a copy of the keepers of this archive. ", 5))
	runs := func(share float64) func(*rand.Rand, [][]byte, int) []byte {
		return func(r *rand.Rand, all [][]byte, i int) []byte {
			left := 0
			return reworded(all[i], func(w []byte) []byte {
				if left == 0 && r.Float64() < share/8 {
					left = 8
				}
				if left == 0 {
					return w
				}
				left--
				return letters(r)
			})
		}
	}
	return []heldOut{
		{name: "white space", mirror: true, make: func(_ *rand.Rand, all [][]byte, i int) []byte {
			return bytes.Join(bytes.Fields(all[i]), []byte("\r\n"))
		}},
		{name: "a header", mirror: true, make: func(_ *rand.Rand, all [][]byte, i int) []byte {
			return slices.Concat(header, all[i])
		}},
		{name: "5 % of the words in runs", mirror: true, make: runs(0.05)},
		{name: "20 % of the words in runs", mirror: true, make: runs(0.2)},
		{
			name:   "seven tenths of the pages",
			mirror: true,
			has:    0.7,
			make:   func(_ *rand.Rand, all [][]byte, i int) []byte { return all[i] },
		},
		{name: "every third page of late", mirror: true, make: func(r *rand.Rand, all [][]byte, i int) []byte {
			if i%3 > 0 {
				return all[i]
			}
			return runs(0.3)(r, all, i)
		}},
		{
			name:   "the pages of another collection",
			mirror: false,
			others: true,
			make:   func(_ *rand.Rand, all [][]byte, i int) []byte { return all[i%len(all)] },
		},
		{name: "other words, the same markup", mirror: false, make: func(_ *rand.Rand, all [][]byte, i int) []byte {
			return reworded(all[i], func(w []byte) []byte {
				return letters(rand.New(rand.NewPCG(hash.Token(string(w)), 9)))
			})
		}},
		{name: "one page everywhere", mirror: false, make: func(_ *rand.Rand, all [][]byte, _ int) []byte {
			return all[0]
		}},
	}
}

// Stage II tells mirrors of kinds that no set has from hosts that are none.
func TestStageTwoHeldOutAccuracy(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	of := map[string][]int{} // pages by copy
	for i := range c.Pages {
		of[c.Pages[i].Copy] = append(of[c.Pages[i].Copy], i)
	}
	largest := map[string]string{} // copy by collection
	for _, name := range slices.Sorted(maps.Keys(of)) {
		p := &c.Pages[of[name][0]]
		if k := p.Family + " " + p.Lang; len(of[name]) >= 20 && len(of[name]) > len(of[largest[k]]) {
			largest[k] = name
		}
	}
	right, wrong, missed := 0, 0, 0
	for _, kind := range heldOutKinds() {
		for _, k := range slices.Sorted(maps.Keys(largest)) {
			source := largest[k]
			for _, other := range slices.Sorted(maps.Values(largest)) {
				if kind.others && c.Pages[of[other][0]].Family != c.Pages[of[source][0]].Family {
					source = other
					break
				}
			}
			v := kind.test(c, of[largest[k]], of[source], k)
			got := v.Level.Mirrors() && !v.RootOnly
			switch {
			case got && kind.mirror:
				right++
			case got:
				wrong++
				t.Logf("wrong: %s of %s: level %v, good %.2f of %d", kind.name, k, v.Level, v.Good, v.Answered)
			case kind.mirror:
				missed++
				t.Logf("missed: %s of %s: %v, good %.2f of %d", kind.name, k, v.Level, v.Good, v.Answered)
			}
		}
	}
	precision, recall := float64(right)/float64(right+wrong), float64(right)/float64(right+missed)
	t.Logf("%d mirrors, %d found: precision %.3f, recall %.3f", right+missed, right+wrong, precision, recall)
	if precision < 0.985 || recall < 0.985 {
		t.Errorf("precision %.3f, recall %.3f; want 0.985 and 0.985", precision, recall)
	}
}

// test runs the tests of a collection and a host of this kind that is made of it, or of another one.
func (kind *heldOut) test(c *replicatest.Corpus, pages, source []int, seed string) PairVerdict {
	var all, made [][]byte
	for _, n := range source {
		made = append(made, c.Blobs[c.Pages[n].Blob])
	}
	a, b := HostSample{Host: "origin.test"}, HostSample{Host: "other.test"}
	at := map[string]int{}
	for i, n := range pages {
		all = append(all, c.Blobs[c.Pages[n].Blob])
		at[c.Pages[n].Path] = i
	}
	random := func(path string) *rand.Rand { return rand.New(rand.NewPCG(hash.Token(seed), hash.Token(path))) }
	there := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(at)) {
		a.Paths = append(a.Paths, path)
		if kind.has == 0 || random(path).Float64() < kind.has {
			b.Paths = append(b.Paths, path)
			there[path] = true
		}
	}
	tests := StageTwo{}.Plan(a, b)
	answers := map[TestRequest]TestAnswer{}
	for _, ask := range Asks(tests) {
		answers[ask] = TestAnswer{Kind: GotFailure}
		i, known := at[ask.Path]
		if !known || (ask.Host == b.Host && !there[ask.Path]) {
			continue
		}
		body := all[i]
		if ask.Host == b.Host {
			body = kind.make(random(ask.Path), made, i)
		}
		answers[ask] = TestAnswer{Kind: GotPage, Body: NewAnswer(body, true, true, 0, ask.Path)}
	}
	return StageTwo{}.Decide(tests, answers)
}
