// SPDX-License-Identifier: Apache-2.0

// Package replicagolden holds the rooms of replica against a file of expected values, made by an independent
// implementation.
package replicagolden

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"mirrord/replica/hash"
	"mirrord/replica/hosts"
	"mirrord/replica/text"
	"mirrord/replica/unionfind"
	"mirrord/testing/lab/reference"
)

// ErrGolden says that a file of expected values is not one, or has nothing in it.
var ErrGolden = errors.New("not a file of expected values")

// GoldenResult is what came of a file of expected values.
type GoldenResult struct {
	Cases    int
	Values   int      // that were compared
	Problems []string // one for each value that is another; none: all is as expected
}

// golden is a file of expected values; parts may be missing.
type golden struct {
	Hash         []struct{ In, Hex string }
	Text         map[string]goldenText
	Shingles     []goldenShingles
	Outcome      []goldenOutcome
	Chunks       goldenChunks
	Sketch       goldenSketch
	Trivial      goldenTrivial
	SplitURL     []goldenURL    `json:"split_url"`
	HostFeatures []goldenHost   `json:"host_features"`
	PathFeatures []goldenPath   `json:"path_features"`
	Sampling     goldenSampling `json:"sampling"`
	Stage1       goldenStage1   `json:"stage1"`
	Stage1Tiny   goldenStage1   `json:"stage1_tiny"`
	Classify     []goldenClass  `json:"classify"`
	Graphs       map[string]goldenGraph
}

// CheckGolden reads a file of expected values and compares with it what the rooms make of the same input in
// their golden mode: hashes, text, shingles, chunks, sketches, bands, trivial clusters, features and samples
// of addresses, candidate pairs, outcomes, levels, edges of link graphs and clusters, all exactly;
// resemblances and scores to 1e-9. The file is a JSON object with a member for each of these (see golden),
// any of which may be missing; bytes are written as the characters of Latin-1, hashes as hexadecimal digits.
func CheckGolden(r io.Reader) (GoldenResult, error) {
	var g golden
	if err := json.NewDecoder(r).Decode(&g); err != nil {
		return GoldenResult{}, errors.Join(ErrGolden, err)
	}
	c := &goldenCheck{g: &g}
	for _, h := range g.Hash {
		c.same("hash of "+h.In, fmt.Sprintf("%016x", hash.H(h.In)), h.Hex)
	}
	c.text()
	c.shingles()
	c.outcomes()
	c.chunks()
	c.sketches()
	c.trivial()
	c.urls()
	c.sampling()
	c.stage1("stage1", g.Stage1)
	c.stage1("stage1_tiny", g.Stage1Tiny)
	c.levels()
	c.graphs()
	if c.report.Cases == 0 {
		return c.report, fmt.Errorf("%w: it has no cases", ErrGolden)
	}
	return c.report, nil
}

type goldenCheck struct {
	g      *golden
	report GoldenResult
}

// same compares one value, by how it is written.
func (c *goldenCheck) same(what string, got, want any) {
	c.report.Cases++
	c.values(what, got, want)
}

// values compares what belongs to a case that was counted.
func (c *goldenCheck) values(what string, got, want any) {
	c.report.Values++
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		c.report.Problems = append(c.report.Problems, fmt.Sprintf("%s is %s, want %s", what, g, w))
	}
}

type goldenText struct {
	HTML   string   `json:"html_latin1"`
	Lines  []string `json:"lines"`
	Tokens []string `json:"tokens"`
}

func (g goldenText) body() []byte { return latin1Bytes(g.HTML) }

