// SPDX-License-Identifier: Apache-2.0

// Package engine makes many mirrord one cluster over NATS JetStream: which nodes there are, which of them
// runs which site, and whose requests a host gets. The rules are those of package lease; here they meet a
// key-value bucket, whose writes name the revision that they replace. What a node reads may be old; a write
// that rests on it is refused then.
//
//	keys.go      the keys of the bucket
//	table.go     what a node knows; the lock
//	session.go   the beat
//	sessions.go  who works, for claims that are kept elsewhere
//	share.go     which hosts are this node's
//	holdings.go  taking hosts and giving them back
//	peers.go     who else there is, and who has ended
//	site.go      leases of sites: store.Owner
//	loans.go     turns of hosts that another node has
//	calls.go     HTTP requests from node to node
//	facts.go     what nodes share besides sites: shared.KeyValues
//	removed.go tombstones of removed facts
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mirrord/cluster/lease"
	"mirrord/fetch"
	"mirrord/site"
)

// Options say which node this is and where the keepers are.
type Options struct {
	Servers  []string                   // nats://HOST:PORT of keepers
	Keeper   nats.InProcessConnProvider // of this process; nil: none
	Secret   string                     // of the cluster; "": none
	CA       string                     // file: who signed the keepers' certificates; "": whom the system trusts
	Replicas int                        // on how many keepers each value lies, when the bucket is made
	Node     string                     // the name of this node
	Slots    int                        // runs at a time: its share of the sites
	Version  string                     // of mirrord
	// Mode is what all nodes must agree on; "": it does not join one. The first node decides.
	Mode  string
	Homes bool                     // each site stays on the node that had it first
	Term  lease.Term               // default: DefaultTerm
	Floor func(site string) uint64 // a token that was in use before; nil for none
	Now   func() time.Duration     // a steady clock; default: that of the system
	Log   *slog.Logger             // default: none
}

// DefaultTerm lets a node outlive the choice of a new leader among the keepers, which takes up to ten
// seconds.
func DefaultTerm() lease.Term { return lease.Term{TTL: 30 * time.Second, Gap: 10 * time.Second} }

// Engine is one node's part in a cluster. Safe for concurrent use.
type Engine struct {
	Options
	nc *nats.Conn
	kv jetstream.KeyValue
	t  *table

	failed atomic.Int64 // calls in a row
	began  atomic.Int64 // Unix time of the session
	// why a keeper was not reached when that was last tried
	refused atomic.Pointer[error]
	*turns

	wake    chan struct{} // size 1: one look is enough
	changed chan struct{} // size 1, likewise
}

// Open connects to the keepers and makes the bucket when it is not there. It waits for them until ctx ends,
// also while their mode is another one.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Term == (lease.Term{}) {
		o.Term = DefaultTerm()
	}
	if o.Now == nil {
		o.Now = steady
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		Options: o,
		wake:    make(chan struct{}, 1),
		changed: make(chan struct{}, 1),
	}
	e.t = newTable(o.Node, o)
	var err error
	if e.nc, err = connect(o, func(err error) { e.refused.Store(&err) }); err != nil {
		return nil, err
	}
	e.turns = &turns{
		Options: &e.Options,
		nc:      e.nc,
		t:       e.t,
		wake:    e.wake,
	}
	for tell := time.Now().Add(tellAfter); ; {
		e.kv, err = openBucket(ctx, e.nc, jetstream.KeyValueConfig{
			Bucket:      bucket,
			Description: "mirrord: sessions, leases and members",
			Replicas:    o.Replicas,
		})
		if err == nil {
			err = agree(ctx, e.kv, o.Mode)
		}
		if err == nil {
			return e, nil
		}
		again := retryOpen
		if errors.Is(err, ErrMode) {
			again = retryMode
			o.Log.Error("this node waits", "err", err)
		}
		select {
		case <-ctx.Done():
			err = away(e, err)
			e.nc.Close()
			return nil, fmt.Errorf("reach the cluster at %s: %w", strings.Join(o.Servers, ","), err)
		case <-time.After(again):
			if now := time.Now(); now.After(tell) {
				tell = now.Add(tellEvery)
				o.Log.Warn("the keepers do not answer; this node waits", "err", away(e, err))
			}
			if errors.Is(err, context.DeadlineExceeded) { // it took long enough
				e.failed.Store(failedMost - 1)
			}
			tryAnother(e)
		}
	}
}

// away says why the keepers are not reached: what a call says, and why there is no connection.
func away(e *Engine, err error) error {
	last := e.nc.LastError()
	if said := e.refused.Load(); last == nil && said != nil {
		last = *said
	}
	switch {
	case last == nil || e.nc.IsConnected():
		return err
	case errors.Is(last, nats.ErrAuthorization):
		return fmt.Errorf("the keepers have another secret than --cluster-secret: %w", last)
	case errors.Is(last, nats.ErrSecureConnWanted):
		return fmt.Errorf("the keepers do not encrypt; nats:// instead of tls://: %w", last)
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return last // it only says that there is no connection
	default:
		return fmt.Errorf("%w: %w", err, last)
	}
}

// ErrMode says that a node and its cluster cannot go together.
var ErrMode = errors.New("the cluster is another one")

