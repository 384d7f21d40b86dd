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
		t.Errorf("without an inbox it is asked again after %v", wait)
	}
	l.open("inbox")
	first, _, wait := ask(time.Second)
	if first == nil || first.Host != "h" || first.Node != "a" || wait != loanPoll {
		t.Fatalf("%+v, %v", first, wait)
	}
	if again, _, wait := ask(time.Second); again != nil || wait != loanPoll {
		t.Errorf("asked twice: %+v, %v", again, wait)
	}
	answer := func(number int, turn string, wait, steady time.Duration) (*turnAsked, bool) {
		return l.answered(turnAnswer{
			Node:   "a",
			Host:   "h",
			Number: number,
			Turn:   turn,
			Wait:   wait,
			Away:   turn == "" && wait == 0,
		}, steady, now, term)
	}
	answer(first.Number, "", 3*time.Second, time.Second)
	if again, _, wait := ask(time.Second); again != nil || wait != 3*time.Second {
		t.Errorf("asked before its time: %+v, %v", again, wait)
	}
	now = now.Add(3 * time.Second)
	second, _, _ := ask(4 * time.Second)
	if second == nil {
		t.Fatal("not asked again")
	}
	third, _, _ := ask(7 * time.Second)
	if third == nil || third.Number == second.Number {
		t.Fatal("a question without an answer is not asked again")
	}
	late, _ := answer(second.Number, "t2", 0, 7*time.Second)
	if late == nil || late.Turn != "t2" || !late.Unused {
		t.Errorf("a turn that comes too late is kept: %+v", late)
	}
	answer(third.Number, "t3", 0, 7*time.Second)
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
	answer(fourth.Number, "t4", 0, 8*time.Second)
	if _, unused, wait := ask(13 * time.Second); unused == nil || unused.Turn != "t4" || wait == 0 {
		t.Errorf("a turn that has lapsed: %+v, %v", unused, wait)
	}
	if _, _, wait := ask(44 * time.Second); wait != loanPoll {
		t.Errorf("a node that may be dead is given up after a term: %v", wait)
	}
	if _, _, wait := ask(75 * time.Second); wait != tooLong {
		t.Errorf("a node that is silent is waited for: %v", wait)
	}
	if unused := l.lapsed(time.Hour, term); len(unused) != 0 || len(l.borrowed) != 0 {
		t.Errorf("kept: %v, %v", unused, l.borrowed)
	}
	fifth, _, _ := ask(time.Hour)
	answer(fifth.Number, "t5", 0, time.Hour)
	if unused := l.lapsed(time.Hour+term.TTL, term); len(unused) != 1 || unused[0].Turn != "t5" {
		t.Errorf("not given back: %v", unused)
	}
	sixth, _, _ := ask(time.Hour)
	if _, away := answer(sixth.Number, "", 0, time.Hour); !away || len(l.borrowed) != 0 {
		t.Error("a node that does not have the host is asked again")
	}
}

// A node has one question at a time: one that is asked again waits in place of the first.
func TestQuestions(t *testing.T) {
	var l loans
	l.open("inbox")
	first := &question{turnAsked: turnAsked{Node: "b", Host: "h", Number: 1}}
	again := &question{turnAsked: turnAsked{Node: "b", Host: "h", Number: 2}}
	other := &question{turnAsked: turnAsked{Node: "c", Host: "h", Number: 1}}
	l.wait(first)
	l.wait(other)
	l.wait(again)
	if l.waits(first) || !l.waits(again) || !l.waits(other) {
		t.Error("a question that was asked again waits")
	}
	l.answer(first)
	if !l.waits(again) {
		t.Error("the answer to a question took out the next one")
	}
	l.answer(again)
	l.close()
	if l.waits(again) || l.waits(other) {
		t.Error("a question waits that was answered, or of a node that lends nothing")
	}
}

// A turn for which a question has waited may be used as long as one that came at once.
func TestHeld(t *testing.T) {
	var l loans
	l.open("inbox")
	term, now := lease.Term{TTL: 30 * time.Second}, time.Now()
	ask, _, _ := l.turn("h", "a", time.Second, now, term)
	l.answered(turnAnswer{
		Node:   "a",
		Host:   "h",
		Number: ask.Number,
		Turn:   "t",
		Held:   loanHeld,
	}, 2*time.Second, now, term)
	if _, _, again := l.turn("h", "a", time.Second+term.Renew()/2, now, term); !again.IsZero() {
		t.Error("the turn has lapsed")
	}
}
