// Package notify tells people about jobs that did not end well: by a command, a webhook and mail, as the job says.
//
// What is to be told is decided elsewhere (status.Told); this package delivers it. Delivering takes time and may fail or hang: each delivery has a
// timeout, webhooks and mail are tried again, and nobody who calls Tell waits. Messages to one receiver are bounded per hour, so that a network
// that is down does not send one mail for each of a thousand jobs: those above are held back, and the next one that goes says how many there were.
package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/job"
	"mirrord/status"
)

// Options say how messages are delivered. LookupEnv and ReadFile are needed.
type Options struct {
	Host      string // name of this machine, in messages
	LookupEnv func(string) (string, bool)
	ReadFile  func(string) ([]byte, error)

	Mail    Mail
	Timeout time.Duration   // of one attempt; default 30 s
	Pauses  []time.Duration // before the second, third, … attempt of a webhook or mail; default 10 s, 1 min
	PerHour int             // messages to one receiver; default 20
	Now     func() time.Time
	Log     *slog.Logger // default none
}

// Notifier delivers messages. It is safe for concurrent use.
type Notifier struct {
	o      Options
	client *http.Client
	queue  chan queued
	untold atomic.Int64

	mu   sync.Mutex
	sent map[string]*quota // by receiver
}

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
	return &Notifier{o: o, queue: make(chan queued, waiting), sent: map[string]*quota{}, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a message belongs to the address that was given
	}}
}

// Untold is how many messages could not be delivered or were held back.
func (n *Notifier) Untold() int64 { return n.untold.Load() }

// Tell takes a message for everybody whom a job names. It does not wait.
func (n *Notifier) Tell(kind status.Kind, j *job.Job, s status.Job) {
	select {
	case n.queue <- queued{j, status.NewMessage(kind, n.o.Host, s, n.o.Now())}:
	default:
		n.untold.Add(1)
		n.o.Log.Error("too many messages wait; one was dropped", "job", j.Name, "kind", string(kind))
	}
}

// last is how long what waits may take when the daemon ends.
const last = 5 * time.Second

// Run delivers messages until ctx ends, and what is under way or waits then for a moment longer.
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

// Test delivers a test to everybody whom a job names and returns how that went; one attempt each, and no bound.
func (n *Notifier) Test(ctx context.Context, j *job.Job, s status.Job) []Delivery {
	m := status.NewMessage(status.TellTest, n.o.Host, s, n.o.Now())
	var out []Delivery
	for _, r := range n.receivers(j) {
		out = append(out, Delivery{r.name, n.try(ctx, r, m)})
	}
	return out
}

// receiver is one way to reach somebody.
type receiver struct {
	name  string // for people; no secrets
	key   string // of the quota
	again bool   // worth a second attempt
	send  func(ctx context.Context, m status.Message) error
}

func (n *Notifier) receivers(j *job.Job) []receiver {
	var out []receiver
	if c := j.Notify.Command; c != "" {
		out = append(out, receiver{commandName(c), "command " + c, false, func(ctx context.Context, m status.Message) error { return command(ctx, n.o, c, m) }})
	}
	if w := j.Notify.Webhook; !w.IsZero() {
		out = append(out, receiver{webhookName(w), "webhook " + w.String(), true, func(ctx context.Context, m status.Message) error { return n.webhook(ctx, j, m) }})
	}
	for _, to := range j.Notify.Email {
		out = append(out, receiver{"mail to " + to, "mail " + to, true, func(ctx context.Context, m status.Message) error { return n.o.Mail.send(ctx, n.o, to, m) }})
	}
	return out
}

// commandName shows of a command what it runs: the rest of the line may have a secret in it.
func commandName(line string) string {
	first, more, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case strings.ContainsAny(first, "=;&|<>()$`\"'\\\n\t"):
		return "command"
	case more != "":
		return "command " + first + " …"
	}
	return "command " + first
}

