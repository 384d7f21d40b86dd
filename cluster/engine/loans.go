// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
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
	loanAsk  = 3 * time.Second       // after which a question is asked again: it is answered, or lost, by then
	loanMost = time.Minute           // after which an unreturned turn counts as over
)

// turnAsked is what a node is asked, or with Turn told: it is over.
type turnAsked struct {
	Node     string        `json:"node"`
	Host     string        `json:"host"`
	Number   int           `json:"number,omitempty"` // of the question of an older version
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

// turnAnswer is what it says. Older versions need the first three.
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
	lent sync.Map // turn -> *lent

	mu       sync.Mutex            // guards what follows
	borrowed map[string]*borrowing // by host; nil: nothing is lent or borrowed
}

// question waits for the turn that it asks for.
type question struct {
	turnAsked
	m    *nats.Msg
	came time.Time
}

// lent is a turn that another node has.
type lent struct {
	host, domain string
	p            fetch.Politeness
	late         *time.Timer
}

// borrowing is what a node knows of a host that another one has.
type borrowing struct {
	node   string
	asking bool          // a question is not answered
	sent   time.Duration // when it was asked
	since  time.Duration // when the first question was asked that nobody has answered; 0: none
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
	e.loans.open()
	asked, err := e.nc.Subscribe(subjectTurn+escape(e.Node), func(m *nats.Msg) { e.lendTurn(l, m) })
	if err != nil {
		return nil, fmt.Errorf("lend turns of hosts: %w", err)
	}
	return func() {
		_ = asked.Unsubscribe() // an error: the connection has ended
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
	e.answerTurn(l, &question{turnAsked: a, m: m, came: time.Now()})
}

// answerTurn answers a question once the host's turn has come, or when that takes too long.
func (e *turns) answerTurn(l *fetch.Hosts, q *question) {
	if !e.loans.isOpen() {
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
		e.tellTurn(unused)
	}
	if ask != nil {
		ask.Delay, ask.Factor, ask.MaxDelay, ask.By = p.Delay, p.Factor, p.MaxDelay, p.By
		go e.askTurn(ask)
	}
	return again
}

// askTurn asks a node for a turn. Without an answer it returns when the question may be asked again.
func (e *turns) askTurn(ask *turnAsked) {
	ctx, cancel := context.WithTimeout(context.Background(), loanAsk)
	defer cancel()
	node := ask.Node
	ask.Node = e.Node
	var answer *turnAnswer
	value, err := json.Marshal(ask)
	if err == nil {
		var m *nats.Msg
		if m, err = e.nc.RequestWithContext(ctx, subjectTurn+escape(node), value); err == nil {
			err = json.Unmarshal(m.Data, &answer)
		}
	}
	if err != nil {
		e.Log.Debug("a node does not answer for a turn", "host", ask.Host, "err", err)
		answer = nil
		<-ctx.Done()
	}
	unused, away := e.loans.answered(ask.Host, node, answer, time.Now(), e.Term)
	if unused != nil {
		e.tellTurn(unused)
	}
	if away {
		e.t.refused(site.RegistrableDomain(ask.Host), "")
		kick(e.wake)
	}
}

// Done is fetch.Others.
func (e *turns) Done(host string, o fetch.Observation) {
	if back := e.loans.done(host); back != nil {
		back.Took, back.Status, back.Wait, back.Bytes = o.Duration, o.Status, o.RetryAfter, o.Bytes
		back.Unused = o.Unused
		e.tellTurn(back)
	}
}

// tellTurn tells a node that a turn is over. When that does not arrive the turn ends there after loanMost.
func (e *turns) tellTurn(a *turnAsked) {
	to := subjectTurn + escape(a.Node)
	a.Node = e.Node
	value, err := json.Marshal(a)
	if err == nil {
		err = e.nc.Publish(to, value)
	}
	if err != nil {
		e.Log.Debug("a turn is not given back", "host", a.Host, "err", err)
	}
}

func (l *loans) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.borrowed = map[string]*borrowing{}
}

func (l *loans) isOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.borrowed != nil
}

// close returns the turns that are lent.
func (l *loans) close() (turns []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.borrowed = nil
	l.lent.Range(func(turn, _ any) bool {
		turns = append(turns, turn.(string))
		return true
	})
	return turns
}

// lend notes a turn that a node is given.
func (l *loans) lend(t *lent, late func(turn string)) (turn string) {
	turn = rand.Text()
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
	if l.borrowed == nil {
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
	case b.since > 0 && steady-b.since > 2*term.TTL: // by then another node has the host, were this one dead
		return nil, unused, now.Add(tooLong)
	case now.Before(b.again):
		return nil, unused, b.again
	case !b.asking:
		b.asking, b.sent = true, steady
		if b.since == 0 {
			b.since = steady
		}
		ask = &turnAsked{Node: b.node, Host: host}
	}
	return ask, unused, now.Add(loanPoll)
}

// answered takes the answer of a node; nil: there was none. unused is a turn that comes when the host is
// another node's, away says that the node does not have the host.
func (l *loans) answered(
	host, node string, a *turnAnswer, now time.Time, term lease.Term,
) (unused *turnAsked, away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.borrowed[host]
	if b == nil || b.node != node || !b.asking {
		if a != nil && a.Turn != "" {
			unused = (&borrowing{node: node}).over(host, a.Turn)
			unused.Unused = true
		}
		return unused, false
	}
	if b.asking = false; a == nil {
		return nil, false
	}
	b.since = 0
	switch {
	case a.Away:
		if len(b.used) == 0 {
			delete(l.borrowed, host)
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
		if b.turn == "" && len(b.used) == 0 && !b.asking && steady-b.sent > 2*term.TTL {
			delete(l.borrowed, host)
		}
	}
	return unused
}
