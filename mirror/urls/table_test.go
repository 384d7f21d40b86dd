// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"fmt"
	"slices"
	"testing"

	"mirrord/site"
	"mirrord/store/record"
)

// admitted is a table of n URLs, http://h/0 and so on.
func admitted(n int) *Table {
	t := New()
	for i := range n {
		how := Referral{From: uint32(i), Depth: i, Requisite: i%2 == 1}
		t.Admit(fmt.Appendf(nil, "http://h/%d", i), how, func(uint32, State, bool) Mark { return Mark{} })
	}
	return t
}

// A URL keeps its number and its first referrer, also when others name it, and enters the frontier once.
func TestAdmitOnce(t *testing.T) {
	table := admitted(2)
	again := 0
	id, s := table.Admit([]byte("http://h/1"), Referral{From: 9}, func(id uint32, s State, added bool) Mark {
		again++
		if id != 1 || added || s.Queued() {
			t.Errorf("%d, added %v: %+v", id, added, s)
		}
		return Mark{Seen: Guess, Queue: true}
	})
	if again != 1 || id != 1 || s.Referrer() != 1 || s.Depth() != 1 || !s.Requisite() || !s.Queued() ||
		!s.Guessed() {
		t.Errorf("asked %d times about %d: %+v", again, id, s)
	}
	if _, first := table.Queue(1); first {
		t.Error("it entered twice")
	}
	if u, first := table.Queue(0); !first || u.String() != "http://h/0" {
		t.Error(u, first)
	}
	if id, first := Enter(table, []byte("http://h/0"), Named); id != 0 || first {
		t.Error(id, first)
	}
	if id, first := Enter(table, []byte("http://h/new"), Named); id != 2 || !first ||
		table.State(2).Referrer() != 0 {
		t.Error(id, first)
	}
	want := []record.NewURL{{URL: "http://h/1", Referrer: 1, Depth: 1, Requis: true}, {URL: "http://h/new"}}
	if got := table.News(1, nil); !slices.Equal(got, want) {
		t.Errorf("news: %v", got)
	}
}

// Marks are done one after the other: the second mention of a URL sees what the first one did.
func TestMarkInOrder(t *testing.T) {
	table := admitted(4)
	var queued []uint32
	decide := func(id uint32, s State, _ site.URL) Mark {
		if s.Queued() {
			return Mark{Seen: Guess}
		}
		queued = append(queued, id)
		return Mark{Queue: true}
	}
	table.Mark(slices.Values([]uint32{3, 1, 3, 99}), decide) // there is no 99
	if !slices.Equal(queued, []uint32{3, 1}) || table.State(3).Seen() != Guess || table.State(1).Seen() != 0 {
		t.Errorf("queued %v; %+v", queued, table.State(3))
	}
	if got := table.NotQueued([]uint32{2, 1, 0, 3}); !slices.Equal(got, []uint32{0, 2}) {
		t.Errorf("not queued: %v", got)
	}
	var unknown []int
	names := [][]byte{[]byte("http://h/9"), []byte("http://h/2"), []byte("http://h/8")}
	table.MarkNamed(Mentions{
		N:   len(names),
		URL: func(i int) []byte { return names[i] },
		Decide: func(i int, id uint32, s State, u site.URL) Mark {
			if i != 1 || id != 2 || u.String() != "http://h/2" {
				t.Error(i, id, u)
			}
			return Mark{Seen: Named}
		},
		Unknown: func(i int) { unknown = append(unknown, i) },
	})
	if !slices.Equal(unknown, []int{0, 2}) || table.Len() != 4 {
		t.Errorf("unknown: %v of %d", unknown, table.Len())
	}
}

