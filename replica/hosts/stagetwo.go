// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mirrord/replica/hash"
)

// TestOutcome is what one test of a pair of hosts showed (Bharat, Broder, section 3.2).
type TestOutcome uint8

const (
	SourceFailed TestOutcome = iota + 1 // SF: the page could not be had where it was known
	TargetFailed                        // TF: nor on the other host
	FullMatch                           // FM: the same bytes
	FullSimilar                         // FS: the same shingles
	HighSimilar                         // HS: at least half of them
	TraceSimilar                        // TS: some
	NotSimilar                          // NS: none
	// PT: one of the two is cut off, or has a part of what the other says and nothing else. Not in the paper.
	PartSimilar
)

// isGood says whether both have the same page, or nearly.
func (o TestOutcome) isGood() bool { return o >= FullMatch && o <= HighSimilar }

func (o TestOutcome) String() string {
	return [...]string{"", "SF", "TF", "FM", "FS", "HS", "TS", "NS", "PT"}[o]
}

// Level says how far two hosts are mirrors.
type Level uint8

const (
	NoInformation Level = iota // every source failed: nothing is known
	DNSFailure                 // a host has no address
	ServerFailure              // a host answered nothing at all
	Mismatch
	Level1 // structural and content identity
	Level2 // full equivalence of content
	Level3 // high similarity
	Level4 // partly the same: some paths are
	Level5 // structural similarity, related content: translations, say
)

func (l Level) String() string {
	return [...]string{"no information", "DNS failure", "server failure", "mismatch", "1", "2", "3", "4", "5"}[l]
}

// Mirrors says whether the level is one of 1 to 5.
func (l Level) Mirrors() bool { return l >= Level1 }

// Classify gives the level of a pair by the outcomes of its tests, the first that fits; levels 4 and 5 are
// each other's equals, and 4 wins.
func Classify(outcomes []TestOutcome) Level {
	var has [PartSimilar + 1]bool
	for _, o := range outcomes {
		has[o] = true
	}
	good := has[FullMatch] || has[FullSimilar] || has[HighSimilar]
	only := !has[TargetFailed] && !has[TraceSimilar] && !has[NotSimilar] && !has[PartSimilar]
	switch {
	case only && !good:
		return NoInformation
	case only && !has[HighSimilar] && !has[FullSimilar]:
		return Level1
	case only && !has[HighSimilar]:
		return Level2
	case only:
		return Level3
	case good, has[PartSimilar]:
		return Level4 // also of FS and TF alone, for which the paper has no row
	case has[TraceSimilar] && !has[TargetFailed]:
		return Level5
	}
	return Mismatch
}

// TestedFor is how long the verdict on a pair is valid.
const TestedFor = 30 * 24 * time.Hour

// MaxCompared bounds a body that is compared, in bytes.
const MaxCompared = 16 << 20

// AnswerKind says what a GET came to.
type AnswerKind uint8

const (
	GotPage    AnswerKind = iota + 1 // 2xx, after at most 5 redirects
	GotFailure                       // an answer, but no page
	NoAnswer                         // no connection, or nothing said in time
	NoAddress                        // the host's name leads nowhere
	Disallowed                       // robots.txt forbids it, so nothing was requested
)

// TestAnswer is what a GET of a path of a host came to.
type TestAnswer struct {
	Kind  AnswerKind
	Body  PageBody // of GotPage
	Other bool     // a redirect to the other host of the pair
	At    string   // where the body lay in the end, after redirects; "" when that is not known
}

// TestRequest is a path of a host to get.
type TestRequest struct{ Host, Path string }

// Test is one of a pair: whether a path of the source is on the target.
type Test struct {
	Source, Target, Path string
	Outcome              TestOutcome
	Resemblance          float64 // of the texts; 1 of a full match
}

// StageTwo are the rules by which pairs of hosts are tested, and the tests judged (Bharat, Broder, section
// 3.2). The zero value is the rule that mirrord uses; Paper is the paper's.
type StageTwo struct {
	// level 5 by the letter, where one page that is missing makes related hosts a mismatch; else a lag may be
	// missing
	Paper bool
}

