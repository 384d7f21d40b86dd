// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/job"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

type admission struct {
	*Admission
	*HostAdmission
	urls.KnownURLs
	front *Frontier
	first bool
}

func newTestAdmission(t *testing.T, more ...string) *admission {
	t.Helper()
	text := "url = \"http://h/\"\nlimits.max_depth = 2\n" + strings.Join(more, "\n")
	j, err := job.Parse("j", "j.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := scope.Compile(j)
	if err != nil {
		t.Fatal(err)
	}
	x := &admission{KnownURLs: urls.KnownURLs{Table: urls.New()}, front: NewFrontier(openGate{}, Ordering{})}
	x.HostAdmission = NewHostAdmission(x.Table, x.front, scope.Priorities{})
	x.HostAdmission.WaitWhile(func() bool { return x.first })
	origins := NewOrigins(true)
	file := robots.Parse([]byte("User-agent: *\nDisallow: /no/\n"))
	origins.Learn(rules.Seeds[0], &fetch.Robots{File: file, Rules: file.Agent("mirrord")})
	x.Admission = &Admission{
		KnownURLs:  &x.KnownURLs,
		Dispatcher: &Dispatcher{Origins: origins, HostAdmission: x.HostAdmission, Front: x.front},

		Rules:    rules,
		Variants: urls.NewVariants(rules.Traps),
		MaxDepth: j.Limits.MaxDepth,
		Run:      1,
		First:    func() bool { return x.first },
		Planned:  func() bool { return false },
		Leaves:   func(uint32, urls.State) bool { return false },
	}
	return x
}

// openGate lets everybody pass.
type openGate struct{}

func (openGate) Release(string, fetch.Observation) {}

func (openGate) Closed(time.Time) bool { return false }

func (openGate) Held(string, time.Time) fetch.Hold { return fetch.Hold{} }

func (openGate) Acquire(string, time.Time) (bool, time.Time) { return true, time.Time{} }

func (openGate) TooLong(_, _ time.Time) bool { return false }

func TestAdmit(t *testing.T) {
	const (
		page  = scope.Page
		image = scope.Requisite
	)
	for _, c := range []struct {
		name    string
		url     string
		purpose scope.Purpose
		depth   int
		mention bool // it is not followed
		guess   bool
		known   bool     // it has a number and is in the frontier
		prio    Priority // when it enters the frontier
		enters  bool
		id      bool // it has a number afterwards
		no      bool // robots.txt forbids it
	}{
		{name: "a page", url: "http://h/a", prio: PrioNew, enters: true, id: true},
		{name: "an image", url: "http://h/a.png", purpose: image, prio: PrioRequisite, enters: true, id: true},
		{
			name:    "icon",
			url:     "http://h/favicon.ico",
			purpose: image,
			guess:   true,
			prio:    PrioGuess,
			enters:  true,
			id:      true,
		},
		{name: "a guess", url: "http://h/a.json", guess: true, prio: PrioRequisite, enters: true, id: true},
		{name: "a mention", url: "http://h/a", purpose: page, mention: true},
		{name: "out of scope", url: "http://other/a"},
		{name: "too deep", url: "http://h/a", depth: 2},
		{name: "forbidden", url: "http://h/no/a", id: true, no: true},
		{name: "in the frontier already", url: "http://h/a", known: true, id: true},
	} {
		x := newTestAdmission(t)
		if c.known {
			urls.Enter(x.Table, []byte(c.url), urls.Named)
		}
		ids := []int64{7}
		got := x.Admit(ids, Document{ID: 0, Depth: c.depth}, []scope.Candidate{{
			URL:     []byte(c.url),
			Purpose: c.purpose,
			Follow:  !c.mention,
			Guess:   c.guess,
		}})
		add, forbidden := got.Add, got.Forbidden
		entered, refused := len(add) == 1, len(forbidden) == 1
		if (ids[0] >= 0) != c.id || entered != c.enters || refused != c.no {
			t.Errorf("%s: number %d, %d enter, %d forbidden", c.name, ids[0], len(add), len(forbidden))
		}
		if len(add) == 1 && add[0].Prio != c.prio {
			t.Errorf("%s: priority %d, want %d", c.name, add[0].Prio, c.prio)
		}
		if c.no && (forbidden[0].Outcome != site.Disallowed || forbidden[0].Reason == "") {
			t.Errorf("%s: %+v", c.name, forbidden[0])
		}
	}
}

// What the rules refuse is refused each time, also where it is remembered; only for what it was refused.
func TestAdmitRefusedAgain(t *testing.T) {
	x := newTestAdmission(t)
	admitted := func(url string, purpose scope.Purpose) bool {
		ids := []int64{7}
		c := scope.Candidate{URL: []byte(url), Purpose: purpose, Follow: true}
		x.Admit(ids, Document{}, []scope.Candidate{c})
		return ids[0] >= 0
	}
	long := "http://other/" + strings.Repeat("x", 2*refusedSize)
	trap := "http://h/" + strings.Repeat("a/", 20)
	for i := range int64(3) {
		for _, u := range []string{"http://other/a", "http://h:81/", long, trap} {
			if admitted(u, scope.Page) {
				t.Errorf("%s is admitted", u)
			}
		}
		if got := x.Counts.Trapped.Load(); got != i+1 {
			t.Errorf("%d times trapped, want %d", got, i+1)
		}
	}
	for i := range 2 * refusedLast {
		if u := fmt.Sprintf("http://h/%d", i); !admitted(u, scope.Page) {
			t.Errorf("%s is refused", u)
		}
		admitted(fmt.Sprintf("http://other/%d", i), scope.Page)
	}
	if !admitted("http://h:81/", scope.Requisite) {
		t.Error("as an image it is refused")
	}
}

// What a worker remembers of a URL hides nothing that is said of it later: that a page names what was only
// guessed, or that a page needs what a rule of types may leave out.
func TestAdmitAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   string
		before []scope.Candidate // each twice
		then   scope.Candidate
		needed bool
	}{
		{
			name:   "guessed, then named",
			before: []scope.Candidate{{Guess: true, Follow: true}},
			then:   scope.Candidate{Follow: true},
		},
		{
			name:   "named, mentioned, then guessed",
			before: []scope.Candidate{{Follow: true}, {}},
			then:   scope.Candidate{Guess: true, Follow: true},
		},
		{
			name:   "named, then needed under a rule of types",
			rule:   `scope.not_types = ["movies"]`,
			before: []scope.Candidate{{Follow: true}},
			then:   scope.Candidate{Purpose: scope.Requisite, Follow: true},
			needed: true,
		},
	} {
		x := newTestAdmission(t, c.rule)
		by := x
		var id int64
		say := func(as scope.Candidate) Admitted {
			ids := []int64{7}
			as.URL = []byte("http://h/a")
			out := by.Admit(ids, Document{}, []scope.Candidate{as})
			if id = ids[0]; id != 0 {
				t.Errorf("%s: number %d", c.name, id)
			}
			return out
		}
		for _, as := range c.before {
			say(as)
			say(as)
		}
		got := say(c.then)
		if x.Table.State(uint32(id)).Guessed() {
			t.Errorf("%s: it counts as guessed", c.name)
		}
		if needed := len(got.Needed) > 0; needed != c.needed {
			t.Errorf("%s: needed: %v", c.name, needed)
		}
	}
}

