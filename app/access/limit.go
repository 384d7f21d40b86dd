// SPDX-License-Identifier: Apache-2.0

package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limit bounds how often something happens, for each key. Make it with NewLimit. It is safe for concurrent
// use.
type Limit struct {
	every rate.Limit
	burst int

	mu    sync.Mutex
	keys  map[string]*rate.Limiter
	swept time.Time
	rest  *rate.Limiter // of all keys that find no room
}

// mostKeys is how many keys a Limit knows. Who comes beyond them shares one allowance, so that a flood of
// addresses costs no memory and passes no limit.
const mostKeys = 10_000

// NewLimit allows a burst for each key, and one more each time that every has passed.
func NewLimit(every time.Duration, burst int) *Limit {
	return &Limit{
		every: rate.Every(every),
		burst: burst,
		keys:  map[string]*rate.Limiter{},
		rest:  rate.NewLimiter(rate.Every(every), burst),
	}
}

// Allow counts an event; false says that it is one too many.
func (l *Limit) Allow(key string, now time.Time) bool { return l.of(key, now).AllowN(now, 1) }

// of returns the limiter of a key.
func (l *Limit) of(key string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.keys[key]; one != nil {
		return one
	}
	if len(l.keys) >= mostKeys && now.Sub(l.swept) >= time.Second {
		l.swept = now
		for k, one := range l.keys {
			if one.TokensAt(now) >= float64(l.burst) {
				delete(l.keys, k)
			}
		}
	}
	if len(l.keys) >= mostKeys {
		return l.rest
	}
	one := rate.NewLimiter(l.every, l.burst)
	l.keys[key] = one
	return one
}

// Client is the key of a client's address: an IPv6 network of 64 bits is one client.
func Client(remote string) string {
	addr, ok := addrOf(remote)
	if !ok {
		return remote
	}
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}
