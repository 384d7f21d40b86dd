// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"mirrord/cluster/lease"
	"mirrord/fetch"
	"mirrord/site"
)

// A host that another node has is requested in turns of that node: each request asks it for one, makes the
// request itself, and says how it went. The node that has the host so decides over all requests to it, and no
// body goes through it. While turns are lent the host has one connection, so that its gap counts from the end
// of a request that another node makes. A question waits there for its turn, so that there are three messages
// for a request, however many ask (BenchmarkForeignHost).
//
// A turn that is not begun at once lapses. The node that lends it is alive then, or was a moment ago: a node
// that takes the host over from it waits for a term and a gap.
const (
	subjectTurn = "mirrord.turn." // NODE

	loanPoll = 10 * time.Millisecond // how often a request looks whether its turn has come
	loanHeld = time.Second           // how long a question waits where it is asked
	loanAsk  = 2 * time.Second       // after which a question is asked again
	loanMost = time.Minute           // after which an unreturned turn counts as over
)

// turnAsked is what a node is asked, or with Turn told: it is over.
type turnAsked struct {
	Node     string        `json:"node"`
	Host     string        `json:"host"`
	Number   int           `json:"number,omitempty"` // of the question
	Delay    time.Duration `json:"delay,omitempty"`
	Factor   float64       `json:"factor,omitempty"`
	MaxDelay time.Duration `json:"max_delay,omitempty"`
	By       string        `json:"by,omitempty"` // job

	Turn   string        `json:"turn,omitempty"`
	Unused bool          `json:"unused,omitempty"`
	Took   time.Duration `json:"took,omitempty"`
	Status int           `json:"status,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"` // Retry-After
	Bytes  int64         `json:"bytes,omitempty"`
}

// turnAnswer is what it says.
type turnAnswer struct {
	Node   string        `json:"node"` // that says it
	Host   string        `json:"host"`
	Number int           `json:"number"`
	Turn   string        `json:"turn,omitempty"` // it is given
	Held   time.Duration `json:"held,omitempty"` // how long the question has waited
	Wait   time.Duration `json:"wait,omitempty"` // ask again then
	Away   bool          `json:"away,omitempty"` // the node does not have the host
}

// loans are the turns that a node has lent, and those that it borrows. Safe for concurrent use.
type loans struct {
	waiting sync.Map // asker -> *question
	lent    sync.Map // turn -> *lent

	mu       sync.Mutex // guards what follows
	inbox    string     // of answers; "": nothing is borrowed
	number   int
	borrowed map[string]*borrowing // by host
}

// asker is who asks for turns of a host. It has one question at a time.
type asker struct{ node, host string }

// question waits for the turn that it asks for.
type question struct {
	turnAsked
	m    *nats.Msg
	came time.Time
}

func (q *question) asker() asker { return asker{q.Node, q.Host} }

// lent is a turn that another node has.
type lent struct {
	host, domain string
	p            fetch.Politeness
	late         *time.Timer
}

// borrowing is what a node knows of a host that another one has.
type borrowing struct {
	node   string
	asked  int           // the number of the question that is not answered; 0: none
	sent   time.Duration // when it was asked
	since  time.Duration // when the first question was asked that is not answered
	again  time.Time     // when to ask next
	turn   string        // that may be used
	lapses time.Duration // when it may no longer be
	used   []string      // turns under way
}

// turns is what an Engine does with turns of hosts.
type turns struct {
	*Options
	nc    *nats.Conn
	t     *table
	wake  chan struct{}
	loans loans
}

// Lend lets other nodes have turns of this node's hosts, which l gives out, and this one turns of theirs,
// until stop is called.
func (e *turns) Lend(l *fetch.Hosts) (stop func(), err error) {
	inbox := e.nc.NewInbox()
	answers, err := e.nc.Subscribe(inbox, e.turnAnswered)
	if err != nil {
		return nil, fmt.Errorf("borrow turns of hosts: %w", err)
	}
	e.loans.open(inbox)
	asked, err := e.nc.Subscribe(subjectTurn+escape(e.Node), func(m *nats.Msg) { e.lendTurn(l, m) })
	if err != nil {
		_ = answers.Unsubscribe() // an error: the connection has ended
		return nil, fmt.Errorf("lend turns of hosts: %w", err)
	}
	return func() {
		_ = asked.Unsubscribe() // likewise
		_ = answers.Unsubscribe()
		for _, turn := range e.loans.close() {
			e.giveTurnBack(l, turn, fetch.Observation{})
		}
	}, nil
}