// An admitter keeps nothing of the document before.
func TestAdmitterForgets(t *testing.T) {
	x := newTestAdmission(t, `scope.not_types = ["movies"]`)
	by := x
	say := func(as scope.Purpose, urls ...string) Admitted {
		var cs []scope.Candidate
		for _, u := range urls {
			cs = append(cs, scope.Candidate{URL: []byte(u), Purpose: as, Follow: true})
		}
		return by.Admit(make([]int64, len(cs)), Document{}, cs)
	}
	count := func(of Admitted) [3]int { return [3]int{len(of.Add), len(of.Forbidden), len(of.Needed)} }
	say(scope.Page, "http://h/a")
	first := say(scope.Requisite, "http://h/a", "http://h/no/a", "http://other/a", "http://h/b")
	if got, want := count(first), [3]int{1, 1, 1}; got != want {
		t.Fatalf("%v, want %v", got, want)
	}
	if got, want := count(say(scope.Page, "http://h/c")), [3]int{1, 0, 0}; got != want {
		t.Errorf("after another document: %v, want %v", got, want)
	}
	if got := count(say(scope.Page)); got != [3]int{} {
		t.Errorf("of a document without links: %v", got)
	}
	if got, want := count(first), [3]int{1, 1, 1}; got != want || first.Add[0].ID != 2 {
		t.Errorf("what was said first has changed: %+v", first)
	}
}

