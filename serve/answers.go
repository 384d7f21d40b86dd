// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/sha256"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// answers remembers which file an address of a mirror's current version means, with the header fields that
// every answer has, and the bytes of small files that were requested again. A key has the state of the site
// in it, so that nothing need be forgotten when a version is published: what was said before is not found any
// more, and goes when its place is needed. It is safe for concurrent use.
type answers struct {
	limit int64 // bytes kept; negative: nothing

	mu    sync.RWMutex // guards what follows
	kept  map[answerKey]*served
	bytes int64
}

// answerKey is all that the choice of a file depends on. Requests for another time, and addresses that mean
// another file to a request from outside, are not remembered.
type answerKey struct {
	name               string
	state              uint64 // 0: nothing is remembered
	https              bool   // like the host, for the addresses in Link
	host, prefix, path string // path as it was sent, with its query
}

// served is a file, as it is sent. What is not atomic does not change once it is kept.
type served struct {
	r      Resource
	packs  bool // whether it may be compressed
	etag   []string
	kind   []string // Content-Type
	check  []string // Cache-Control, where nothing else is said
	ranges []string
	// modified is Last-Modified; nil when the origin sent none.
	modified []string

	key    answerKey // without state: it is not remembered
	fields fields    // that do not depend on the request; only of one that is remembered
	asked  atomic.Int64
	body   atomic.Pointer[[]byte] // bytes of the file; nil: they are not in memory
	cost   int64                  // bytes without body
}

// answerCost is what an answer takes beside its texts and its body, in bytes.
const answerCost = 1024

// maxKeptBody is the largest file in bytes that is kept in memory. What is larger takes so long to send that
// opening it costs little.
const maxKeptBody = 64 << 10

func newServed(r Resource) *served {
	a := &served{
		r:      r,
		packs:  compressible(r.MIME) && r.Size >= minCompress,
		etag:   []string{etag(r, "")},
		kind:   []string{contentType(r)},
		check:  []string{"no-cache"}, // keep it, but ask whether a new version has come
		ranges: []string{"bytes"},
	}
	if !r.Modified.IsZero() && r.Modified.Unix() != 0 { // as http.ServeContent has it
		a.modified = []string{r.Modified.UTC().Format(http.TimeFormat)}
	}
	return a
}

// remember gives an answer its key, and the fields that h has for it.
func (a *served) remember(key answerKey, h http.Header) {
	vary := h["Vary"]
	if a.packs {
		vary = append(slices.Clip(vary), "Accept-Encoding")
	}
	a.key, a.cost = key, answerCost
	for _, f := range [...]field{{"Vary", vary}, {"Link", h["Link"]}} {
		if len(f.values) > 0 {
			f.values = slices.Clip(f.values)
			a.fields = append(a.fields, f)
		}
		for _, s := range f.values {
			a.cost += int64(len(s))
		}
	}
	a.cost += int64(2*len(key.path) + len(key.host) + 2*len(a.r.Path))
}

func newAnswers(limit int64) *answers {
	return &answers{limit: limit, kept: map[answerKey]*served{}}
}

// get returns what is remembered for a key, or nil.
func (c *answers) get(key answerKey) *served {
	if key.state == 0 {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.kept[key]
}

// put remembers an answer.
func (c *answers) put(a *served) {
	if c.limit < 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.kept[a.key]; old != nil {
		c.drop(old)
	}
	c.kept[a.key] = a
	c.bytes += a.cost
	c.evict()
}

// hold keeps the bytes of an answer's file, as long as the answer is kept.
func (c *answers) hold(a *served, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[a.key] != a || a.body.Load() != nil {
		return
	}
	a.body.Store(&body)
	c.bytes += int64(len(body))
	c.evict()
}

// evict makes room; c.mu is held. What goes is left to chance, the order of the map: a client that reads all
// files in turn, again and again, would find nothing in a cache from which the oldest goes.
func (c *answers) evict() {
	for _, a := range c.kept {
		if c.bytes <= c.limit {
			return
		}
		c.drop(a)
	}
}

// drop forgets an answer; c.mu is held.
func (c *answers) drop(a *served) {
	delete(c.kept, a.key)
	c.bytes -= a.cost
	if b := a.body.Load(); b != nil {
		c.bytes -= int64(len(*b))
	}
}

// answerKey returns the key of the request, for a path below the mirror. It has a state when the request may
// have an answer that is remembered.
func (v *view) answerKey(path string) (key answerKey) {
	s, ok := v.site.(stateful)
	if !ok || !v.method() || v.r.Header["Accept-Datetime"] != nil {
		return key
	}
	key = answerKey{
		name:   v.name,
		state:  s.State(),
		https:  v.o.HTTPS || v.r.TLS != nil,
		host:   v.r.Host,
		prefix: v.prefix,
		path:   path,
	}
	if q := query(v.r.URL); q != "" {
		key.path += q
	}
	return key
}

// inMemory returns the bytes of a file that are in memory, or nil. They are read, and compared with the
// digest of the table, at the second request: most files are not requested twice.
func (v *view) inMemory(a *served) ([]byte, error) {
	if b := a.body.Load(); b != nil {
		return *b, nil
	}
	if a.key.state == 0 || a.r.Size > maxKeptBody || a.asked.Add(1) != 2 {
		return nil, nil
	}
	f, err := v.file(a.r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, a.r.Size)
	if _, err := io.ReadFull(f, b); err != nil || sha256.Sum256(b) != a.r.Digest {
		return nil, nil // a damaged file is sent as it lies there
	}
	v.answers.hold(a, b)
	return b, nil
}
