// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/site"
)

// lookCounter makes requests until there were enough, and then ends the run. A robots.txt counts as one. It
// is a mirror.Fetcher and a mirror.Robots, and safe for concurrent use.
type lookCounter struct {
	fetcher source.Fetcher
	robots  source.Robots
	most    int
	enough  func() // ends the run

	mu      sync.Mutex // guards what follows
	count   int
	flying  int  // requests that are under way
	refused bool // one more was wanted
	made    []PreviewLook
	origins map[string]bool // whose robots.txt is known
	maps    sitemapSize
}

// sitemapSink counts what a sitemap lists while it is read.
type sitemapSink struct {
	fetch.Sink
	c *lookCounter
}

func (s sitemapSink) Begin(h *fetch.Head) (io.Writer, error) {
	w, err := s.Sink.Begin(h)
	if err != nil || w == nil {
		return w, err
	}
	return &sitemapWriter{Writer: w, c: s.c}, nil
}

// sitemapWriter passes a sitemap on and counts its elements.
type sitemapWriter struct {
	io.Writer
	c    *lookCounter
	tail []byte // of what came before, in which an element may begin
	urls bool   // it lists URLs
}

func (w *sitemapWriter) Write(p []byte) (int, error) {
	const child, entry = "<sitemap>", "<url>"
	text := append(w.tail, p...)
	// what ends in the tail was counted before
	count := func(what string) int64 {
		return int64(bytes.Count(text, []byte(what)) - bytes.Count(w.tail, []byte(what)))
	}
	children, urls := count(child), count(entry)
	w.tail = bytes.Clone(text[max(0, len(text)-len(child)+1):])
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.maps.children += children
	w.c.maps.urls += urls
	if urls > 0 && !w.urls {
		w.urls = true
		w.c.maps.read++
	}
	return w.Writer.Write(p)
}

// size is what the sitemaps list.
func (c *lookCounter) size() sitemapSize {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.maps
}

// take counts a request; ok is false when there were enough.
func (c *lookCounter) take() (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count >= c.most {
		return false
	}
	c.count++
	c.flying++
	return true
}

// landed takes in that a request has been answered, or was refused: the run ends with the last answer.
func (c *lookCounter) landed(refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused = c.refused || refused; !refused {
		c.flying--
	}
	if c.refused && c.flying == 0 {
		c.enough()
	}
}

// Do makes a request, or ends the run.
func (c *lookCounter) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	if !c.take() {
		c.landed(true)
		<-ctx.Done()
		return &fetch.Result{}, &fetch.Error{URL: req.URL, Class: fetch.ErrCanceled}
	}
	if sink != nil && strings.Contains(strings.ToLower(req.URL.Path()), "sitemap") {
		sink = sitemapSink{sink, c}
	}
	defer c.landed(false)
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
	if !known {
		if !c.take() {
			c.landed(true)
			<-ctx.Done()
			return nil, context.Canceled
		}
		defer c.landed(false)
	}
	return c.robots.Rules(ctx, u)
}
