// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"mirrord/fetch/reach"
	"mirrord/internal/timed"
)

// Options says how a Client talks. The zero value is useful: it identifies itself, verifies certificates,
// refuses private addresses and has a limit on everything but total time.
type Options struct {
	UserAgent string // sent with every request; default "mirrord"

	// Secrets. They are sent to AuthOrigins only ("https://example.org", "http://host:8080"), so that a page
	// requisite on another host does not learn them.
	AuthOrigins   []string
	AuthHeader    map[string]string
	BasicUser     string
	BasicPassword string

	Cookies      bool           // keep the cookies that hosts set, in memory, for the life of the Client
	CookiePreset []*http.Cookie // sent from the start; each needs a Domain
	// hosts that get none, although a cookie's Domain covers them, and whose own are not kept
	NoCookies []string

	// http://, https://, socks5:// or socks5h://, with credentials if need be; default none
	Proxy       string
	CAFile      []byte // PEM certificates trusted in addition to the system's
	InsecureTLS bool   // do not verify certificates: anybody on the way can forge the mirror

	ConnectTimeout time.Duration // DNS, TCP and, on its own again, TLS; default 20 s
	HeaderTimeout  time.Duration // from a ready connection to the end of the answer's header; default 60 s
	IdleTimeout    time.Duration // longest silence within a body; default 60 s
	TotalTimeout   time.Duration // a whole attempt; default none: a large file may take hours
	// bytes per second that a body must bring over MinRateWindow; default 64, negative none
	MinRate       int64
	MinRateWindow time.Duration // default 60 s; only time spent waiting for the network counts

	MaxHeaderFields int   // default 1000
	MaxBody         int64 // bytes of a body after decoding; default 4 GiB
	// decoded over coded bytes, judged after 1 MiB of output; default 400 (gzip's own end is 1032)
	MaxRatio float64

	// connections of this Client to one host; default unlimited, as Hosts bounds requests anyway
	MaxConnsPerHost int
	DisableHTTP2    bool //
	NoHeads         bool // do not keep the heads of responses as they came: Head.Whole is nil
	// bytes of body per second, shared by all clients with the same limiter; default none
	Bandwidth *rate.Limiter

	// which loopback, private and otherwise special addresses may be connected to; default none
	Reach   reach.Policy
	Names   Names   // remembers which names were public; default for the life of the Client
	Network Network // resolves and connects; default the system

	Retries int           // attempts after the first; default 2, negative none
	Backoff time.Duration // bound of the random wait before the first retry; doubles with each; default 1 s

	// wall clock for HTTP dates and the robots cache; default time.Now
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error // waits between attempts; default a timer
	Rand  func() float64                             // [0,1), jitter; default math/rand/v2
	Log   *slog.Logger                               // retries at debug level; default none
}

const (
	mib = 1 << 20
	gib = 1 << 30

	maxHeaderBytes = 256 << 10        // all header fields of an answer, 1xx answers included
	backoffCap     = 30 * time.Second // end of the doubling of Options.Backoff
)

func (o Options) withDefaults() Options {
	setDuration := func(p *time.Duration, d time.Duration) {
		if *p <= 0 {
			*p = d
		}
	}
	o.UserAgent = cmp.Or(o.UserAgent, "mirrord")
	setDuration(&o.ConnectTimeout, 20*time.Second)
	setDuration(&o.HeaderTimeout, 60*time.Second)
	setDuration(&o.IdleTimeout, 60*time.Second)
	setDuration(&o.MinRateWindow, 60*time.Second)
	setDuration(&o.Backoff, time.Second)
	o.MinRate, o.MaxBody = cmp.Or(o.MinRate, 64), cmp.Or(o.MaxBody, 4*gib)
	o.MaxHeaderFields, o.Retries = cmp.Or(o.MaxHeaderFields, 1000), cmp.Or(o.Retries, 2)
	if o.MaxRatio <= 0 {
		o.MaxRatio = 400
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Names == nil {
		o.Names = new(memoryNames)
	}
	if o.Network == nil {
		o.Network = System()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// sleep waits for d or until ctx ends, and then returns the cause.
func sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		_ = timed.Wait(ctx, d)
	}
	return context.Cause(ctx)
}
