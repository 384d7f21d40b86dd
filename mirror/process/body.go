// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path"
	"runtime"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/internal/volatile"
	"mirrord/mirror/parse"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/revisit"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/site/profile"
	"mirrord/store/record"
)

// body reads a body that came whole. It returns nil for a page whose outcome waits for another answer.
func (r *reading) body(rec *record.Resource, a *source.Answer, as urls.Account) (*urls.Finding, error) {
	sink, head := a.Content.Body, cmp.Or(a.Content.Head, new(fetch.Head))
	tags := robots.ParseXRobotsTag(head.RobotsTags(), r.Rules.Product, r.Now())
	mime, why := r.leftOutBody(rec, a.Content)
	if why != "" {
		return r.outOfScope(rec, mime, why, as), nil
	}
	f := new(urls.Finding)
	now := &f.Resource
	r.recordOf(now, rec, a)
	now.MIME = mime
	rec.Answer = head.Whole // a replica's in place of the origin's
	if a.From == source.FromOrigin && r.Job.ObeyRobots && tags.NoArchive {
		return r.forbidden(rec, "X-Robots-Tag says noarchive", as), nil
	}
	now.NoFollow = r.Job.ObeyRobots && r.Job.ObeyNofollow.Obeyed && tags.NoFollow
	body := sink.Bytes()
	if sink.File() != nil {
		var free func()
		if body, free = r.largeDocument(now, sink); free == nil {
			return r.blobBody(f, rec, sink, as)
		}
		defer free()
	}
	now.Size, now.Digest = int64(len(body)), digestOf(body, now, rec, sink, r.Frames.OneOff())
	as.Bytes += now.Size
	// A resource that was not in the mirror, because it was gone or a redirect, has lost its list of links:
	// it is scanned again.
	same := r.sameKind(now, rec, body)
	if now.ETag != "" && r.SkipPlan.Noise.HasNewTags(now.URL, body) {
		now.ETag = ""
	}
	only, kept := false, false
	switch {
	case same && rec.Digest == now.Digest:
		rec.Volatile, kept = rec.Volatile.Same(), true
		if isPage(now.MIME) && a.From == source.FromOrigin && head.ETag != rec.ETag && rec.ETag != "" {
			r.SkipPlan.Noise.Came(answerOf(now.URL, head, body, r.Now()), revisit.IsKept)
		}
	case same && now.Source == "" && rec.Source == "":
		c := r.onlyVolatile(now, rec, head, body)
		if c.waits {
			return nil, nil
		}
		if only, kept, as.Noise = c.only, c.kept, c.noise; kept {
			rec.Answer = nil // it is the head of another body than the one that stays
		}
	}
	if kept {
		r.sameBody(rec, now)
		return r.unchanged(rec, as)
	}
	as.Noise = 0
	made := mayHaveNoise(now.MIME, head, body)
	if observe(now, rec, only || isUnpacked(r, rec)) && !(made && parse.MayBeVolatile(rec, body)) {
		blame(now, rec, &as)
	}
	if a.From == source.FromOrigin && !rec.InSet && !r.Frames.OneOff() && made {
		r.SkipPlan.Noise.Came(answerOf(now.URL, head, body, r.Now()), revisit.IsNew)
	}
	p := <-r.procs
	defer p.giveTo(r.procs)
	b := r.toRead(p, now, body)
	b.Links, b.Refresh, b.Cookies = head.Links(), head.Refresh(), head.Cookies()
	b.NoIndex = tags.NoIndex
	f, err := r.document(f, rec, b, p, as)
	if sink.File() != nil || p.read.Links() > manyLinks {
		// Its memory refers to a body that goes, or was for this one document.
		p.forget()
	}
	return f, err
}