// latin1Bytes turns a string whose characters stand for bytes into these bytes.
func latin1Bytes(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

func hexes(set []uint64, width int) []string {
	out := []string{}
	for _, x := range set {
		out = append(out, fmt.Sprintf("%0*x", width, x))
	}
	return out
}

func (c *goldenCheck) text() {
	for _, name := range slices.Sorted(maps.Keys(c.g.Text)) {
		want := c.g.Text[name]
		said := text.Extract(want.body())
		c.same("text "+name+": tokens", quoted(text.Tokens(said)), quoted(want.Tokens))
		c.values("text "+name+": lines", quoted(reference.Lines(said)), quoted(want.Lines))
	}
}

func quoted(list []string) string { return fmt.Sprintf("%q", append([]string{}, list...)) }

type goldenShingles struct {
	Hex    []string
	K      int
	Tokens []string
}

func (c *goldenCheck) shingles() {
	for _, s := range c.g.Shingles {
		c.same("shingles of "+strings.Join(s.Tokens, " "), hexes(goldenHashes(s.Tokens, s.K), 16),
			s.Hex)
	}
}

// goldenHashes is text.Shingles by the hash of the golden values: H of the tokens joined by one blank.
func goldenHashes(tokens []string, k int) hash.Set {
	if len(tokens) == 0 {
		return nil
	}
	k = min(max(k, 1), len(tokens))
	var out []uint64
	for i := 0; i+k <= len(tokens); i++ {
		out = append(out, hash.H(strings.Join(tokens[i:i+k], " ")))
	}
	return hash.NewSet(out)
}

type goldenOutcome struct {
	K              int
	Resemblance    float64
	Outcome        string
	Source, Target string // of the texts
}

func (c *goldenCheck) outcomes() {
	for _, o := range c.g.Outcome {
		what := "outcome of " + o.Source + " and " + o.Target
		source, target := c.g.Text[o.Source].body(), c.g.Text[o.Target].body()
		for _, shingles := range []func([]string, int) hash.Set{goldenHashes, text.Shingles} {
			r := hash.Resemblance(shingles(text.Tokens(text.Extract(source)), o.K),
				shingles(text.Tokens(text.Extract(target)), o.K))
			c.same(what+": resemblance", fmt.Sprintf("%.9f", r), fmt.Sprintf("%.9f", o.Resemblance))
		}
		got, _ := hosts.NewBody(source, true, true, o.K).Compare(hosts.NewBody(target, true, true, o.K))
		c.values(what, got, o.Outcome)
	}
}

type goldenChunks struct {
	Docs    map[string][]string
	Fps     map[string][]string
	Similar map[string][][2]string // by kind and threshold: "fixed4>15"
}

func (c *goldenCheck) chunks() {
	g := c.g.Chunks
	kinds := map[string]reference.Chunking{
		"fixed2": {Lines: 2},
		"fixed4": {},
		"cdc2":   {Lines: 2, ContentDefined: true},
		"cdc4":   {ContentDefined: true},
	}
	names := slices.Sorted(maps.Keys(g.Docs))
	for _, key := range slices.Sorted(maps.Keys(g.Fps)) {
		name, kind, _ := strings.Cut(key, "|")
		c.same("chunks of "+key, hexes(reference.Chunks(g.Docs[name], kinds[kind]), 8), g.Fps[key])
	}
	for _, what := range slices.Sorted(maps.Keys(g.Similar)) {
		kind, t, _ := strings.Cut(what, ">")
		threshold := 0
		if _, err := fmt.Sscan(t, &threshold); err != nil {
			c.same("threshold of "+what, err, nil)
			continue
		}
		got := [][2]string{}
		for i, a := range names {
			for _, b := range names[i+1:] {
				one, two := reference.Chunks(g.Docs[a], kinds[kind]), reference.Chunks(g.Docs[b], kinds[kind])
				if hash.Common(one, two) > threshold {
					got = append(got, [2]string{a, b})
				}
			}
		}
		c.same("similar by "+what, got, g.Similar[what])
	}
}

type goldenSketch struct {
	Sets            map[string][]int
	Minhash8, Oph16 map[string][]string
	Bands           [][2]string `json:"bands_4x4"`
}

func (c *goldenCheck) sketches() {
	g := c.g.Sketch
	names := slices.Sorted(maps.Keys(g.Sets))
	var sketches [][]uint64
	for _, name := range names {
		var set hash.Set
		for _, e := range g.Sets[name] {
			set = append(set, hash.H(fmt.Sprint("element ", e)))
		}
		set = hash.NewSet(set)
		bins := reference.OnePermutation(set, 16)
		sketches = append(sketches, bins)
		c.same("permutations of "+name, hexes(reference.Permutations(set, 8), 16), g.Minhash8[name])
		c.same("bins of "+name, hexes(bins, 16), g.Oph16[name])
	}
	if len(names) == 0 {
		return
	}
	got := [][2]string{}
	for _, p := range reference.Stars(sketches, 4) {
		got = append(got, [2]string{names[p[0]], names[p[1]]})
	}
	c.same("bands", got, g.Bands)
}

type goldenTrivial struct {
	Clusters [][]uint32
	Pages    int
	Pairs    [][2]uint32
}

func (c *goldenCheck) trivial() {
	g := c.g.Trivial
	if g.Pages <= 0 || g.Pages > 1<<20 {
		return
	}
	sets := unionfind.New(g.Pages)
	for _, p := range g.Pairs {
		if int(max(p[0], p[1])) < g.Pages {
			sets.Union(p[0], p[1])
		}
	}
	got := [][]uint32{}
	for _, members := range sets.All(1) {
		got = append(got, members)
	}
	c.same("trivial clusters", got, g.Clusters)
}