// webhookName shows of an address that stands in a job file whose it is: the path is often the secret.
func webhookName(w job.Secret) string {
	if w.Value == "" {
		return "webhook " + w.String()
	}
	u, err := url.Parse(w.Value)
	if err != nil {
		return "webhook"
	}
	return "webhook " + u.Scheme + "://" + u.Host + "/…"
}

// deliver brings a message to all receivers.
func (n *Notifier) deliver(ctx context.Context, j *job.Job, m status.Message) {
	for _, r := range n.receivers(j) {
		dropped, ok := n.take(r.key)
		if !ok {
			n.untold.Add(1)
			n.o.Log.Warn("message held back: too many to this receiver", "job", j.Name, "kind", string(m.Kind), "to", r.name)
			continue
		}
		m := m
		if m.Dropped = dropped; dropped > 0 {
			m.Text += fmt.Sprintf("%d messages before this one were held back, because there were more than %d an hour: mirrord status\n", dropped, n.o.PerHour)
		}
		err := n.try(ctx, r, m)
		for i := 0; err != nil && r.again && i < len(n.o.Pauses) && ctx.Err() == nil; i++ {
			t := time.NewTimer(n.o.Pauses[i])
			select {
			case <-t.C:
				err = n.try(ctx, r, m)
			case <-ctx.Done():
				t.Stop()
			}
		}
		if err != nil {
			n.untold.Add(1)
			n.o.Log.Error("message not delivered", "job", j.Name, "kind", string(m.Kind), "to", r.name, "err", err)
			continue
		}
		n.o.Log.Info("told", "job", j.Name, "kind", string(m.Kind), "to", r.name)
	}
}

// take counts one message against the quota of a receiver; dropped is how many were held back before it.
func (n *Notifier) take(key string) (dropped int, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	q, now := n.sent[key], n.o.Now()
	if q == nil {
		maps.DeleteFunc(n.sent, func(_ string, q *quota) bool { return q.dropped == 0 && now.Sub(q.hour) >= time.Hour })
		q = new(quota)
		n.sent[key] = q
	}
	if d := now.Sub(q.hour); d >= time.Hour || d < 0 {
		q.hour, q.count = now, 0
	}
	if q.count >= n.o.PerHour {
		q.dropped++
		return 0, false
	}
	q.count++
	dropped, q.dropped = q.dropped, 0
	return dropped, true
}

// try makes one attempt.
func (n *Notifier) try(ctx context.Context, r receiver, m status.Message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, n.o.Timeout, fmt.Errorf("no end after %v", n.o.Timeout))
	defer cancel()
	err := r.send(ctx, m)
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// SignatureHeader holds "t=UNIX,v1=HEX": the time at which it is sent and the HMAC-SHA256, keyed with notify.webhook_key, of UNIX, a dot and the body.
// Who receives it computes the same, and refuses a time that is not about now.
const SignatureHeader = "X-Mirrord-Signature"

// Sign returns the value of SignatureHeader.
func Sign(key string, at time.Time, body []byte) string {
	unix := strconv.FormatInt(at.Unix(), 10)
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(unix + "."))
	h.Write(body)
	return "t=" + unix + ",v1=" + hex.EncodeToString(h.Sum(nil))
}

func (n *Notifier) webhook(ctx context.Context, j *job.Job, m status.Message) error {
	addr, err := j.Notify.Webhook.Resolve(n.o.LookupEnv, n.o.ReadFile)
	if err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	resp, err := n.post(ctx, addr, j, m, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answers %s", resp.Status)
	}
	return nil
}

func (n *Notifier) post(ctx context.Context, addr string, j *job.Job, m status.Message, body []byte) (*http.Response, error) {
	req, err := newPost(ctx, addr, body)
	if err != nil {
		return nil, errors.New("the address is no web URL") // and is not shown: it may be a secret
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "mirrord")
	req.Header.Set("X-Mirrord-Event", string(m.Kind))
	if k := j.Notify.WebhookKey; !k.IsZero() {
		key, err := k.Resolve(n.o.LookupEnv, n.o.ReadFile)
		if err != nil {
			return nil, err
		}
		req.Header.Set(SignatureHeader, Sign(key, n.o.Now(), body))
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	return resp, nil
}
