// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/replica/hash"
)

// Hosts that answer every request are no mirrors, however they do it.
func TestHostsThatAnswerAll(t *testing.T) {
	var paths []string
	for i := range 12 {
		paths = append(paths, fmt.Sprintf("/docs/page%d", i))
	}
	a, b := HostSample{Host: "a.test", Paths: paths}, HostSample{Host: "b.test", Paths: paths}
	tests := StageTwo{}.Plan(a, b)
	n := 0
	words := func(many int) string {
		var out strings.Builder
		for range many {
			n++
			fmt.Fprintf(&out, "w%x ", hash.Mix(uint64(n)))
		}
		return out.String()
	}
	text := "<title>Welcome</title>" + words(100)
	decide := func(get func(TestRequest) TestAnswer) PairVerdict {
		answers := map[TestRequest]TestAnswer{}
		for _, ask := range Asks(tests) {
			answers[ask] = get(ask)
		}
		return StageTwo{}.Decide(tests, answers)
	}
	give := func(ask TestRequest, body string) TestAnswer {
		return TestAnswer{Kind: GotPage, Body: NewAnswer([]byte(body), true, true, 0, ask.Path)}
	}
	isProbe := func(ask TestRequest) bool { return ask.Path == ProbePath(ask.Host) }
	for name, get := range map[string]func(TestRequest) TestAnswer{
		"a number in every answer": func(ask TestRequest) TestAnswer { return give(ask, text+words(1)+text) },
		"some words in every one":  func(ask TestRequest) TestAnswer { return give(ask, text+words(5+n%20)) },
		"all but what ends in html": func(ask TestRequest) TestAnswer {
			if isProbe(ask) {
				return TestAnswer{Kind: GotFailure}
			}
			return give(ask, text)
		},
		"the same with the path": func(ask TestRequest) TestAnswer {
			if isProbe(ask) {
				return TestAnswer{Kind: GotFailure}
			}
			return give(ask, text+" at "+ask.Path)
		},
		"no text but scripts": func(ask TestRequest) TestAnswer {
			if isProbe(ask) {
				return TestAnswer{Kind: GotFailure}
			}
			return give(ask, "<script>"+words(9)+"</script><div></div>")
		},
		"what cannot exist is forbidden": func(ask TestRequest) TestAnswer {
			if isProbe(ask) {
				return TestAnswer{Kind: Disallowed}
			}
			return give(ask, text+strings.Repeat(fmt.Sprintf("%x ", hash.H(ask.Path)), 50))
		},
		"no answer to a path that cannot exist": func(ask TestRequest) TestAnswer {
			if isProbe(ask) {
				return TestAnswer{Kind: NoAnswer}
			}
			return give(ask, text+strings.Repeat(fmt.Sprintf("%x ", hash.H(ask.Path)), 50))
		},
	} {
		if v := decide(get); v.Interchangeable() {
			t.Errorf("%s: level %v, confident, %d answers, good %.2f, %d counted as failures", name, v.Level,
				v.Answered, v.Good, v.Soft)
		}
	}
	// Pages that share much with an error page of their host, and all but a few words with one another, are
	// pages.
	v := decide(func(ask TestRequest) TestAnswer {
		if isProbe(ask) {
			return give(ask, text+"There is no such page.")
		}
		return give(ask, "<p>"+ask.Host+" mirrors</p>"+text+strings.Repeat(fmt.Sprintf("%x ", hash.H(ask.Path)),
			20)+fmt.Sprintf("%x of %x ", hash.H(ask.Path+"1"), hash.H(ask.Path+"2")))
	})
	if v.Level != Level3 || !v.Interchangeable() {
		t.Errorf("pages of one template: level %v, confident %v, %d answers", v.Level, v.Confident, v.Answered)
	}
}
