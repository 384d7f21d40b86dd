// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"

	"mirrord/fetch"
	"mirrord/mirror/parse"
	"mirrord/mirror/run"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/store/record"
)

// mostHeld is how much of a page a look at a held-back run reads, in bytes.
const mostHeld = 8 << 20

// StillHeld looks at the pages of a run that was held back. same says that all of them answer as that run saw
// them, and asked how many were requested: robots.txt may forbid it. An answer that cannot be had, or
// compared, is another one. The only error is that of a stored record.
func StillHeld(ctx context.Context, r *Retrieval, h *run.Held) (same bool, asked int, err error) {
	defer r.dispatcher.WatchTail(r.Now)()
	greet(ctx, r)
	l := heldLook{
		asker: r.asker(),
		body:  r.heldBody,
		get:   r.Site.Records.Get,
		links: int(r.Job.Limits.MaxLinks),
	}
	for i, raw := range h.URLs {
		u, _, err := site.Parse(raw)
		if err != nil {
			return false, 0, nil
		}
		rec, ok, err := r.Site.Records.Get(u)
		if (err != nil) || !ok {
			return false, 0, err
		}
		if !l.asBefore(ctx, &rec, i < h.Entries) {
			r.Log.Info("held back, and answers otherwise", "url", raw)
			return false, 0, nil
		}
	}
	return true, l.asked, nil
}

// heldLook compares answers with records.
type heldLook struct {
	asker *source.Asker
	body  func(*record.Resource) ([]byte, error)
	get   func(site.URL) (record.Resource, bool, error)
	links int // limits.max_links
	asked int // requests that were made
}

// asBefore requests a URL and reports whether the answer is as its record says. Of an entry point the links
// count, too: that is where a site that is well again shows it.
func (l *heldLook) asBefore(ctx context.Context, rec *record.Resource, entry bool) bool {
	may, err := l.asker.Allowed(ctx, rec.URL)
	if (err != nil) || may.Unknown {
		return false
	}
	if !may.OK {
		return rec.Outcome == site.Disallowed
	}
	l.asked++
	var sink source.PageSink
	res, err := l.asker.Exchange(ctx, fetch.Request{URL: rec.URL, MaxBody: mostHeld}, &sink)
	switch {
	case err != nil:
		return false
	case !res.Location.IsZero():
		return (rec.Outcome == site.Redirected) && l.leadsTo(rec, res.Location)
	case res.Status != 200:
		return res.Status == rec.Status
	case (rec.Outcome != site.Fetched) && (rec.Outcome != site.Unchanged), rec.Body == record.NoBody, !res.Kept:
		return false
	case record.IsDigestOf(rec.Digest, sink.Bytes()):
		return true
	}
	return l.saysSame(rec, res, sink.Bytes(), entry)
}

// leadsTo reports whether a redirect has the target that the record has. Of a target outside of the mirror
// only that is known; of a redirect to which nothing links now, such as that of a page that moved, nothing.
func (l *heldLook) leadsTo(rec *record.Resource, to site.URL) bool {
	target, known, err := l.get(to)
	if rec.Target == 0 {
		return (err == nil) && (!known || !target.InSet || (rec.Reason == urls.Unlinked))
	}
	return (err == nil) && known && (target.ID+1 == rec.Target)
}

// saysSame reports whether a page says what the stored one says, but for a token or the time.
func (l *heldLook) saysSame(rec *record.Resource, res *fetch.Result, body []byte, entry bool) bool {
	if (rec.Shape == 0) || (rec.Body != record.PackBody) {
		return false
	}
	if entry {
		shape, ok := parse.ShapeOf(rec.URL, res, body, l.links)
		if !ok || (shape != rec.Shape) {
			return false
		}
	}
	old, err := l.body(rec)
	return (err == nil) && verdict.SaysSame(text.Extract(old), text.Extract(body), rec.URL)
}