func TestRecord(t *testing.T) {
	table, run := admitted(2), Run{Number: 3, Version: 2}
	rec := record.Resource{
		Outcome: site.Fetched,
		InSet:   true,
		MIME:    "text/html",
		Status:  200,
		Changed: 2,
		Moved:   1,
		Path:    "0",
	}
	was, now := table.Record(&rec, run)
	if was.Answered() || was.InSet() || !now.Answered() || !now.InSet() || !now.Dirty() || now.Moved() ||
		now.Seen() != Asked|Entered {
		t.Errorf("%+v, %+v", was, now)
	}
	if !table.InSet(0) || table.InSet(1) || table.InSet(2) || table.MIME(0) != "text/html" ||
		table.MIMEs()[now.Type()] != "text/html" {
		t.Error("the state is not what was recorded")
	}
	settled := table.Settled()
	settled.Place(0, "0")
	if s := settled.State(0); !s.HasPath() || s.flags&fIdentity == 0 || !s.Moved() || settled.Path(0) != "0" {
		t.Errorf("%+v", s)
	}
	rec = record.Resource{Outcome: site.Redirected, Target: 2, Status: 302}
	if was, now = table.Record(&rec, run); !was.InSet() || now.InSet() || now.HasPath() ||
		now.Seen() != Asked|Entered|Left || !now.Governed() {
		t.Errorf("%+v, %+v", was, now)
	}
	if to, in := settled.Final(0); to != 1 || in {
		t.Error(to, in)
	}
	Unsee(table, 0, Left)
	if s := table.State(0); s.Seen() != Asked|Entered {
		t.Errorf("%+v", s)
	}
}

// Loaded records are in the mirror, known and not answered, unless the run that is resumed has answered it;
// the last record counts.
func TestLoad(t *testing.T) {
	table := New().Settled()
	table.Reserve(4)
	run := Run{Number: 5, Version: 3}
	u := site.Canonical("http://h/a")
	rec := record.Resource{
		ID:       2,
		URL:      u,
		Outcome:  site.Unchanged,
		InSet:    true,
		Target:   1,
		Run:      4,
		Path:     "a",
		Changed:  2,
		Moved:    1,
		Referrer: 1,
		Depth:    2,
	}
	if in, answered := table.Load(&rec, run); in || answered {
		t.Error(in, answered)
	}
	s := table.State(2)
	if !s.Given() || !s.Known() || !s.InSet() || s.Queued() || s.Answered() || s.Dirty() || s.Moved() ||
		s.Target() != 0 || s.Referrer() != 1 || s.flags&fIdentity == 0 {
		t.Errorf("%+v", s)
	}
	rec.Run, rec.Outcome, rec.InSet, rec.Status, rec.Path, rec.Moved = 5, site.Gone, false, 404, "", 3
	if in, answered := table.Load(&rec, run); !in || !answered {
		t.Error(in, answered)
	}
	s = table.State(2)
	if s.InSet() || !s.Queued() || !s.WasAsked() || !s.Moved() || s.HasPath() || s.Seen() != Asked|Left {
		t.Errorf("%+v", s)
	}
	table.LoadNew(3, "http://h/b", Referral{From: 3, Depth: 3, Requisite: true})
	table.LoadURL(3, u)
	if s = table.State(3); s.Known() || !s.Requisite() || s.Depth() != 3 ||
		table.URL(3).String() != "http://h/b" || string(table.AppendURL(nil, 3)) != "http://h/b" {
		t.Errorf("%+v", s)
	}
	if table.State(0).Given() || table.URL(0).String() != "" {
		t.Error("a number of which nothing is known has a URL")
	}
}

func TestLeaveAndShare(t *testing.T) {
	table := admitted(3)
	for id := range uint32(2) {
		table.Record(&record.Resource{ID: id, Outcome: site.Fetched, InSet: true}, Run{})
	}
	settled := table.Settled()
	settled.Share(1, 0)
	if s := settled.State(1); !s.Shares() || settled.State(0).Shares() {
		t.Errorf("%+v", s)
	}
	settled.Leave(1)
	if s := settled.State(1); s.InSet() || s.Governed() || !s.Moved() || s.Seen()&Left == 0 {
		t.Errorf("%+v", s)
	}
	n := 0
	for id, s := range settled.All() {
		if n++; s.InSet() != (id == 0) {
			t.Errorf("%d: %+v", id, s)
		}
	}
	if n != 3 {
		t.Error(n)
	}
}

func TestCircles(t *testing.T) {
	table := admitted(6)
	for from, to := range map[uint32]uint32{0: 1, 1: 0, 2: 3, 4: 4, 5: 0} {
		table.Record(&record.Resource{ID: from, Outcome: site.Redirected, Target: to + 1}, Run{})
	}
	if got := fmt.Sprint(Circles(table.Settled())); got != "[[0 1] [4]]" {
		t.Error(got)
	}
}
