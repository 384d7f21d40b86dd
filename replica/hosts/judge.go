// SPDX-License-Identifier: Apache-2.0

package hosts

// judge gives the tests of a pair of hosts their outcomes.
type judge struct {
	guards
	v *PairVerdict // counts failures, parts of pages, and aliases
}

// test runs one test on the answers; false when robots.txt forbids it.
func (j *judge) test(t *Test) bool {
	source, sourceOK := j.got(t.Source, t.Path)
	target, targetOK := j.got(t.Target, t.Path)
	switch {
	case source.Kind == Disallowed || target.Kind == Disallowed:
		return false
	case !sourceOK:
		t.Outcome = SourceFailed
	case !targetOK:
		t.Outcome = TargetFailed
		j.v.Lacks[j.side(t.Target)]++
	default:
		j.v.Words[j.side(t.Source)] += len(source.Body.shingles)
		j.v.Words[j.side(t.Target)] += len(target.Body.shingles)
		t.Outcome, t.Resemblance = source.Body.Compare(target.Body)
		if !j.Paper && (t.Outcome == HighSimilar || t.Outcome == TraceSimilar) {
			j.beyondTemplate(t, source, target)
		}
	}
	if t.Outcome > TargetFailed &&
		(source.Other != target.Other || (source.At != "" && source.At == target.At)) {
		j.v.Aliases++
	}
	return true
}

// got returns the answer for a path of a host, and whether it is a page.
func (j *judge) got(host, path string) (TestAnswer, bool) {
	a := j.answers[TestRequest{host, path}]
	if a.Kind != GotPage {
		return a, false
	}
	if j.guards.likeness(host, a) >= softAlike {
		j.v.Soft++
		return a, false
	}
	return a, true
}

// beyondTemplate judges two pages that resemble one another by what they say beyond their template.
func (j *judge) beyondTemplate(t *Test, source, target TestAnswer) {
	if t.Outcome == HighSimilar {
		switch {
		case j.explained(t.Source, source, t.Resemblance):
			t.Outcome, t.Resemblance = SourceFailed, 0
			j.v.Soft++
			return
		case j.explained(t.Target, target, t.Resemblance):
			t.Outcome, t.Resemblance = TargetFailed, 0
			j.v.Soft++
			return
		}
	}
	template := j.template(*t)
	kin := Unlike
	if t.Outcome == HighSimilar || source.Body.mostly(target.Body) {
		kin = source.Body.Kin(target.Body, template, highAlike)
	}
	switch {
	case kin == Cut:
		t.Outcome = PartSimilar
		j.v.Cut[j.side(t.Target)]++
	case kin == Grown:
		t.Outcome = PartSimilar
		j.v.Cut[j.side(t.Source)]++
	case t.Outcome == HighSimilar && kin == Empty:
		t.Outcome, t.Resemblance = SourceFailed, 0
		j.v.Soft++
	case kin != Alike && source.Body.hasTrace(target.Body, template):
		t.Outcome = TraceSimilar
	case kin != Alike:
		t.Outcome = NotSimilar
	}
}

// side is 0 for the first host and 1 for the second.
func (j *judge) side(host string) int {
	if host == j.v.Host1 {
		return 0
	}
	return 1
}
