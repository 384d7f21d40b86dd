// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"mirrord/fetch"
	"mirrord/fetch/heads"
	"mirrord/mirror/scope"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/record"
)

// A job may mirror a mirror that another mirrord serves. Such a server says so in a Link field of its
// responses (docs/mirror-protocol.md). Then the job follows that mirror by versions: one request asks for
// another version than the one that it knows, and one more fetches the difference. All URLs of the run have
// their responses from there; other URLs are requested as usual (Kovács, Micsik and Schermann, section V: a
// protocol extension for mirroring).

// UpstreamSource gives what the mirror that a job mirrors says of its own versions: nothing before Prepare or
// Hear. Prepare comes before Get; Get and Hear are safe for concurrent use.
type UpstreamSource struct {
	Supplies
	Head  func(site.URL, record.HeadPlace) (*heads.Head, error) // reads a stored one
	Seeds []site.URL
	Fresh func() bool // nothing is published yet

	known    upstreamFact // as it was stored
	tried    atomic.Bool  // in this run
	now      atomic.Pointer[followed]
	replayer *fetch.Client // makes answers of stored heads
	taken    atomic.Int64
}

// Follows reports whether the answers of the run come from a mirror that says what it has.
func (x *UpstreamSource) Follows() bool { return x.now.Load() != nil }

// Upstream is what a run took of the mirror that it follows.
type Upstream struct {
	At      string // of the mirror
	Version int    // that was followed
	Since   int    // that was known before; 0 for none
	Taken   int64  // files that came in an update
}

// Report says what the run followed; ok is false when it was nothing.
func (x *UpstreamSource) Report() (u Upstream, ok bool) {
	v := x.now.Load()
	if v == nil {
		return u, false
	}
	return Upstream{
		At:      v.base,
		Version: v.offer.Version,
		Since:   v.since,
		Taken:   x.taken.Load(),
	}, true
}

// Get gives a URL as the mirror has it, without a request. The only error is that of our disk.
func (x *UpstreamSource) Get(ctx context.Context, ask *Ask) (Answer, error) {
	v, rec := x.now.Load(), ask.Record
	if v == nil {
		return Answer{}, nil
	}
	noFile := v.same && !rec.InSet && !rec.LastHead.IsZero() // and was none when the mirror had this version
	rest, ok := strings.CutPrefix(rec.URL.String(), v.base)
	if !ok {
		if noFile && scope.IsFavicon(rec.URL) && strings.HasPrefix(v.base, rec.URL.Origin()+"/") {
			return x.again(ctx, ask) // of the server of all mirrors, which no page of this one names
		}
		return Answer{}, nil
	}
	f, err := v.find(rest, rec.Referrer == 0)
	if err != nil {
		x.Log.Warn("table of the mirror that is followed", "url", rec.URL.String(), "err", err)
		return Answer{}, nil
	}
	held := rec.InSet && rec.Body != record.NoBody
	switch {
	case f == nil && rec.InSet && v.isGone(rest):
		return x.answer(&fetch.Result{Head: fetch.Head{Status: http.StatusNotFound, Length: -1}}), nil
	case f == nil && noFile:
		return x.again(ctx, ask)
	case f == nil:
		return Answer{}, nil
	case held && f.SHA256 == hex.EncodeToString(rec.Digest[:]):
		same := &fetch.Result{Head: fetch.Head{Status: http.StatusNotModified, Length: -1}, NotModified: true}
		return x.answer(same), nil
	case v.update != nil && v.update.Has(f) && (x.MaxBody <= 0 || f.Size <= x.MaxBody):
		return x.body(v, f, ask)
	}
	return Answer{}, nil
}

// answer makes an answer of the site.
func (x *UpstreamSource) answer(res *fetch.Result) Answer {
	return Answer{
		From:    FromOrigin,
		Result:  res,
		Status:  res.Status,
		Checked: x.Now().Unix(),
	}
}

// again gives the last answer of a URL that is no file once more: nothing has changed since.
func (x *UpstreamSource) again(ctx context.Context, ask *Ask) (Answer, error) {
	head, err := x.Head(ask.Record.URL, ask.Record.LastHead)
	if err != nil {
		return Answer{}, nil // it is requested
	}
	past := &fetch.PastAnswer{
		Head: head,
		Made: true,
		Body: strings.NewReader(""),
	}
	res, err := x.replayer.Replay(ctx, ask.Request, past, new(PageSink))
	if err != nil || res.Status < 300 {
		return Answer{}, nil
	}
	return x.answer(res), nil
}

// body gives a file of the update.
func (x *UpstreamSource) body(v *followed, f *phm.File, ask *Ask) (Answer, error) {
	head := headOf(f, v.update.Charsets[f.Path])
	a := x.answer(&fetch.Result{Head: *head, Kept: true, Body: f.Size})
	a.body = x.Bodies.New(ask.Record.URL)
	a.body.refuse = ask.Refuse
	w, err := a.body.Begin(head)
	if err == nil {
		err = v.update.CopyBody(w, f)
	}
	switch {
	case a.body.refused != "":
		a.Refused = a.body.refused
		return a, nil
	case err != nil:
		defer a.Release()
		x.Log.Warn("update of the mirror that is followed", "url", ask.Record.URL.String(), "err", err)
		return Answer{}, a.body.Err()
	}
	x.taken.Add(1)
	a.Content = contentOf(a.Result, a.body, x.Now())
	return a, nil
}

// headOf is the head with which mirrord serves a file.
func headOf(f *phm.File, charset string) *fetch.Head {
	h := &fetch.Head{
		Status:  http.StatusOK,
		MIME:    f.Type,
		Charset: charset,
		Length:  f.Size,
		ETag:    f.ETag(),
		Header:  http.Header{},
	}
	if h.MIME == "" {
		h.MIME = "application/octet-stream"
	}
	if !f.Modified.IsZero() {
		h.LastModified = f.Modified.UTC().Format(http.TimeFormat)
	}
	return h
}

// Close lets go of what was pulled. There is no Get after it.
func (x *UpstreamSource) Close() {
	if v := x.now.Load(); v != nil {
		v.body.Close()
		v.update = nil
	}
	if x.replayer != nil {
		x.replayer.Close()
	}
}

// readerAt reads a body that has come.
func (b *BodySink) readerAt() (r io.ReaderAt, size int64) {
	if b.blob != nil {
		return b.blob, b.blob.Size()
	}
	return strings.NewReader(string(b.Bytes())), int64(len(b.Bytes()))
}
