// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"mirrord/cluster/lease"
)

// What a node does that borrows turns: it asks once, uses a turn once and in time, gives back what it does
// not use, and leaves a host for the next run when the other node is silent for two terms.
func TestBorrowed(t *testing.T) {
	term := lease.Term{TTL: 30 * time.Second}
	now := time.Now()
	var l loans
	ask := func(steady time.Duration) (ask, unused *turnAsked, wait time.Duration) {
		ask, unused, again := l.turn("h", "a", steady, now, term)
		if again.IsZero() {
			return ask, unused, 0
		}
		return ask, unused, again.Sub(now)
	}
	if _, _, wait := ask(0); wait != tooLong {
		t.Errorf("a node that borrows nothing asks again after %v", wait)
	}
	l.open()
	first, _, wait := ask(time.Second)
	if first == nil || first.Host != "h" || first.Node != "a" || wait != loanPoll {
		t.Fatalf("%+v, %v", first, wait)
	}
	if again, _, wait := ask(time.Second); again != nil || wait != loanPoll {
		t.Errorf("asked twice: %+v, %v", again, wait)
	}
	answer := func(node, turn string, wait time.Duration) (*turnAsked, bool) {
		return l.answered("h", node, &turnAnswer{Turn: turn, Wait: wait, Away: turn == "" && wait == 0}, now, term)
	}
	answer("a", "", 3*time.Second)
	if again, _, wait := ask(time.Second); again != nil || wait != 3*time.Second {
		t.Errorf("asked before its time: %+v, %v", again, wait)
	}
	now = now.Add(3 * time.Second)
	second, _, _ := ask(4 * time.Second)
	if second == nil {
		t.Fatal("not asked again")
	}
	if again, _, _ := ask(7 * time.Second); again != nil {
		t.Error("asked twice")
	}
	l.answered("h", "a", nil, now, term)
	if third, _, _ := ask(7 * time.Second); third == nil {
		t.Fatal("a question without an answer is not asked again")
	}
	late, _ := answer("b", "t2", 0)
	if late == nil || late.Node != "b" || late.Turn != "t2" || !late.Unused {
		t.Errorf("a turn of a node that does not have the host is kept: %+v", late)
	}
	answer("a", "t3", 0)
	if late, _ := answer("a", "t3b", 0); late == nil || late.Turn != "t3b" || !late.Unused {
		t.Errorf("a turn that was not asked for is kept: %+v", late)
	}
	if _, _, wait := ask(8 * time.Second); wait != 0 {
		t.Errorf("a turn that has come waits %v", wait)
	}
	fourth, _, _ := ask(8 * time.Second)
	if fourth == nil {
		t.Fatal("a turn is used twice")
	}
	if back := l.done("h"); back == nil || back.Turn != "t3" || back.Node != "a" || back.Unused {
		t.Errorf("given back: %+v", back)
	}
	if back := l.done("h"); back != nil {
		t.Errorf("given back twice: %+v", back)
	}
	answer("a", "t4", 0)
	if _, unused, wait := ask(13 * time.Second); unused == nil || unused.Turn != "t4" || wait == 0 {
		t.Errorf("a turn that has lapsed: %+v, %v", unused, wait)
	}
	l.answered("h", "a", nil, now, term)
	if _, _, wait := ask(44 * time.Second); wait != loanPoll {
		t.Errorf("a node that may be dead is given up after a term: %v", wait)
	}
	l.answered("h", "a", nil, now, term)
	if _, _, wait := ask(75 * time.Second); wait != tooLong {
		t.Errorf("a node that is silent is waited for: %v", wait)
	}
	if unused := l.lapsed(time.Hour, term); len(unused) != 0 || len(l.borrowed) != 0 {
		t.Errorf("kept: %v, %v", unused, l.borrowed)
	}
	ask(time.Hour)
	answer("a", "t5", 0)
	if unused := l.lapsed(time.Hour+term.TTL, term); len(unused) != 1 || unused[0].Turn != "t5" {
		t.Errorf("not given back: %v", unused)
	}
	ask(time.Hour)
	if _, away := answer("a", "", 0); !away || len(l.borrowed) != 0 {
		t.Error("a node that does not have the host is asked again")
	}
}

// A turn for which a question has waited may be used as long as one that came at once.
func TestHeld(t *testing.T) {
	var l loans
	l.open()
	term, now := lease.Term{TTL: 30 * time.Second}, time.Now()
	l.turn("h", "a", time.Second, now, term)
	l.answered("h", "a", &turnAnswer{Turn: "t", Held: loanHeld}, now, term)
	if _, _, again := l.turn("h", "a", time.Second+term.Renew()/2, now, term); !again.IsZero() {
		t.Error("the turn has lapsed")
	}
}
