// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"time"

	"mirrord/fetch"
	"mirrord/site"
)

// Origin is the site itself. It is safe for concurrent use.
type Origin struct {
	Fetcher Fetcher
	Bodies  *BodyOptions
	Now     func() time.Time
}

// Get makes the request of an Ask, in a turn of the host that its caller took. The Answer has the Result of
// the exchange, also with an error: the disk failed, or errors.Is says fetch.ErrCanceled, because the run
// ends.
func (o *Origin) Get(ctx context.Context, ask *Ask) (Answer, error) {
	req := ask.Request
	body := o.Bodies.New(req.URL)
	a := Answer{From: FromOrigin, body: body}
	if err := body.Resume(ctx, &req); err != nil {
		return a, err
	}
	body.refuse = ask.Refuse
	sink := fetch.Sink(body)
	if ask.Watcher != nil {
		sink = watchedSink{body, ask.Watcher}
	}
	a.Result, a.Err = o.Fetcher.Do(ctx, req, sink)
	if class := ask.givenUp(ctx); (a.Err != nil) && (class != nil) {
		a.Err = &fetch.Error{URL: req.URL, Class: class, Err: context.Cause(ctx)}
		ctx = context.WithoutCancel(ctx) // the run continues
	}
	body.Ended(a.Result, a.Err)
	if err := body.Err(); err != nil {
		return a, err
	}
	if ended(ctx, a.Err) {
		return a, errors.Join(fetch.ErrCanceled, a.Err)
	}
	a.Status, a.Checked = a.Result.Status, o.Now().Unix()
	if seen := a.Result.Seen; !seen.IsZero() {
		a.Checked = seen.Unix()
	}
	if a.Refused = body.refused; a.Refused != "" {
		a.Err = nil
	}
	if a.Err == nil && isPage(a.Result) {
		a.Content = contentOf(a.Result, body, o.Now())
	}
	return a, nil
}

// ended reports whether an exchange failed because the run ends.
func ended(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, fetch.ErrCanceled))
}

// contentOf returns the body of an exchange.
func contentOf(res *fetch.Result, body *BodySink, now time.Time) *Received {
	body.received = Received{
		Body:     body,
		MIME:     res.MIME,
		Charset:  res.Charset,
		Modified: res.ModifiedAt(now),
		Head:     &res.Head,
	}
	return &body.received
}

// probeBody is how much of the body of a probe is read, in bytes, so that its connection can be used again.
const probeBody = 64 << 10

// Probe requests a URL once, in a turn of the host that its caller took, to find out whether its origin
// answers within a time. It keeps nothing. The result is never nil; with a status, an answer came.
func (o *Origin) Probe(
	ctx context.Context, u site.URL, gap, patience time.Duration,
) (*fetch.Result, error) {
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req := fetch.Request{
		URL:     u,
		Gap:     gap,
		MaxBody: probeBody,
		Cut:     true,
		NoRetry: true,
		NoMend:  true,
	}
	res, err := o.Fetcher.Do(soon, req, new(PageSink))
	if late := (err != nil) && (soon.Err() != nil) && (ctx.Err() == nil); late {
		err = fetch.Unanswered(u, patience)
	}
	return res, err
}

// Again requests a document of at most so many bytes once more, in a turn of the host that its caller took.
// It keeps nothing. The result is never nil.
func (o *Origin) Again(
	ctx context.Context, u site.URL, gap time.Duration, most int64,
) (*fetch.Result, []byte, error) {
	var body PageSink
	res, err := o.Fetcher.Do(ctx, fetch.Request{
		URL:     u,
		Gap:     gap,
		MaxBody: most,
		NoRetry: true,
		NoMend:  true,
	}, &body)
	return res, body.Bytes(), err
}