// agree compares the mode of a node with that of the cluster.
func agree(ctx context.Context, kv jetstream.KeyValue, mine string) error {
	if mine == "" {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := put(short, kv, keyMode, mine, 0)
	if !errors.Is(err, errOther) {
		return err
	}
	mode, _, err := get[string](short, kv, keyMode)
	if err == nil && mode != mine {
		err = fmt.Errorf("%w: its sites lie in %s, and this node was told %s; give it the --depot of the others, "+
			"or, if that was made again, give it to the cluster: mirrord cluster adopt", ErrMode, mode, mine)
	}
	return err
}

// Identify reads what tells the cluster from others, and makes it when it is not there. It is new when all
// keepers have lost what they kept. It waits for the keepers until ctx ends.
func Identify(ctx context.Context, e *Engine) (string, error) {
	for {
		id, err := identify(ctx, e)
		if err == nil {
			return id, nil
		}
		e.Log.Debug("which cluster it is cannot be read yet", "err", err)
		if !pause(ctx, retryOpen) {
			return "", fmt.Errorf("read which cluster it is: %w", err)
		}
	}
}

func identify(ctx context.Context, e *Engine) (string, error) {
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	id := rand.Text()
	_, err := put(short, e.kv, keyCluster, id, 0)
	if errors.Is(err, errOther) {
		id, _, err = get[string](short, e.kv, keyCluster)
	}
	return id, err
}

// retryOpen is the pause between attempts to reach a cluster that starts.
const retryOpen = 200 * time.Millisecond

// When is said that a node waits for keepers, and how often.
const (
	tellAfter = 15 * time.Second
	tellEvery = time.Minute
)

// retryMode is the pause of a node that waits until its cluster is another one. It remains a keeper
// meanwhile: without it nothing could be changed.
const retryMode = 10 * time.Second

// connect reaches a keeper, and any other one when it is lost. refused is called with the error
// of each failed try.
func connect(o Options, refused func(error)) (*nats.Conn, error) {
	with := []nats.Option{
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { refused(err) }),
		nats.Name("mirrord " + o.Node),
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(300 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, time.Second),
		nats.Timeout(3 * time.Second),
		nats.PingInterval(o.Term.TTL / 6), nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1),   // what was not sent is an error at once, and is decided again
		nats.IgnoreAuthErrorAbort(), // else one keeper with another secret would part a node from all
	}
	with = append(with, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		o.Log.Debug("the keepers were not heard of for a moment", "err", err) // else it goes to stderr
	}))
	if o.Secret != "" {
		with = append(with, nats.Token(o.Secret))
	}
	if o.CA != "" {
		with = append(with, nats.RootCAs(o.CA))
	}
	if o.Keeper != nil {
		with = append(with, nats.InProcessServer(o.Keeper))
	}
	nc, err := nats.Connect(strings.Join(o.Servers, ","), with...)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return nc, nil
}

// openBucket opens a bucket, and makes it when it is not there and c says on how many keepers it is to lie.
func openBucket(
	ctx context.Context, nc *nats.Conn, c jetstream.KeyValueConfig,
) (jetstream.KeyValue, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	kv, err := js.KeyValue(short, c.Bucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) || c.Replicas < 1 {
		return kv, err
	}
	c.Storage = jetstream.FileStorage
	return js.CreateKeyValue(short, c)
}

// Run takes part in the cluster until ctx ends; then it gives back what it has. It is called once.
func (e *Engine) Run(ctx context.Context) {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { e.keepSession(work) })
	wg.Go(func() { e.endInTime(work) })
	wg.Go(func() { e.keepPeers(work) })
	wg.Go(func() { e.keepShare(work) })
	<-ctx.Done()
	stop()
	wg.Wait()
	e.leave()
}

// Close ends the connection. Leases that were not given back end with the term.
func (e *Engine) Close() { e.nc.Close() }

// Want sets the sites that the cluster is to run, by name, with their main hosts. All nodes want the same
// ones, and have the same job files, of which jobs is a digest. here says which sites lie on the disk of this
// node.
func (e *Engine) Want(sites map[string]string, here []string, jobs string) {
	e.t.want(sites, here, jobs)
	kick(e.wake)
}

// Shared returns the hosts whose sites this node is to run now.
func (e *Engine) Shared() map[string]bool { return e.t.shared() }

// Changed receives when Shared may be another one.
func (e *Engine) Changed() <-chan struct{} { return e.changed }

func kick(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// askAgain is when to ask again for a host that this node does not have yet.
const askAgain = 200 * time.Millisecond

// tooLong is a wait that no run accepts: for hosts of another node that lends no turn.
const tooLong = 24 * time.Hour

// Turn is fetch.Others. A host that is not this node's is asked for; when another node has it, that one is
// asked for a turn.
func (e *Engine) Turn(hostname string, p fetch.Politeness, now time.Time) (again time.Time) {
	wait, asked, of := e.t.turn(site.RegistrableDomain(hostname))
	switch {
	case of != "":
		return e.borrow(hostname, of, p, now)
	case asked:
		kick(e.wake)
	}
	if wait == 0 {
		return time.Time{}
	}
	return now.Add(wait)
}