// The numbers of stage II.
const (
	testedPaths = 9   // of each host
	highAlike   = 0.5 // least resemblance of highly similar pages, also without the template of their host
	softAlike   = 0.9 // resemblance from which an answer is the one to a path that does not exist
	enoughTests = 5   // with an answer, that make a level one that can be relied on
	// share of the tests that may find nothing on the target and yet let a pair be of level 5, when half of all
	// show a trace, and of those that may find a part of a page and yet let it be of level 3
	lag = 0.2
)

// TestedPaths are the paths of a host that its tests take: those of its sample for which H(host NUL path) is
// least, "/" left out.
func (o StageTwo) TestedPaths(h HostSample) []string {
	paths := slices.DeleteFunc(slices.Clone(h.Paths), func(p string) bool { return p == "/" })
	order := make(map[string]uint64, len(paths))
	for _, p := range paths {
		order[p] = hash.H(h.Host + "\x00" + p)
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(order[a], order[b]) })
	return paths[:min(len(paths), testedPaths)]
}

// Plan lists the tests of a pair: "/", paths of the first host on the second, and the reverse. A path of both
// is tested both ways.
func (o StageTwo) Plan(a, b HostSample) []Test {
	tests := []Test{{Source: a.Host, Target: b.Host, Path: "/"}}
	for _, p := range o.TestedPaths(a) {
		tests = append(tests, Test{Source: a.Host, Target: b.Host, Path: p})
	}
	for _, p := range o.TestedPaths(b) {
		tests = append(tests, Test{Source: b.Host, Target: a.Host, Path: p})
	}
	return tests
}

