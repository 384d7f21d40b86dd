// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"bytes"
	"sync"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/scope"
)

// refusals remembers URLs that the rules refused last: the pages of a site have links to other sites in
// common. Safe for concurrent use.
type refusals struct {
	mu   sync.Mutex
	last [refusedLast]refused
}

type refused struct {
	url     []byte
	purpose scope.Purpose
}

const (
	refusedLast = 1024
	refusedSize = 256 // bytes: longer ones are asked for each time
)

// has reports whether a candidate was refused not long ago.
func (r *refusals) has(c *scope.Candidate) bool {
	h := xxh3.Hash(c.URL) % refusedLast
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.last[h]
	return l.purpose == c.Purpose && len(l.url) > 0 && bytes.Equal(l.url, c.URL)
}

// add remembers one.
func (r *refusals) add(c *scope.Candidate) {
	if len(c.URL) > refusedSize {
		return
	}
	h := xxh3.Hash(c.URL) % refusedLast
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.last[h]
	l.url, l.purpose = append(l.url[:0], c.URL...), c.Purpose
}
