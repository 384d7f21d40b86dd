// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"mirrord/replica/hosts"
	"mirrord/replica/text"
)

// Hosts of which another node has the pages are tested by digests, which say whether two pages have the same
// words and how far they resemble one another, and not what of it is template. So a level that rests on
// resemblance is never a sure one.

// saidOnly reports whether of a page of a test only the digest is known.
func saidOnly(needed []hosts.TestRequest, files map[hosts.TestRequest]replicaFile) bool {
	for _, ask := range needed {
		if files[ask].said != nil {
			return true
		}
	}
	return false
}

// hostsByDigests tests two hosts; ok is false when they are no mirrors.
func hostsByDigests(
	p hosts.HostPair, tests []hosts.Test, files map[hosts.TestRequest]replicaFile, known [2]int,
) (h ReplicaHosts, ok bool, err error) {
	v := hosts.PairVerdict{Host1: p.Host1, Host2: p.Host2, Tests: tests}
	sketcher := text.NewSketcher(text.SketchOptions{})
	pages := map[hosts.TestRequest]*text.ContentDigest{}
	digest := func(ask hosts.TestRequest) (*text.ContentDigest, error) {
		if d, had := pages[ask]; had {
			return d, nil
		}
		d, err := files[ask].digest(sketcher)
		pages[ask] = d
		return d, err
	}
	outcomes := make([]hosts.TestOutcome, 0, len(tests))
	good, alike, roots := 0, 0, 0
	texts := map[uint64]int{}
	for i := range tests {
		t := &tests[i]
		from, err := digest(hosts.TestRequest{Host: t.Source, Path: t.Path})
		if err != nil {
			return h, false, err
		}
		to, err := digest(hosts.TestRequest{Host: t.Target, Path: t.Path})
		if err != nil {
			return h, false, err
		}
		t.Outcome, t.Resemblance = outcomeOf(from, to)
		outcomes = append(outcomes, t.Outcome)
		if t.Outcome == hosts.SourceFailed {
			continue
		}
		v.Answered++
		texts[from.Text]++
		switch t.Outcome {
		case hosts.HighSimilar:
			alike++
			good++
		case hosts.FullSimilar:
			good++
			if t.Path == "/" {
				roots++
			}
		}
	}
	if v.Level = hosts.Classify(outcomes); !v.Level.Mirrors() {
		return h, false, nil
	}
	most := 0
	for _, n := range texts {
		most = max(most, n)
	}
	v.Good = float64(good) / float64(max(v.Answered, 1))
	v.Confident = alike == 0 && good >= enoughByDigests && 2*most <= v.Answered
	v.RootOnly = v.Level == hosts.Level4 && good == roots
	h = hostsOf(p, &v, known)
	h.ByDigests = true
	if !v.Confident {
		h.Suggestion = "another node has one of them, and digests do not tell: only a test over the network does"
	}
	return h, true, nil
}

// enoughByDigests is how many pages with the same words make a level one that can be relied on.
const enoughByDigests = 5

// outcomeOf compares two pages; nil is one that is missing.
func outcomeOf(from, to *text.ContentDigest) (hosts.TestOutcome, float64) {
	switch {
	case from == nil:
		return hosts.SourceFailed, 0
	case to == nil:
		return hosts.TargetFailed, 0
	case from.Words == 0 || to.Words == 0:
		return hosts.NotSimilar, 0
	case from.Text == to.Text && from.Words == to.Words:
		return hosts.FullSimilar, 1
	}
	r := from.Sketch.Resemblance(&to.Sketch)
	switch {
	case r >= 0.5:
		return hosts.HighSimilar, r
	case r >= 0.1: // twice the error of the estimate
		return hosts.TraceSimilar, r
	}
	return hosts.NotSimilar, r
}

// digest is the digest of a page's text; nil without one.
func (f replicaFile) digest(sketcher *text.Sketcher) (*text.ContentDigest, error) {
	if f.said != nil || f.fsys == nil {
		return f.said, nil
	}
	body, err := f.read()
	if err != nil || !f.isPage(body) {
		return nil, err
	}
	var d text.ContentDigest
	if f.html {
		d = sketcher.HTML(body)
	} else {
		d = sketcher.Plain(body)
	}
	return &d, nil
}
