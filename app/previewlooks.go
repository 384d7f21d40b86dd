// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"sync"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/site"
)

// lookCounter makes requests until there were enough, and then ends the run. A robots.txt counts as one. It
// is a mirror.Fetcher and a mirror.Robots, and safe for concurrent use.
type lookCounter struct {
	fetcher mirror.Fetcher
	robots  mirror.Robots
	most    int
	enough  func() // ends the run

	mu      sync.Mutex // guards what follows
	count   int
	made    []PreviewLook
	origins map[string]bool // whose robots.txt is known
}

// take counts a request; ok is false when there were enough.
func (c *lookCounter) take() (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count >= c.most {
		return false
	}
	c.count++
	return true
}

// Do makes a request, or ends the run.
func (c *lookCounter) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	if !c.take() {
		c.enough()
		return &fetch.Result{}, &fetch.Error{URL: req.URL, Class: fetch.ErrCanceled}
	}
	res, err := c.fetcher.Do(ctx, req, sink)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, PreviewLook{URL: req.URL.String(), Status: res.Status})
	return res, err
}

// Rules returns the rules of an origin, or ends the run.
func (c *lookCounter) Rules(ctx context.Context, u site.URL) (*fetch.Robots, error) {
	c.mu.Lock()
	known := c.origins[u.Origin()]
	c.origins[u.Origin()] = true
	c.mu.Unlock()
	if !known && !c.take() {
		c.enough()
		return nil, context.Canceled
	}
	return c.robots.Rules(ctx, u)
}