// digestOf returns the digest of a body in memory, by which it is compared with that of the record. Of a page
// of a one-off mirror that is a quick one.
func digestOf(body []byte, now, old *record.Resource, sink *source.BodySink, oneOff bool) [32]byte {
	quick := record.IsQuick(old.Digest)
	if old.Digest == [32]byte{} {
		quick = oneOff && now.MIME == "text/html" && len(body) <= render.SmallDocument
	}
	if quick {
		return record.QuickDigest(body)
	}
	return sink.Digest()
}

// recordOf begins the record now of a body that replaces the known one.
func (r *reading) recordOf(now, rec *record.Resource, a *source.Answer) {
	c := a.Content
	*now = record.Resource{
		ID:       rec.ID,
		URL:      rec.URL,
		Outcome:  site.Fetched,
		Status:   a.Status,
		Checked:  a.Checked,
		InSet:    true,
		Fetched:  a.Checked,
		MIME:     c.MIME,
		Charset:  c.Charset,
		Modified: c.Modified,
		Referrer: rec.Referrer,
		Depth:    rec.Depth,
		Requis:   rec.Requis,
		Changed:  rec.Changed,
		Moved:    rec.Moved,
		Path:     rec.Path,
		NoETag:   rec.NoETag,
		NoDate:   rec.NoDate,
		Recent:   rec.Recent,
		Observed: rec.Observed,
		Volatile: rec.Volatile,
		Evidence: rec.Evidence,
	}
	if c.Head != nil {
		now.Answer = c.Head.Whole
	}
	now.Name = offeredName(c.Head, rec.URL)
	if h := c.Head; a.From == source.FromOrigin {
		now.ETag, now.LastModified = h.ETag, revisit.Plausible(h.Header, h.LastModified, r.Now())
		now.Expires, now.Reason = revisit.Expires(r.Job.Evidence, h.Header, time.Unix(a.Checked, 0)), a.Reason
		if at := a.Result.At; !at.IsZero() {
			now.Fetched = at.Unix()
		}
		return
	}
	now.Source, now.Reason, now.Fetched = a.Source, a.Reason, r.Now().Unix()
}

// offeredName returns the name under which an answer offers its body, "" for that of the URL.
func offeredName(h *fetch.Head, u site.URL) string {
	if h == nil {
		return ""
	}
	name := phm.SafeName(h.OfferedName())
	if last, err := url.PathUnescape(path.Base(u.Path())); err == nil && phm.SafeName(last) == name {
		return ""
	}
	return name
}

// sameKind reports whether a body takes the place of one that would be stored and scanned in the same way.
// Of now it is only known whether the header forbids to follow links.
func (r *reading) sameKind(now, old *record.Resource, body []byte) bool {
	stored := old.InSet && old.Body != record.NoBody && old.Fetched > 0
	sameType := old.MIME == now.MIME && old.Charset == now.Charset
	return !r.Rescan && stored && sameType &&
		(old.NoFollow == now.NoFollow || (old.NoFollow && parse.SaysNoFollow(body, r.Now())))
}

// compared says what a document differs in from the stored one, see parse.Compare.
type compared struct {
	only, kept bool
	waits      bool // another answer is to tell
	noise      volatile.Kind
}

