// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/hash"
	"mirrord/testing/replicatest"
)

// server answers as the hosts of a corpus do.
type server struct {
	bodies map[TestRequest]PageBody
	soft   map[string]PageBody
	dead   map[string]AnswerKind
	hosts  map[string]bool
}

func newServer(t testing.TB, c *replicatest.Corpus) *server {
	s := &server{
		bodies: map[TestRequest]PageBody{},
		soft:   map[string]PageBody{},
		dead:   map[string]AnswerKind{},
		hosts:  map[string]bool{},
	}
	made := map[string]PageBody{}
	for i := range c.Pages {
		p := &c.Pages[i]
		if _, ok := made[p.Blob]; !ok {
			made[p.Blob] = NewBody(c.Blobs[p.Blob], true, true, 0)
		}
		s.bodies[TestRequest{p.Host, p.Path}] = made[p.Blob]
		s.hosts[p.Host] = true
	}
	var sites struct {
		Sites map[string]struct {
			Dead    string
			Soft404 bool
		}
	}
	raw, err := os.ReadFile(filepath.Join(c.Dir, "sites.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &sites); err != nil {
		t.Fatal(err)
	}
	for host, what := range sites.Sites {
		switch {
		case what.Dead == "dns":
			s.dead[host] = NoAddress
		case what.Dead != "":
			s.dead[host] = NoAnswer
		case what.Soft404:
			s.soft[host] = NewBody(
				[]byte(
					"<h1>Welcome to "+host+
						"</h1><p>We are sorry, this page of our server is being moved and will be here again before long.</p>"),
				true, true, 0)
		}
	}
	return s
}

func (s *server) get(a TestRequest) TestAnswer {
	if kind, ok := s.dead[a.Host]; ok {
		return TestAnswer{Kind: kind}
	}
	if b, ok := s.bodies[a]; ok {
		return TestAnswer{Kind: GotPage, Body: b}
	}
	if b, ok := s.soft[a.Host]; ok {
		return TestAnswer{Kind: GotPage, Body: b}
	}
	return TestAnswer{Kind: GotFailure}
}

func (s *server) decide(a, b HostSample, guard bool) PairVerdict {
	tests := StageTwo{}.Plan(a, b)
	answers := map[TestRequest]TestAnswer{}
	for _, ask := range Asks(tests) {
		if guard || ask.Path != ProbePath(ask.Host) {
			answers[ask] = s.get(ask)
		}
	}
	return StageTwo{Paper: !guard}.Decide(tests, answers)
}

// Candidates by the paper's rule get the levels, and every test the outcome, that the independent
// implementation gave.
func TestPaperStageTwo(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	v := readInventory(t, c.Dir, StageOne{Paper: true})
	samples := map[string]HostSample{}
	for _, h := range v.Samples() {
		samples[h.Host] = h
	}
	s := newServer(t, c)
	wrong := 0
	for _, line := range replicatest.ReadLines(t, filepath.Join(c.Dir, "oracle-stage2.tsv")) {
		f := strings.Split(line, "\t")
		got := s.decide(samples[f[1]], samples[f[2]], false)
		var outcomes []string
		for _, test := range got.Tests {
			outcomes = append(outcomes, test.Outcome.String())
		}
		if keyOf(got.Level) != f[3] || strings.Join(outcomes, " ") != f[4] {
			if wrong++; wrong < 5 {
				t.Errorf("got %s %v, want %s", keyOf(got.Level), outcomes, line)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d lines differ", wrong)
	}
}

// What the tests say of the default candidates is what comparing all paths says.
func TestStageTwoAccuracy(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	v := readInventory(t, c.Dir, StageOne{})
	samples := map[string]HostSample{}
	for _, h := range v.Samples() {
		samples[h.Host] = h
	}
	s := newServer(t, c)
	truth := hostTruth(t, c.Dir)
	right, found, of, level := 0, 0, 0, 0
	for _, p := range v.Pairs() {
		k := pairKey(p.Host1, p.Host2)
		got := s.decide(samples[p.Host1], samples[p.Host2], true)
		if truth[k] != "" {
			of++
		}
		if got.Level.Mirrors() && !got.RootOnly {
			found++
			if truth[k] != "" {
				right++
				if truth[k] == keyOf(got.Level) {
					level++
				}
			} else {
				t.Logf("wrong: %s %s %v good %.2f answered %d root only %v", p.Host1, p.Host2, got.Level, got.Good,
					got.Answered, got.RootOnly)
			}
		} else if truth[k] != "" {
			t.Logf("missed: %s %s is %s: %v", p.Host1, p.Host2, truth[k], got.Level)
		}
	}
	precision, recall := float64(right)/float64(max(1, found)), float64(right)/float64(max(1, of))
	t.Logf("%d candidates that are mirrors, %d found: precision %.3f, recall %.3f, the same level %d", of, found,
		precision, recall, level)
	if precision < 0.98 || recall < 0.95 {
		t.Errorf("precision %.3f, recall %.3f; want 0.98 and 0.95", precision, recall)
	}
}

// A host that answers every request with a page that repeats the request has no pages, nor have two of them
// that say the same.
func TestPagesThatRepeatTheirPath(t *testing.T) {
	a, b := HostSample{
		Host:  "a.test",
		Paths: []string{"/old/news-of%20today.html", "/2", "/shop/3", "/4", "/5", "/6"},
	}, HostSample{Host: "b.test", Paths: []string{"/old/7", "/8"}}
	parked := func(ask TestRequest) string {
		return "<title>" + ask.Path + "</title><p>The domain you asked for may be for sale. Nothing is at " +
			ask.Path + " as of now, but there are many other offers: insurance, loans, holidays and flights."
	}
	genuine := func(ask TestRequest) string {
		return "<title>" + ask.Path + "</title><p>This is the story of " + ask.Path +
			" here, in words of its own: " + strings.Repeat(fmt.Sprintf("%x ", hash.H(ask.Path)), 20)
	}
	ask := func(f func(TestRequest) string) map[TestRequest]TestAnswer {
		out := map[TestRequest]TestAnswer{}
		for _, x := range Asks(StageTwo{}.Plan(a, b)) {
			path := strings.ReplaceAll(x.Path, "%20", " ")
			out[x] = TestAnswer{
				Kind: GotPage,
				Body: NewAnswer([]byte(f(TestRequest{x.Host, path})), true, true, 0, x.Path),
			}
		}
		return out
	}
	if v := (StageTwo{}).Decide(StageTwo{}.Plan(a, b), ask(parked)); v.Level != NoInformation || v.Soft == 0 {
		t.Errorf("parked: %+v", v)
	}
	if v := (StageTwo{}).Decide(StageTwo{}.Plan(a, b), ask(genuine)); v.Level != Level1 || !v.Confident ||
		v.Soft > 0 {
		t.Errorf("real: %v, confident %v, %d counted as failures", v.Level, v.Confident, v.Soft)
	}
	one := func(ask TestRequest) string {
		if ask.Host == "b.test" {
			return parked(ask)
		}
		return genuine(ask)
	}
	if v := (StageTwo{}).Decide(StageTwo{}.Plan(a, b), ask(one)); v.Level != Mismatch {
		t.Errorf("real and parked: %v", v.Level)
	}
	echo := func(ask TestRequest) string { return ask.Path }
	if v := (StageTwo{}).Decide(StageTwo{}.Plan(a, b), ask(echo)); v.Level != NoInformation {
		t.Errorf("nothing but the path: %v", v.Level)
	}
}

func page(words string) TestAnswer {
	return TestAnswer{Kind: GotPage, Body: NewBody([]byte("<p>"+words), true, true, 3)}
}

func TestDecide(t *testing.T) {
	a, b := HostSample{Host: "a.test", Paths: []string{"/", "/1", "/2", "/3", "/4", "/5"}},
		HostSample{Host: "b.test", Paths: []string{"/1", "/6"}}
	tests := StageTwo{}.Plan(a, b)
	if len(tests) != 1+5+2 {
		t.Fatalf("%d tests", len(tests))
	}
	all := func(f func(TestRequest) TestAnswer) map[TestRequest]TestAnswer {
		out := map[TestRequest]TestAnswer{}
		for _, ask := range Asks(tests) {
			if ask.Path == ProbePath(ask.Host) {
				out[ask] = TestAnswer{Kind: GotFailure}
			}
			if r := f(ask); r.Kind != 0 {
				out[ask] = r
			}
		}
		return out
	}
	genuine := func(ask TestRequest) TestAnswer {
		if len(ask.Path) > 5 {
			return TestAnswer{}
		}
		return page("the story of " + strings.Repeat(ask.Path+" ", 3))
	}
	for _, tc := range []struct {
		name string
		get  func(TestRequest) TestAnswer
		want string
	}{
		{"equal", genuine, "1 confident 8 good 1.0"},
		{"all answered with one page", func(TestRequest) TestAnswer {
			return page("welcome to this server, which has everything")
		}, "no information 0 good 0.0"},
		{"one answers all", func(ask TestRequest) TestAnswer {
			if ask.Host == "b.test" {
				return page("welcome to this server, which has everything")
			}
			return genuine(ask)
		}, "mismatch confident 6 good 0.0"},
		{"forbidden", func(ask TestRequest) TestAnswer {
			if ask.Path != "/1" {
				return TestAnswer{Kind: Disallowed}
			}
			return genuine(ask)
		}, "1 2 good 1.0"},
		{"all forbidden", func(TestRequest) TestAnswer {
			return TestAnswer{Kind: Disallowed}
		}, "no information 0 good 0.0"},
		{"only the root", func(ask TestRequest) TestAnswer {
			if ask.Path == "/" || (ask.Host == "a.test" && len(ask.Path) < 5) {
				return genuine(ask)
			}
			return TestAnswer{Kind: GotFailure}
		}, "4 root only confident 6 good 0.2"},
		{"no such host", func(ask TestRequest) TestAnswer {
			if ask.Host == "b.test" {
				return TestAnswer{Kind: NoAddress}
			}
			return genuine(ask)
		}, "DNS failure 0 good 0.0"},
		{"silent host", func(ask TestRequest) TestAnswer {
			if ask.Host == "a.test" {
				return TestAnswer{Kind: NoAnswer}
			}
			return genuine(ask)
		}, "server failure 0 good 0.0"},
		{"one redirects to the other", func(ask TestRequest) TestAnswer {
			r := genuine(ask)
			r.Other = r.Kind != 0 && ask.Host == "b.test"
			return r
		}, "1 alias confident 8 good 1.0"},
		{"both lead to a third", func(ask TestRequest) TestAnswer {
			r := genuine(ask)
			r.At = "https://c.test" + ask.Path
			return r
		}, "1 alias confident 8 good 1.0"},
		{"each has its own", func(ask TestRequest) TestAnswer {
			r := genuine(ask)
			r.At = "https://" + ask.Host + ask.Path
			return r
		}, "1 confident 8 good 1.0"},
		{"one page of one redirects to the other", func(ask TestRequest) TestAnswer {
			r := genuine(ask)
			r.Other = ask.Host == "b.test" && ask.Path == "/2"
			return r
		}, "1 confident 8 good 1.0"},
		{"a host that answers for what cannot exist only", func(ask TestRequest) TestAnswer {
			if ask.Host == "b.test" && ask.Path != ProbePath("b.test") {
				return TestAnswer{Kind: NoAnswer}
			}
			return genuine(ask)
		}, "mismatch confident 6 good 0.0"},
		{"everything fails", func(TestRequest) TestAnswer {
			return TestAnswer{Kind: GotFailure}
		}, "no information 0 good 0.0"},
		{"nothing was asked", func(TestRequest) TestAnswer { return TestAnswer{} }, "no information 0 good 0.0"},
	} {
		v := StageTwo{}.Decide(tests, all(tc.get))
		got := v.Level.String()
		if v.RootOnly {
			got += " root only"
		}
		if v.Alias {
			got += " alias"
		}
		if v.Confident {
			got += " confident"
		}
		if got += fmt.Sprintf(" %d good %.1f", v.Answered, v.Good); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if v.Interchangeable() != strings.HasPrefix(tc.want, "1 confident") {
			t.Errorf("%s: interchangeable %v", tc.name, v.Interchangeable())
		}
	}
	if got := (StageTwo{}).Decide(nil, nil); got.Level != NoInformation || got.Confident {
		t.Errorf("no tests: %+v", got)
	}
	picture := PageBody{sum: [32]byte{1}}
	if o, _ := picture.Compare(PageBody{sum: [32]byte{2}}); o != NotSimilar {
		t.Errorf("two pictures: %v", o)
	}
	if !slices.Equal(StageTwo{}.TestedPaths(a), StageTwo{}.TestedPaths(HostSample{
		Host:  "a.test",
		Paths: []string{"/5", "/4", "/3", "/2", "/1"},
	})) {
		t.Error("the order of the sample decides the tests")
	}
}

// Any response to any path is like itself.
func FuzzNewAnswer(f *testing.F) {
	for _, s := range [][2]string{
		{"", ""}, {"/a/b%20c.html", "<p>nothing at /a/b c.html"}, {"%", "%"}, {"/a-a-a", "a a a a a"},
		{"/\xff?q=/x", "\xffq x"}, {"no slash", "<title>no slash"}, {"0", "\xff\xfe"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		a := NewAnswer([]byte(body), true, true, 3, path)
		if o, r := a.Compare(NewBody([]byte(body), true, true, 3)); o != FullMatch || r != 1 {
			t.Errorf("%v, %v", o, r)
		}
		if !a.Alike(a) {
			t.Errorf("%q at %q is not like itself", body, path)
		}
		// a space before a byte order mark hides it
		marked := strings.HasPrefix(body, "\xff\xfe") || strings.HasPrefix(body, "\xfe\xff")
		if a.text && !marked && !a.Alike(NewAnswer([]byte(" "+body+" "), true, true, 3, path)) {
			t.Errorf("%q at %q is not like itself between spaces", body, path)
		}
	})
}

// keyOf is how files of expected values write a level.
func keyOf(l Level) string {
	switch l {
	case NoInformation:
		return "noinfo"
	case DNSFailure, ServerFailure, Mismatch:
		return strings.ToLower(strings.ReplaceAll(l.String(), " ", "-"))
	}
	return "L" + l.String()
}