// lendTurn answers a node that asks for a turn, or gives one back.
func (e *turns) lendTurn(l *fetch.Hosts, m *nats.Msg) {
	var a turnAsked
	if err := json.Unmarshal(m.Data, &a); err != nil {
		e.Log.Warn("a node asks for a turn in another way", "err", err)
		return
	}
	if a.Turn != "" {
		e.giveTurnBack(l, a.Turn, a.observation())
		return
	}
	q := &question{turnAsked: a, m: m, came: time.Now()}
	e.loans.wait(q)
	e.answerTurn(l, q)
}

// answerTurn answers a question once the host's turn has come, or when that takes too long. A question that
// was asked again meanwhile is not answered.
func (e *turns) answerTurn(l *fetch.Hosts, q *question) {
	if !e.loans.waits(q) {
		return
	}
	domain, now := site.RegistrableDomain(q.Host), time.Now()
	answer := turnAnswer{
		Node:   e.Node,
		Host:   q.Host,
		Number: q.Number,
		Held:   now.Sub(q.came),
	}
	has, wait := e.t.lend(domain, 1)
	switch p := q.politeness(); {
	case !has:
		answer.Away = true
	case wait > 0:
		answer.Wait = wait
	default:
		ok, again := l.Acquire(q.Host, p, now)
		if ok {
			answer.Turn = e.loans.lend(&lent{host: q.Host, domain: domain, p: p}, func(turn string) {
				e.giveTurnBack(l, turn, fetch.Observation{})
			})
			break
		}
		e.t.lend(domain, -1)
		if again.Sub(q.came) < loanHeld {
			time.AfterFunc(again.Sub(now), func() { e.answerTurn(l, q) })
			return
		}
		answer.Wait = max(again.Sub(now), loanPoll)
	}
	e.loans.answer(q)
	value, err := json.Marshal(answer)
	if err == nil {
		err = q.m.Respond(value)
	}
	if err != nil {
		e.Log.Debug("a turn was not lent", "host", q.Host, "err", err)
	}
}

// giveTurnBack ends a turn that was lent; one that is over already is nothing.
func (e *turns) giveTurnBack(l *fetch.Hosts, turn string, o fetch.Observation) {
	if back, is := e.loans.lent.LoadAndDelete(turn); is {
		t := back.(*lent)
		t.late.Stop()
		l.Release(t.host, t.p, time.Now(), o)
		e.t.lend(t.domain, -1)
	}
}

// politeness is that of the job that asks. Its name makes the jobs of the lender take turns with it.
func (a turnAsked) politeness() fetch.Politeness {
	return fetch.Politeness{
		Connections: 1,
		Delay:       a.Delay,
		Factor:      a.Factor,
		MaxDelay:    a.MaxDelay,
		By:          a.Node + ": " + a.By,
	}
}

// observation is what a turn that was lent says about the host. That there was no answer says something about
// an origin, whose gap the node keeps that made the request.
func (a turnAsked) observation() fetch.Observation {
	return fetch.Observation{
		Duration:   a.Took,
		Status:     a.Status,
		RetryAfter: a.Wait,
		Bytes:      a.Bytes,
		Unused:     a.Unused,
	}
}

// borrow is Turn of a host that another node has.
func (e *turns) borrow(host, node string, p fetch.Politeness, now time.Time) (again time.Time) {
	ask, unused, again := e.loans.turn(host, node, e.Now(), now, e.Term)
	if unused != nil {
		e.tellTurn(unused, "")
	}
	if ask != nil {
		ask.Delay, ask.Factor, ask.MaxDelay, ask.By = p.Delay, p.Factor, p.MaxDelay, p.By
		e.tellTurn(ask, e.loans.answers())
	}
	return again
}

// turnAnswered takes the answer of a node that was asked for a turn.
func (e *turns) turnAnswered(m *nats.Msg) {
	var a turnAnswer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return // the keepers report no responders: the request is repeated
	}
	unused, away := e.loans.answered(a, e.Now(), time.Now(), e.Term)
	if unused != nil {
		e.tellTurn(unused, "")
	}
	if away {
		e.t.refused(site.RegistrableDomain(a.Host), "")
		kick(e.wake)
	}
}

// Done is fetch.Others.
func (e *turns) Done(host string, o fetch.Observation) {
	if back := e.loans.done(host); back != nil {
		back.Took, back.Status, back.Wait, back.Bytes = o.Duration, o.Status, o.RetryAfter, o.Bytes
		back.Unused = o.Unused
		e.tellTurn(back, "")
	}
}

// tellTurn sends a node a question, or that a turn is over. What does not arrive is asked again, and a turn
// ends there after loanMost.
func (e *turns) tellTurn(a *turnAsked, answers string) {
	to := subjectTurn + escape(a.Node)
	a.Node = e.Node
	value, err := json.Marshal(a)
	if err == nil {
		err = e.nc.PublishMsg(&nats.Msg{Subject: to, Reply: answers, Data: value})
	}
	if err != nil {
		e.Log.Debug("a node is not asked for a turn", "host", a.Host, "err", err)
	}
}