// onlyVolatile compares a document with the stored one. A stored body that cannot be read is replaced.
func (r *reading) onlyVolatile(now, old *record.Resource, h *fetch.Head, body []byte) (c compared) {
	if l := r.Rules.ListAt(old.URL); l != nil && urls.IsSitemap(old) {
		c.kept = showsNone(r, l, old, body)
		c.only = c.kept
		return c
	}
	noise, came := r.SkipPlan.Noise, answerOf(old.URL, h, body, r.Now())
	noise.Again(came)
	known := noise.Known(old.URL)
	if samePacked(r.Bodies, known, old, h, body) {
		old.Reason = "differs only in when it was packed, or where each answer differs"
		return compared{only: true, kept: true, noise: volatile.Age}
	}
	if isGzip(body) && isMade(h) {
		changed(noise, now, old, h, came, false)
	}
	if !parse.MayBeVolatile(old, body) {
		return c
	}
	p := <-r.procs
	defer p.giveTo(r.procs)
	fr, err := r.Frames.ReadFrame(p.r, old.At)
	if err != nil {
		return c
	}
	isFeed := relocate.Format(old.Format) == relocate.Feed
	if isFeed && r.Rules.First.IsEdits(old.URL) && revisit.OnlyAged(fr.Body, body) {
		old.Reason = "says nothing new: its last entries left it at most"
		return compared{only: true, kept: true}
	}
	tells := r.SkipPlan.Plan.Trusts(old.ID)
	c.only, c.kept, c.noise = parse.Compare(now, old, body, fr.Body, known, tells, namesNew(r.Rules, r.Table))
	came.Was = fr.Body
	kept := c.kept
	if kept {
		c = r.amongNoise(c, now, old, came)
	}
	switch {
	case c.waits:
	case !kept || old.Volatile.Due():
		changed(noise, now, old, h, came, c.only)
		if isMade(h) && r.SkipPlan.Validators.IsSuspect(now, old) {
			noise.Suspect(came)
		}
	default:
		noise.Came(came, revisit.IsKept)
	}
	return c
}

// amongNoise looks for an edit in a page that differs from the stored one in noise alone.
func (r *reading) amongNoise(c compared, now, old *record.Resource, came revisit.PageAnswer) compared {
	noise, due := r.SkipPlan.Noise, now.Fetched-old.Fetched >= restAge
	edited, waits := noise.InRegions(came, r.Counts.Requests.Load())
	switch {
	case waits:
		return compared{waits: true}
	case edited:
		now.Reason = "says in all answers of one moment what it did not say, where answers differ"
		return compared{}
	case len(noise.Known(old.URL).Parts(came.Body)) == 0:
	case noise.Edited(came, due):
		now.Reason = "says in each answer what it did not say, among what each answer draws"
		return compared{}
	case due && r.news.Load(): // it makes no version by itself
		r.Notes.Add("parts of pages that each answer draws were stored again, beside what changed", now.URL)
		now.Reason = "differs only in what each answer draws, which is stored again beside what changed in this run"
		return compared{only: true}
	}
	return c
}

// showsNone reports whether a list of changes shows none since the stored one.
func showsNone(r *reading, l *profile.ChangeList, old *record.Resource, body []byte) bool {
	before, err := storedBody(r, old)
	was, ok := l.Read(before)
	is, reads := l.Read(body)
	if err != nil || !ok || !reads || !profile.ShowsNone(was, is) {
		return false
	}
	old.Reason = "shows no change"
	return true
}

// restAge is how old the stored answer of a page is at least when it is replaced by one that differs in a gap
// only: an edit may be hidden there.
const restAge = 7 * 24 * 60 * 60 // seconds

// isUnpacked reports whether a body was stored without its content coding that is stored as it comes, because
// its URL names a packed file.
func isUnpacked(r *reading, rec *record.Resource) bool {
	if rec.Body != record.BlobBody || rec.Head.IsZero() || !fetch.NamesPacked(rec.MIME, rec.URL.Path()) {
		return false
	}
	h, err := r.Records.ReadHead(rec.URL, rec.Head)
	if err != nil {
		return false
	}
	f, err := r.Bodies.Open(rec.Digest, 8)
	if err != nil {
		return false // verify reports it
	}
	defer f.Close()
	first, err := io.ReadAll(f)
	return err == nil && fetch.IsUnpacked(rec.MIME, rec.URL.Path(), h.Values("Content-Encoding"), first)
}

// emptied reports whether a page of the mirror came without a byte: so do programs fail that hide their
// errors. It is believed when it stays.
func emptied(rec *record.Resource, came *source.Received) bool {
	page := rec.InSet && (rec.Body == record.PackBody) && (rec.Format == uint8(relocate.HTML))
	return page && (rec.Size > 0) && (came.Body.File() == nil) && (len(came.Body.Bytes()) == 0)
}

