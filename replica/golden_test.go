package replica

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// dataDir finds the data of the research beside the repository; "" when it is not there, which is said.
func dataDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for {
		p := filepath.Join(dir, "shared", "data")
		if _, err := os.Stat(filepath.Join(p, "replica-golden.json")); err == nil {
			return p
		}
		next := filepath.Dir(dir)
		if next == dir {
			t.Log("shared/data with replica-golden.json is not above this directory: what it holds is not compared")
			return ""
		}
		dir = next
	}
}

// golden is the part of the expected values that a test asks for; false when they are not there.
func golden(t testing.TB, into any) bool {
	t.Helper()
	dir := dataDir(t)
	if dir == "" {
		return false
	}
	raw, err := os.ReadFile(filepath.Join(dir, "replica-golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
	return true
}

func hexes(set []uint64, width int) []string {
	out := []string{}
	for _, x := range set {
		out = append(out, fmt.Sprintf("%0*x", width, x))
	}
	return out
}

// latin1Bytes turns a string whose characters stand for bytes into these bytes.
func latin1Bytes(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

type goldenText struct {
	HTML   string   `json:"html_latin1"`
	Lines  []string `json:"lines"`
	Tokens []string `json:"tokens"`
}

func TestGoldenText(t *testing.T) {
	var g struct {
		Hash []struct{ Hex, In string }
		Text map[string]goldenText
	}
	if !golden(t, &g) {
		return
	}
	for _, h := range g.Hash {
		if got := fmt.Sprintf("%016x", H(h.In)); got != h.Hex {
			t.Errorf("H(%q) = %s, want %s", h.In, got, h.Hex)
		}
	}
	if len(g.Text) == 0 {
		t.Error("no texts")
	}
	for name, want := range g.Text {
		text := Text(latin1Bytes(want.HTML))
		if got := Tokens(text); !slices.Equal(got, want.Tokens) {
			t.Errorf("%s: tokens\n%q, want\n%q", name, got, want.Tokens)
		}
		if got := Lines(text); !slices.Equal(got, want.Lines) {
			t.Errorf("%s: lines\n%q, want\n%q", name, got, want.Lines)
		}
	}
}

func TestGoldenShingles(t *testing.T) {
	var g struct {
		Shingles []struct {
			Hex    []string
			K      int
			Tokens []string
		}
		Outcome []struct {
			K              int
			Resemblance    float64
			Source, Target string
		}
		Text map[string]goldenText
	}
	if !golden(t, &g) {
		return
	}
	for _, s := range g.Shingles {
		if got := hexes(Shingles(s.Tokens, s.K, GoldenHash), 16); !slices.Equal(got, s.Hex) {
			t.Errorf("shingles of %q: %q, want %q", s.Tokens, got, s.Hex)
		}
	}
	for _, o := range g.Outcome {
		for _, hash := range []Hash{GoldenHash, FastHash} {
			set := func(name string) Set {
				return Shingles(Tokens(Text(latin1Bytes(g.Text[name].HTML))), o.K, hash)
			}
			if got := Resemblance(set(o.Source), set(o.Target)); math.Abs(got-o.Resemblance) > 1e-9 {
				t.Errorf("resemblance of %s and %s: %g, want %g", o.Source, o.Target, got, o.Resemblance)
			}
		}
	}
}

func TestGoldenChunks(t *testing.T) {
	var g struct {
		Chunks struct {
			Docs    map[string][]string
			Fps     map[string][]string
			Similar map[string][][2]string
		}
	}
	if !golden(t, &g) {
		return
	}
	kinds := map[string]Chunking{"fixed2": {Lines: 2}, "fixed4": {}, "cdc2": {Lines: 2, ContentDefined: true}, "cdc4": {ContentDefined: true}}
	for name, lines := range g.Chunks.Docs {
		for kind, c := range kinds {
			if got, want := hexes(Chunks(lines, c), 8), g.Chunks.Fps[name+"|"+kind]; !slices.Equal(got, want) {
				t.Errorf("%s of %s:\n%q, want\n%q", kind, name, got, want)
			}
		}
	}
	names := []string{}
	for name := range g.Chunks.Docs {
		names = append(names, name)
	}
	slices.Sort(names)
	for what, want := range g.Chunks.Similar {
		threshold, err := strconv.Atoi(what[len("cdc4>"):])
		kind := what[:4]
		if what[0] == 'f' {
			kind = what[:6]
			threshold, err = strconv.Atoi(what[len("fixed4>"):])
		}
		if err != nil {
			t.Fatal(err)
		}
		got := [][2]string{}
		for i, a := range names {
			for _, b := range names[i+1:] {
				if Common(Chunks(g.Chunks.Docs[a], kinds[kind]), Chunks(g.Chunks.Docs[b], kinds[kind])) > threshold {
					got = append(got, [2]string{a, b})
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}

func TestGoldenSketches(t *testing.T) {
	var g struct {
		Sketch struct {
			Sets            map[string][]int
			Minhash8, Oph16 map[string][]string
		}
	}
	if !golden(t, &g) {
		return
	}
	for name, elements := range g.Sketch.Sets {
		var set Set
		for _, e := range elements {
			set = append(set, H("element "+strconv.Itoa(e)))
		}
		set = newSet(set)
		if got := hexes(Permutations(set, 8), 16); !slices.Equal(got, g.Sketch.Minhash8[name]) {
			t.Errorf("%s: permutations %q, want %q", name, got, g.Sketch.Minhash8[name])
		}
		if got := hexes(OnePermutation(set, 16), 16); !slices.Equal(got, g.Sketch.Oph16[name]) {
			t.Errorf("%s: bins %q, want %q", name, got, g.Sketch.Oph16[name])
		}
	}
}

func TestGoldenBands(t *testing.T) {
	var g struct {
		Sketch struct {
			Oph16    map[string][]string
			Bands4x4 [][2]string `json:"bands_4x4"`
		}
	}
	if !golden(t, &g) {
		return
	}
	names := slices.Sorted(maps.Keys(g.Sketch.Oph16))
	var sketches [][]uint64
	for _, name := range names {
		var sketch []uint64
		for _, h := range g.Sketch.Oph16[name] {
			x, err := strconv.ParseUint(h, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			sketch = append(sketch, x)
		}
		sketches = append(sketches, sketch)
	}
	var got [][2]string
	for _, p := range Stars(sketches, 4) {
		got = append(got, [2]string{names[p[0]], names[p[1]]})
	}
	if !slices.Equal(got, g.Sketch.Bands4x4) {
		t.Errorf("stars %q, want %q", got, g.Sketch.Bands4x4)
	}
}

func TestGoldenTrivial(t *testing.T) {
	var g struct {
		Trivial struct {
			Clusters [][]uint32
			Pages    int
			Pairs    [][2]uint32
		}
	}
	if !golden(t, &g) {
		return
	}
	sets := NewSets(g.Trivial.Pages)
	for _, p := range g.Trivial.Pairs {
		sets.Union(p[0], p[1])
	}
	var got [][]uint32
	for _, members := range sets.All(1) {
		got = append(got, members)
	}
	if !slices.EqualFunc(got, g.Trivial.Clusters, slices.Equal) {
		t.Errorf("clusters %v, want %v", got, g.Trivial.Clusters)
	}
}