func (l *loans) open(inbox string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox, l.borrowed = inbox, map[string]*borrowing{}
}

// close returns the turns that are lent.
func (l *loans) close() (turns []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox = ""
	l.waiting.Clear()
	l.lent.Range(func(turn, _ any) bool {
		turns = append(turns, turn.(string))
		return true
	})
	return turns
}

func (l *loans) answers() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inbox
}

// wait notes a question, in place of an earlier one of the same node.
func (l *loans) wait(q *question) { l.waiting.Store(q.asker(), q) }

// waits reports whether a question is still to be answered.
func (l *loans) waits(q *question) bool {
	now, _ := l.waiting.Load(q.asker())
	return now == q
}

// answer takes out a question.
func (l *loans) answer(q *question) { l.waiting.CompareAndDelete(q.asker(), q) }

// lend notes a turn that a node is given.
func (l *loans) lend(t *lent, late func(turn string)) (turn string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	turn = l.inbox + "." + strconv.Itoa(l.number) // of this process
	t.late = time.AfterFunc(loanMost, func() { late(turn) })
	l.lent.Store(turn, t)
	return turn
}

// turn returns what to ask and what to give back, and when to look again; zero when the turn may be used.
// steady is the clock of the node.
func (l *loans) turn(
	host, node string, steady time.Duration, now time.Time, term lease.Term,
) (ask, unused *turnAsked, again time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inbox == "" {
		return nil, nil, now.Add(tooLong)
	}
	b := l.borrowed[host]
	if b == nil || (b.node != node && len(b.used) == 0 && b.turn == "") {
		b = &borrowing{node: node}
		l.borrowed[host] = b
	}
	if b.turn != "" && steady < b.lapses {
		b.used, b.turn = append(b.used, b.turn), ""
		return nil, nil, time.Time{}
	}
	if b.turn != "" {
		unused = b.over(host, b.turn)
		unused.Unused, b.turn = true, ""
	}
	switch {
	case b.asked > 0 && steady-b.since > 2*term.TTL: // by then another node has the host, were this one dead
		return nil, unused, now.Add(tooLong)
	case now.Before(b.again):
		return nil, unused, b.again
	case b.asked == 0 || steady-b.sent > loanAsk:
		if b.asked == 0 {
			b.since = steady
		}
		l.number++
		b.asked, b.sent = l.number, steady
		ask = &turnAsked{Node: b.node, Host: host, Number: b.asked}
	}
	return ask, unused, now.Add(loanPoll)
}

// answered takes an answer; unused is a turn that comes too late, away says that the node does not have the
// host.
func (l *loans) answered(
	a turnAnswer, steady time.Duration, now time.Time, term lease.Term,
) (unused *turnAsked, away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.borrowed[a.Host]
	if b == nil || b.asked != a.Number {
		if a.Turn != "" {
			unused = &turnAsked{
				Node:   a.Node,
				Host:   a.Host,
				Turn:   a.Turn,
				Unused: true,
			}
		}
		return unused, false
	}
	b.asked = 0
	switch {
	case a.Away:
		if len(b.used) == 0 {
			delete(l.borrowed, a.Host)
		}
		return nil, true
	case a.Turn != "":
		b.turn, b.lapses, b.again = a.Turn, b.sent+a.Held+term.Renew()/2, time.Time{}
	default:
		b.again = now.Add(a.Wait)
	}
	return nil, false
}

// over returns the message that tells the node that a turn has ended.
func (b *borrowing) over(host, turn string) *turnAsked {
	return &turnAsked{Node: b.node, Host: host, Turn: turn}
}

// done takes the turn under way of a host that is over; nil: the host is this node's.
func (l *loans) done(host string) *turnAsked {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.borrowed[host]
	if b == nil || len(b.used) == 0 {
		return nil
	}
	turn := b.used[0]
	b.used = b.used[1:]
	return b.over(host, turn)
}

// lapsed takes out turns that came and were not used in time, and forgets hosts of which there are none.
func (l *loans) lapsed(steady time.Duration, term lease.Term) (unused []*turnAsked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for host, b := range l.borrowed {
		if b.turn != "" && steady >= b.lapses {
			back := b.over(host, b.turn)
			back.Unused, b.turn = true, ""
			unused = append(unused, back)
		}
		if b.turn == "" && len(b.used) == 0 && steady-b.sent > 2*term.TTL {
			delete(l.borrowed, host)
		}
	}
	return unused
}