// A dead link that a page had before does not enter the frontier; once another page names it, it does.
func TestAdmitDeadLinkAgain(t *testing.T) {
	x := newTestAdmission(t)
	by := x
	x.Planned = func() bool { return true }
	x.Leaves = func(uint32, urls.State) bool { return true }
	c := scope.Candidate{URL: []byte("http://h/dead"), Follow: true}
	id, _ := x.Table.Admit(c.URL, urls.Referral{}, func(uint32, urls.State, bool) urls.Mark {
		return urls.Mark{}
	})
	had, news := Document{Before: map[uint32]bool{id: true}}, Document{}
	for i, doc := range []Document{had, had, news, news} {
		add := by.Admit(make([]int64, 1), doc, []scope.Candidate{c}).Add
		if enters := len(add) > 0; enters != (i == 2) {
			t.Errorf("naming %d: it enters: %v", i, enters)
		}
	}
}

// While the sources of evidence are requested, all else waits; what was found to be unchanged meanwhile does
// not enter.
func TestAdmissionPostpones(t *testing.T) {
	x := newTestAdmission(t)
	x.first = true
	ids := make([]int64, 3)
	var cs []scope.Candidate
	for i := range ids {
		cs = append(cs, scope.Candidate{URL: fmt.Appendf(nil, "http://h/%d", i), Follow: true})
	}
	add := x.Admit(ids, Document{}, cs).Add
	x.Add(add...)
	x.Stored(record.AppendTargets(nil, []uint32{uint32(ids[1]), uint32(ids[2])}))
	if n := x.front.State(time.Time{}).Queued; n != 0 {
		t.Errorf("%d entered at once", n)
	}
	x.first = false
	x.Table.Queue(uint32(ids[0]))
	x.EndWait()
	if n := x.front.State(time.Time{}).Queued; n != 2 {
		t.Errorf("%d entered, want 2", n)
	}
}

// What waits for the sources of evidence enters once; what stored documents name waits once.
func TestHostAdmissionWaits(t *testing.T) {
	x := newTestAdmission(t)
	x.first = true
	h := x.HostAdmission
	id, _ := urls.Enter(x.Table, []byte("http://h/again"), urls.Named)
	if !h.First(id) || h.First(id) || h.AnyDelayed() {
		t.Error("the first document that names a URL")
	}
	h.Again(id, "http://h", time.Unix(1, 0))
	if n := x.front.State(time.Time{}).Queued; n != 0 || !h.AnyDelayed() {
		t.Errorf("%d entered, waits: %v", n, h.AnyDelayed())
	}
	h.EndWait()
	h.EndWait()
	if n := x.front.State(time.Time{}).Queued; n != 1 || h.AnyDelayed() || !h.First(id) {
		t.Errorf("%d entered, waits: %v", n, h.AnyDelayed())
	}
}

// Guesses that lead nowhere end the guessing, and rest for most runs.
func TestGuessesTire(t *testing.T) {
	x := newTestAdmission(t)
	x.Counts.GuessGone.Store(guessPatience - 1)
	if x.Tired() {
		t.Error("tired too soon")
	}
	x.Counts.GuessGone.Store(guessPatience)
	if !x.Tired() {
		t.Error("not tired")
	}
	x.Counts.GuessFound.Store(guessPatience)
	if x.Tired() {
		t.Error("tired although as many led somewhere")
	}
}

func TestAdmissionSitemaps(t *testing.T) {
	x := newTestAdmission(t)
	origin, _, _ := site.Parse("http://h/")
	x.Sitemaps(origin, []string{"/a.xml", "http://other/b.xml", "/a.xml"})
	if n := x.front.State(time.Time{}).Queued; n != 1 {
		t.Errorf("%d sitemaps entered, want 1", n)
	}
}
