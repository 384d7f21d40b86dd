// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"sync"
	"time"
)

// Queued is a URL on its way into the frontier.
type Queued struct {
	ID     uint32
	Origin string
	Prio   Priority
}

// Delayed is a URL that must not be requested before a time.
type Delayed struct {
	ID     uint32
	Origin string
	At     time.Time
}

// Postponed holds the URLs that wait until the sources of evidence were requested. Safe for concurrent use;
// the zero value is ready. Its lock may be taken while the URL table waits.
type Postponed struct {
	mu      sync.Mutex
	urls    []Queued
	delayed []Delayed
	stored  map[uint32]bool // of those that stored documents name
}

// Add lets URLs wait.
func (p *Postponed) Add(qs ...Queued) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.urls = append(p.urls, qs...)
}

// Delay lets a URL wait that needs another turn later.
func (p *Postponed) Delay(d Delayed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delayed = append(p.delayed, d)
}

// First reports whether this is the first stored document that names a URL, so that the URL is added once.
func (p *Postponed) First(id uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stored[id] {
		return false
	}
	if p.stored == nil {
		p.stored = map[uint32]bool{}
	}
	p.stored[id] = true
	return true
}

// AnyDelayed reports whether some URL needs another turn later.
func (p *Postponed) AnyDelayed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.delayed) > 0
}

// Take ends the wait: it returns what waited, in the order of additions, and forgets it.
func (p *Postponed) Take() (urls []Queued, delayed []Delayed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	urls, delayed = p.urls, p.delayed
	p.urls, p.delayed, p.stored = nil, nil, nil
	return urls, delayed
}