// Asks lists what must be got for tests, each once, in their order: the paths on both hosts, and one path of
// each that no host has.
func Asks(tests []Test) []TestRequest {
	var out []TestRequest
	seen := map[TestRequest]bool{}
	add := func(a TestRequest) {
		if !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	for _, t := range tests {
		for _, host := range []string{t.Source, t.Target} {
			add(TestRequest{host, ProbePath(host)})
		}
	}
	for _, t := range tests {
		add(TestRequest{t.Source, t.Path})
		add(TestRequest{t.Target, t.Path})
	}
	return out
}

// Around lists paths of the sample of a host that lie around those that tests get of it. Answers to them cost
// requests, and are not needed; where they are at hand, Decide knows the template of each part of the host.
func Around(h HostSample, tests []Test) []TestRequest {
	tested := map[string]bool{"/": true}
	for _, t := range tests {
		tested[t.Path] = true
	}
	var out []TestRequest
	had := map[string]bool{}
	for _, t := range tests {
		n := 0
		at, _ := slices.BinarySearch(h.Paths, t.Path)
		for _, i := range []int{at - 1, at + 1, at - 2, at + 2, at, at + 3} {
			if n == templateLeast || i < 0 || i >= len(h.Paths) || tested[h.Paths[i]] {
				continue
			}
			n++
			if p := h.Paths[i]; !had[p] {
				had[p] = true
				out = append(out, TestRequest{h.Host, p})
			}
		}
	}
	return out
}

// ProbePath is a path that no host has unless it has all: a response like that to it is no page.
func ProbePath(host string) string { return fmt.Sprintf("/%016x.html", hash.H("probe "+host)) }

// PairVerdict is what the tests of a pair of hosts came to.
type PairVerdict struct {
	Host1, Host2 string
	Level        Level
	Tests        []Test // without those that robots.txt forbids

	Answered int // tests whose source was had
	// the share of them that is FM, FS or HS; mirrors with a page of their own, or late, are found by it
	Good float64
	// enough were had, of more than one page, and both hosts said what they answer to a path that does not
	// exist; with Paper: enough were had
	Confident bool
	RootOnly  bool // level 4, and nothing but "/" is alike: a parked host, or a server just installed
	// responses that counted as failures because they are like the answer to a path that no host has, or say
	// nothing but their template
	Soft int
	// tests in which the page of the first host, or of the second, lacks a part of what the other's says
	Cut [2]int
	// tests in which the first host, or the second, lacks the page
	Lacks [2]int
	// words of the pages that both have, by host, roughly
	Words [2]int
	// tests in which one host gave both answers, because the other redirected to it, or both to a third
	Aliases int
	Alias   bool // more than half of those with an answer: one host by two names, which cannot stand for itself
}

// Equal lists the paths that were verified to be the same on both hosts: the same bytes, or the same words.
func (v *PairVerdict) Equal() []string {
	out := []string{}
	for _, t := range v.Tests {
		same := t.Outcome == FullMatch || t.Outcome == FullSimilar
		if same && !slices.Contains(out, t.Path) {
			out = append(out, t.Path)
		}
	}
	return out
}

// Interchangeable says whether one host may stand for the other: levels 1 to 3, confident, and not the same
// host.
func (v *PairVerdict) Interchangeable() bool {
	return v.Level >= Level1 && v.Level <= Level3 && v.Confident && !v.Alias
}

// Decide runs the tests of a pair on the answers to what Asks lists; an answer that is missing counts as
// none.
func (o StageTwo) Decide(tests []Test, answers map[TestRequest]TestAnswer) PairVerdict {
	v := PairVerdict{}
	if len(tests) == 0 {
		return v
	}
	v.Host1, v.Host2 = tests[0].Source, tests[0].Target
	for _, host := range []string{v.Host1, v.Host2} {
		if l := hostFailure(host, tests, answers); l != NoInformation {
			v.Level = l
			return v
		}
	}
	j := &judge{guards: guards{StageTwo: o, answers: answers, pages: map[string][]hostPage{}}, v: &v}
	var outcomes []TestOutcome
	count := map[TestOutcome]int{}
	goodRoot := 0
	for _, t := range tests {
		if !j.test(&t) {
			continue
		}
		count[t.Outcome]++
		if t.Path == "/" && t.Outcome.isGood() {
			goodRoot++
		}
		v.Tests = append(v.Tests, t)
		outcomes = append(outcomes, t.Outcome)
	}
	v.Answered = len(v.Tests) - count[SourceFailed]
	late := float64(count[PartSimilar]) <= lag*float64(v.Answered)
	if late { // pages that one of the two has since, or no more
		for i := range outcomes {
			if outcomes[i] == PartSimilar {
				outcomes[i] = HighSimilar
			}
		}
	}
	v.Level = Classify(outcomes)
	good := count[FullMatch] + count[FullSimilar] + count[HighSimilar]
	if v.Answered > 0 {
		v.Good = float64(good) / float64(v.Answered)
	}
	onePage := !o.Paper && j.onePage(v.Tests)
	v.Confident = v.Answered >= enoughTests &&
		(o.Paper || (j.probed(v.Host1) && j.probed(v.Host2) && !onePage))
	v.Alias = 2*v.Aliases > v.Answered
	if !o.Paper && v.Level == Mismatch && 2*count[TraceSimilar] >= v.Answered &&
		float64(count[TargetFailed]) <= lag*float64(v.Answered) {
		v.Level = Level5
	}
	// what has one page at all paths has it at one path of the other host, too
	if onePage && (v.Level == Level4 || v.Level == Level5) {
		v.Level = Mismatch
	}
	v.RootOnly = v.Level == Level4 && good > 0 && good == goodRoot && count[PartSimilar] == 0
	return v
}

// hostFailure says why a host answered no request; NoInformation when it answered one or none was made.
func hostFailure(host string, tests []Test, answers map[TestRequest]TestAnswer) Level {
	asked, noAddress := 0, 0
	paths := []string{ProbePath(host)}
	for _, t := range tests {
		paths = append(paths, t.Path)
	}
	for _, path := range paths {
		switch answers[TestRequest{host, path}].Kind {
		case NoAddress:
			noAddress++
			asked++
		case NoAnswer:
			asked++
		case GotPage, GotFailure:
			return NoInformation
		}
	}
	switch {
	case asked == 0:
		return NoInformation
	case noAddress > 0:
		return DNSFailure
	}
	return ServerFailure
}