// manyLinks is how many links a document has at most whose memory is kept for the next one.
const manyLinks = 10_000

// inMemory is held while a large document is in memory.
type inMemory struct{ mu sync.Mutex }

// largeDocument reads a document that went to a file back into memory, until free is called; one at a time.
// Without free the body stays a file.
func (r *reading) largeDocument(now *record.Resource, sink *source.BodySink) (body []byte, free func()) {
	size := sink.File().Size()
	if size > int64(r.Job.Limits.MaxDocument) {
		return nil, nil
	}
	head := sink.File().Head(1024)
	linked := relocate.Detect(now.MIME, now.URL, head) != relocate.Unknown
	if !linked && !r.Traits.Is(now.ID, urls.NamedSitemap) && !parse.MayName(now, head) {
		return nil, nil
	}
	r.large.mu.Lock()
	body, unload, err := sink.File().Load()
	if err != nil {
		r.large.mu.Unlock()
		return nil, nil
	}
	return body, func() {
		unload()
		if size > hugeDocument {
			runtime.GC()
		}
		r.large.mu.Unlock()
	}
}

// hugeDocument is the size in bytes from which what a document leaves behind on the heap is worth a
// collection of its own.
const hugeDocument = 4 << 20

// blobBody reads a body that went to a file because of its size.
func (r *reading) blobBody(
	f *urls.Finding, old *record.Resource, sink *source.BodySink, as urls.Account,
) (*urls.Finding, error) {
	now := &f.Resource
	head := sink.File().Head(1024)
	if is := relocate.Detect(now.MIME, now.URL, head); is != relocate.Unknown && is != relocate.Script {
		const what = "documents larger than limits.max_document = %v, stored as they came"
		as.Notes = append(as.Notes, fmt.Sprintf(what, r.Job.Limits.MaxDocument))
		now.Cut = uint16(result.CutDocument)
	}
	d, size, err := sink.Commit(render.ModTime(now))
	if err != nil {
		return nil, err
	}
	as.Bytes += size
	now.Body, now.Digest, now.Size = record.BlobBody, d, size
	if r.sameKind(now, old, nil) && old.Digest == d && old.Body == record.BlobBody {
		r.sameBody(old, now)
		return r.unchanged(old, as)
	}
	if observe(now, old, isUnpacked(r, old)) {
		blame(now, old, &as)
	}
	if full := r.reserve(now, old, &as); full != nil {
		return full, nil
	}
	return r.keep(f, old, nil, as)
}

// sameBody takes over what an answer says of a body that the mirror holds already. From another source than
// the origin that is hearsay: the origin's validators stay, and so does the time at which it last answered.
// The first name under which a body was offered stays with it: some programs write the time into names.
func (r *reading) sameBody(rec, now *record.Resource) {
	if rec.Name == "" && now.Name != "" && rec.Body == record.BlobBody {
		rec.Name, rec.Changed = now.Name, r.Version
	}
	if now.Source == "" {
		dropFickle(now, rec)
		rec.ETag, rec.LastModified, rec.Expires, rec.Source = now.ETag, now.LastModified, now.Expires, ""
		return
	}
	if !urls.IsGone(rec) {
		rec.Status = 0
	}
	r.Provenance.SetHearsay(rec.ID)
}

// dropFickle takes from an answer with the stored body the validator that changed beside one that stayed, so
// that it is not sent: to some servers both must match, and several servers behind one name have ETags of
// their own. A Last-Modified is less sure than an ETag: it stays alone from the second time on.
func dropFickle(now, old *record.Resource) {
	switch tag, date := now.ETag == old.ETag, now.LastModified == old.LastModified; {
	case tag && !date && now.ETag != "" && !old.NoETag:
		now.LastModified = ""
	case date && !tag && now.LastModified != "" && !old.NoDate && old.Observed > 0 && old.Recent == 0:
		now.ETag = ""
	}
}
