// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"math"
	"testing"
)

// A host is considered from the hundredth unique URL on; avoided URLs, and queries, count.
func TestFewestURLs(t *testing.T) {
	for _, paper := range []bool{true, false} {
		v := NewInventory(StageOne{Paper: paper})
		for i := range 99 {
			for range 2 {
				v.Add([]byte("a.test"), fmt.Appendf(nil, "/nph-x?%d", i))
			}
		}
		if s := v.Samples(); len(s) != 0 {
			t.Errorf("paper %v: 99 URLs: %+v", paper, s)
		}
		v.Add([]byte("a.test"), []byte("/"))
		if s := v.Samples(); len(s) != 1 || s[0].URLs != 100 || len(s[0].Paths) > 1 {
			t.Errorf("paper %v: 100 URLs: %+v", paper, s)
		}
	}
}

// Pairs by both rules of stage I.
func TestStageOneOptions(t *testing.T) {
	pair := func(o StageOne) (out []HostPair) {
		o.MinURLs = 10
		v := NewInventory(o)
		for i := range 30 {
			for _, host := range []string{"www.alpha.test", "ftp.alpha.test"} {
				v.Add([]byte(host), fmt.Appendf(nil, "/music/old/x%d.html", i))
			}
		}
		return v.Pairs()
	}
	// In common: the bigram of the hosts, and two of paths, on two hosts each; all samples have the features.
	for _, tc := range []struct {
		o                   StageOne
		pairs, shared, path int
		raw                 float64
		size                float64
	}{
		{StageOne{Paper: true}, 1, 3, 2, 4./2 + 2./2, 0.1},
		{StageOne{}, 1, 3, 2, 3 + 5, 0.1},
	} {
		got := pair(tc.o)
		if len(got) != tc.pairs {
			t.Errorf("%+v: %d pairs, want %d", tc.o, len(got), tc.pairs)
			continue
		}
		if len(got) == 0 {
			continue
		}
		if p, score := got[0], tc.raw/(1+tc.size*2*math.Log(30)); p.Shared != tc.shared ||
			p.SharedPaths != tc.path || math.Abs(p.Raw-tc.raw) > 1e-9 || math.Abs(p.Score-score) > 1e-9 {
			t.Errorf("%+v: %+v, want %d and %d shared, raw %v, score %v", tc.o, p, tc.shared, tc.path, tc.raw, score)
		}
	}
}

// Empty texts are equal to each other and to nothing else.
func TestEmptyTexts(t *testing.T) {
	html := func(s string) PageBody { return NewBody([]byte(s), true, true, 0) }
	for _, tc := range []struct {
		a, b PageBody
		want TestOutcome
	}{
		{html(""), html(""), FullMatch},
		{html("<p></p>"), html("<div> </div>"), FullSimilar},
		{html("<p></p>"), html("<p>words</p>"), NotSimilar},
		{html("<p>some words</p>"), html("<b>Some</b> words"), FullSimilar},
		{NewBody([]byte("words"), false, false, 0), NewBody([]byte("words "), false, false, 0), NotSimilar},
		{NewBody([]byte("words"), false, false, 0), html("words"), FullMatch},
	} {
		if got, _ := tc.a.Compare(tc.b); got != tc.want {
			t.Errorf("got %v, want %v", got, tc.want)
		}
		if got, _ := tc.b.Compare(tc.a); got != tc.want {
			t.Errorf("the other way: got %v, want %v", got, tc.want)
		}
	}
}

// Stage II tests "/", all paths of hosts with few, and of others so many.
func TestStageTwoPlan(t *testing.T) {
	a, b := HostSample{
		Host:  "a.test",
		Paths: []string{"/1", "/2", "/3", "/4"},
	}, HostSample{Host: "b.test", Paths: []string{"/1", "/5"}}
	if n := len(StageTwo{}.Plan(a, b)); n != 1+4+2 {
		t.Errorf("%d tests", n)
	}
	for i := range 2 * testedPaths {
		a.Paths = append(a.Paths, fmt.Sprintf("/more/%d", i))
	}
	if n := len(StageTwo{}.Plan(a, b)); n != 1+testedPaths+2 {
		t.Errorf("%d tests", n)
	}
}
