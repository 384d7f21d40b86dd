// SPDX-License-Identifier: Apache-2.0

// Package notify tells people about jobs that did not end well: by a command, a webhook and mail, as the job
// says.
//
// Package status decides about messages (status.Told); this package delivers them. Delivering takes time and
// may fail or hang: each delivery has a timeout, webhooks and mail are tried again, and no caller of Tell
// waits. Messages to one receiver are bounded per hour, so that a network that is down does not send one mail
// for each of a thousand jobs: those above are held back, and the next one that goes says how many there
// were.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/internal/count"
	"mirrord/internal/timed"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// Options say how messages are delivered. LookupEnv and ReadFile are needed.
type Options struct {
	Host      string // name of this machine, in messages
	LookupEnv func(string) (string, bool)
	ReadFile  func(string) ([]byte, error)

	// Transport returns what carries a message to the webhook of a job. It must refuse addresses that the job
	// may not reach. Default http.DefaultTransport, which refuses none.
	Transport func(*job.Job) http.RoundTripper

	Mail    Mail
	Timeout time.Duration   // of one attempt; default 30 s
	Pauses  []time.Duration // before the second, third, … attempt of a webhook or mail; default 10 s, 1 min
	PerHour int             // messages to one receiver; default 20
	Now     func() time.Time
	Log     *slog.Logger // default none
}

// Notifier delivers messages. It is safe for concurrent use.
type Notifier struct {
	Options
	queue  chan queued
	untold atomic.Int64

	mail atomic.Pointer[mailing]

	mu   sync.Mutex
	sent map[string]*quota // by receiver
}

// mailing is what Use replaces.
type mailing struct {
	host string // name of this machine
	mail Mail
}

// Use replaces the name of this machine and how mail leaves it, for the messages that follow.
func (n *Notifier) Use(host string, mail Mail) { n.mail.Store(&mailing{host, mail}) }

type queued struct {
	job *job.Job
	m   status.Message
}

// quota counts what a receiver got.
type quota struct {
	hour    time.Time
	count   int
	dropped int // since the last one that went
}

// waiting is how many messages may wait to be delivered; workers is how many are delivered at a time.
const (
	waiting = 1000
	workers = 4
)

// New returns a notifier. Messages are delivered while Run runs.
func New(o Options) *Notifier {
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Pauses == nil {
		o.Pauses = []time.Duration{10 * time.Second, time.Minute}
	}
	if o.PerHour <= 0 {
		o.PerHour = 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = func(*job.Job) http.RoundTripper { return http.DefaultTransport }
	}
	n := &Notifier{
		Options: o,
		queue:   make(chan queued, waiting),
		sent:    map[string]*quota{},
	}
	n.Use(o.Host, o.Mail)
	return n
}

// Untold is how many messages could not be delivered or were held back.
func (n *Notifier) Untold() int64 { return n.untold.Load() }

// Tell takes a message for everybody whom a job names. It does not wait.
func (n *Notifier) Tell(kind status.Kind, j *job.Job, s status.Job) {
	select {
	case n.queue <- queued{j, status.NewMessage(kind, n.mail.Load().host, s, n.Now())}:
	default:
		n.untold.Add(1)
		n.Log.Error("too many messages wait; one was dropped", "job", j.Name, "kind", string(kind))
	}
}

// last is how long what waits may take when the daemon ends.
const last = 5 * time.Second

// Run delivers messages until ctx ends, and those under way or waiting then for a moment longer.
func (n *Notifier) Run(ctx context.Context) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(last, cancel) })
	defer stop()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				select {
				case q := <-n.queue:
					n.deliver(late, q.job, q.m)
					continue
				case <-ctx.Done():
				}
				for {
					select {
					case q := <-n.queue:
						n.deliver(late, q.job, q.m)
					default:
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// Delivery is how one message reached one receiver.
type Delivery struct {
	To  string // without secrets
	Err error
}

// Test delivers a test to everybody whom a job names and returns how that went; one attempt each, and no
// bound.
func (n *Notifier) Test(ctx context.Context, j *job.Job, s status.Job) []Delivery {
	m := status.NewMessage(status.TellTest, n.mail.Load().host, s, n.Now())
	var out []Delivery
	for _, r := range n.receivers(j) {
		out = append(out, Delivery{r.name, n.try(ctx, r, m)})
	}
	return out
}

// deliver sends a message to all receivers.
func (n *Notifier) deliver(ctx context.Context, j *job.Job, m status.Message) {
	for _, r := range n.receivers(j) {
		dropped, ok := n.take(r.key)
		if !ok {
			n.untold.Add(1)
			n.Log.Warn("message held back: too many to this receiver", "job", j.Name, "kind", string(m.Kind),
				"to", r.name)
			continue
		}
		m := m
		if m.Dropped = dropped; dropped > 0 {
			m.Text += fmt.Sprintf(
				"%s held back, because there were more than %d an hour: mirrord status\n",
				count.Of(dropped, "message before this one was", "messages before this one were"), n.PerHour)
		}
		if err := n.insist(ctx, r, m); err != nil {
			n.untold.Add(1)
			n.Log.Error("message not delivered", "job", j.Name, "kind", string(m.Kind), "to", r.name, "err", err)
			continue
		}
		n.Log.Info("told", "job", j.Name, "kind", string(m.Kind), "to", r.name)
	}
}

// insist makes attempts until one succeeds or there were enough.
func (n *Notifier) insist(ctx context.Context, r receiver, m status.Message) error {
	err := n.try(ctx, r, m)
	for i := 0; err != nil && r.again && i < len(n.Pauses) && ctx.Err() == nil; i++ {
		if timed.Wait(ctx, n.Pauses[i]) == nil {
			err = n.try(ctx, r, m)
		}
	}
	return err
}

// take counts one message against the quota of a receiver; dropped is how many were held back before it.
func (n *Notifier) take(key string) (dropped int, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	q, now := n.sent[key], n.Now()
	if q == nil {
		maps.DeleteFunc(n.sent, func(_ string, q *quota) bool {
			return q.dropped == 0 && now.Sub(q.hour) >= time.Hour
		})
		q = new(quota)
		n.sent[key] = q
	}
	if d := now.Sub(q.hour); d >= time.Hour || d < 0 {
		q.hour, q.count = now, 0
	}
	if q.count >= n.PerHour {
		q.dropped++
		return 0, false
	}
	q.count++
	dropped, q.dropped = q.dropped, 0
	return dropped, true
}

// try makes one attempt.
func (n *Notifier) try(ctx context.Context, r receiver, m status.Message) error {
	late := fmt.Errorf("no end after %s", count.Span(n.Timeout))
	ctx, cancel := context.WithTimeoutCause(ctx, n.Timeout, late)
	defer cancel()
	err := r.send(ctx, m)
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// Write sends one message to an address by mail, with the retries and the bound of other messages. It waits
// for the end.
func (n *Notifier) Write(ctx context.Context, to, subject, text string) error {
	j := &job.Job{Name: "orders", Notify: job.Notify{Email: []string{to}}}
	m := status.Message{
		Kind:    "order",
		Host:    n.mail.Load().host,
		Time:    n.Now(),
		Subject: subject,
		Text:    text,
	}
	for _, r := range n.receivers(j) {
		if _, ok := n.take(r.key); !ok {
			return fmt.Errorf("more than %d messages an hour", n.PerHour)
		}
		if err := n.insist(ctx, r, m); err != nil {
			return err
		}
	}
	return nil
}
