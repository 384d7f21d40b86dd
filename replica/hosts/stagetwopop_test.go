// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Invented hosts, from their URLs to the level: what a mirror does to its pages decides.
func TestLevelsOfPopulations(t *testing.T) {
	const pages, words = 150, 120
	text := func(seed uint64, n int) string {
		r := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "w%d ", r.IntN(5000))
		}
		return b.String()
	}
	path := func(i int) string {
		if i == 0 {
			return "/"
		}
		return fmt.Sprintf("/manual/section%d/topic-%d.html", i%7, i)
	}
	original := func(i int) string { return "<html><body><p>" + text(uint64(i), words) + "</p></body></html>" }
	nav := "<p>" + text(99_999, 25) + "</p>"
	shop := "<p>" + text(77_777, 200) + "</p>"
	gone := ""
	for _, tc := range []struct {
		name string
		copy func(i int) string // of page i; "" when it is not there
		want Level
		good float64 // at least
	}{
		{"as it is", original, Level1, 1},
		{"reformatted", func(i int) string {
			return "<div>" + strings.ReplaceAll(text(uint64(i), words), " ", "\n<b></b>") + "</div>"
		}, Level2, 1},
		{"with a line on top", func(i int) string {
			return "<h1>mirror of the manual</h1>" + original(i)
		}, Level3, 1},
		{"half of the pages edited a little", func(i int) string {
			if i%2 == 0 {
				return original(i)
			}
			return strings.Replace(original(i), "w1", "changed", 2)
		}, Level3, 1},
		{"a part", func(i int) string {
			if i%7 < 3 {
				return gone
			}
			return original(i)
		}, Level4, 0.2},
		{"another front page", func(i int) string {
			if i == 0 {
				return "<p>welcome to this mirror of many things</p>"
			}
			return original(i)
		}, Level4, 0.9},
		{"another language, with the same frame", func(i int) string {
			return nav + "<p>" + text(uint64(i)+10_000, words) + "</p>"
		}, Mismatch, 0},
		{"another language, with the same frame and examples", func(i int) string {
			return nav + "<p>" + text(uint64(i)+10_000, words) + "</p><pre>" + text(uint64(i)+50_000, 20)
		}, Level5, 0},
		{"another shop with the same template", func(i int) string {
			return shop + "<p>" + text(uint64(i)+40_000, 60) + "</p>" + shop
		}, Mismatch, 0},
		{"cut off at 75 %", func(i int) string {
			return "<html><body><p>" + text(uint64(i), words)[:len(text(uint64(i), words))*3/4]
		}, Level4, 0},
		{"an eighth of the pages shortened", func(i int) string {
			if i%8 == 5 {
				return "<html><body><p>" + text(uint64(i), words*2/3)
			}
			return original(i)
		}, Level3, 0.8},
		{"another language", func(i int) string {
			return "<p>" + text(uint64(i)+20_000, words) + "</p>"
		}, Mismatch, 0},
		{"only the front page", func(i int) string {
			if i == 0 {
				return original(0)
			}
			return "<p>" + text(uint64(i)+30_000, words) + "</p>"
		}, Level4, 0.05},
		{"binary, as it is", func(i int) string { return "\x00" + text(uint64(i), words) }, Mismatch, 0},
	} {
		v := NewInventory(StageOne{})
		bodies := map[TestRequest]string{}
		for i := range pages {
			page := original(i)
			switch {
			case strings.Contains(tc.name, "shop"):
				page = shop + "<p>" + text(uint64(i), 60) + "</p>" + shop
			case strings.Contains(tc.name, "frame and examples"):
				page = nav + page + "<pre>" + text(uint64(i)+50_000, 20)
			case strings.Contains(tc.name, "same frame"):
				page = nav + page
			}
			bodies[TestRequest{"a.test", path(i)}] = page
			v.Add([]byte("a.test"), []byte(path(i)))
			if page := tc.copy(i); page != gone {
				bodies[TestRequest{"b.test", path(i)}] = page
				v.Add([]byte("b.test"), []byte(path(i)))
			}
		}
		for i := range 30 { // links that lead nowhere
			v.Add([]byte("a.test"), fmt.Appendf(nil, "/dead/link%d.html", i))
		}
		v.MinURLs = 50
		samples := v.Samples()
		if pairs := v.Pairs(); len(samples) != 2 || len(pairs) != 1 {
			t.Errorf("%s: %d hosts, candidates %v", tc.name, len(samples), pairs)
			continue
		}
		tests := StageTwo{}.Plan(samples[0], samples[1])
		answers := map[TestRequest]TestAnswer{}
		for _, ask := range Asks(tests) {
			answers[ask] = TestAnswer{Kind: GotFailure}
			if body, ok := bodies[ask]; ok {
				answers[ask] = TestAnswer{Kind: GotPage, Body: NewAnswer([]byte(body), true, true, 0, ask.Path)}
			}
		}
		got := StageTwo{}.Decide(tests, answers)
		if len(tests) != 19 || got.Level != tc.want || !got.Confident || got.Good < tc.good ||
			got.RootOnly != (tc.name == "only the front page") {
			t.Errorf("%s: level %v, confident %v, good %.2f of %d, root only %v; want level %v", tc.name, got.Level,
				got.Confident, got.Good, got.Answered, got.RootOnly, tc.want)
		}
		if got.Interchangeable() != (tc.want >= Level1 && tc.want <= Level3) {
			t.Errorf("%s: interchangeable %v", tc.name, got.Interchangeable())
		}
	}
}
