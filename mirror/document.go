// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/fetch"
	"mirrord/mirror/admit"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/mirror/source"
	"mirrord/mirror/spare"
	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/robots"
	"mirrord/site"
	"mirrord/store"
)

// processor is what one worker needs to scan and encode a document. There are as many as CPUs, because each
// has buffers.
type processor struct {
	doc   relocate.Doc
	w     *store.FrameWriter
	r     *store.FrameReader
	cands []admit.Candidate
	where []int // index into doc.Links of each candidate
	ids   []int64
	of    []int64 // number of each link's URL, -1 for a literal
	links []byte
	also  []admit.Candidate // of the next document: what it leads to beside its links

	sketcher *text.Sketcher // nil until there is a page
}

// modified reads a Last-Modified; 0 is none. A time in the future is none either: it would hide later changes
// from whoever compares times.
func modified(field string, now time.Time) int64 {
	t, err := http.ParseTime(field)
	if err != nil || t.Unix() <= 0 || t.After(now.Add(24*time.Hour)) {
		return 0
	}
	return t.Unix()
}

// body reads a body that came whole.
func (r *run) body(rec *store.Resource, res *fetch.Result, sink *source.Body, as ledger.Account) (*ledger.Finding, error) {
	tags := robots.ParseXRobotsTag(res.RobotsTags(), r.rules.Product, r.now())
	now := r.recordOf(rec, res)
	rec.Answer = res.Whole // an alternate's in place of the origin's
	if sink.From != "" {
		r.fromAlternate(&now, rec, sink.From)
	} else if r.job.ObeyRobots && tags.NoArchive {
		return r.forbidden(rec, "X-Robots-Tag says noarchive", as), nil
	}
	now.NoFollow = r.job.ObeyRobots && r.job.ObeyNofollow && tags.NoFollow
	body := sink.Bytes()
	if sink.File() != nil {
		var free func()
		if body, free = r.largeDocument(&now, sink); free == nil {
			return r.blobBody(&now, rec, sink, as)
		}
		defer free()
	}
	now.Size, now.Digest = int64(len(body)), sha256.Sum256(body)
	as.Bytes += now.Size
	// A resource that was not in the mirror, because it was gone or a redirect, has lost its list of links:
	// it is scanned again.
	same := r.sameKind(&now, rec)
	only, kept := false, false
	switch {
	case same && rec.Digest == now.Digest:
		rec.Volatile, kept = rec.Volatile.Same(), true
	case same && now.Source == "" && rec.Source == "":
		if only, kept = r.onlyVolatile(&now, rec, body); kept {
			rec.Answer = nil // it is the head of another body than the one that stays
		}
	}
	if kept {
		r.sameBody(rec, &now)
		return r.unchanged(rec, as)
	}
	observe(&now, rec, only, &as)
	p := <-r.procs
	defer func() { r.procs <- p }()
	f, err := r.document(&now, rec, body, headLinks{links: res.Links(), refresh: res.Refresh()}, p, as)
	if len(p.doc.Links) > manyLinks || sink.File() != nil {
		*p = processor{w: p.w, r: p.r, sketcher: p.sketcher} // its memory was for this one document, or refers to one that goes
	}
	return f, err
}

// recordOf begins the record of a body that came in the place of what is known.
func (r *run) recordOf(rec *store.Resource, res *fetch.Result) store.Resource {
	return store.Resource{
		ID:           rec.ID,
		URL:          rec.URL,
		Outcome:      site.Fetched,
		Status:       res.Status,
		Checked:      rec.Checked,
		InSet:        true,
		Fetched:      rec.Checked,
		MIME:         res.MIME,
		Charset:      res.Charset,
		ETag:         res.ETag,
		LastModified: spare.Plausible(res.Header, res.LastModified, r.now()),
		Modified:     modified(res.LastModified, r.now()),
		Referrer:     rec.Referrer,
		Depth:        rec.Depth,
		Requis:       rec.Requis,
		Changed:      rec.Changed,
		Moved:        rec.Moved,
		Path:         rec.Path,
		Expires:      r.expires(res.Header),
		NoETag:       rec.NoETag,
		NoDate:       rec.NoDate,
		Recent:       rec.Recent,
		Observed:     rec.Observed,
		Volatile:     rec.Volatile,
		Evidence:     rec.Evidence,
		Answer:       res.Whole,
	}
}

// sameKind reports whether a body takes the place of one that would be stored and scanned in the same way.
func (r *run) sameKind(now, old *store.Resource) bool {
	return !r.rescan && old.InSet && old.Body != store.NoBody && old.MIME == now.MIME && old.Charset == now.Charset && old.NoFollow == now.NoFollow
}

// manyLinks is how many links a document has at most whose memory is kept for the next one.
const manyLinks = 10_000

// largeDocument reads a document that went to a file back into memory, until free is called; one at a time.
// Without free the body stays a file.
func (r *run) largeDocument(now *store.Resource, sink *source.Body) (body []byte, free func()) {
	size := sink.File().Size()
	if size > int64(r.job.Limits.MaxDocument) || relocate.Detect(now.MIME, now.URL, sink.File().Head(1024)) == relocate.Unknown && !r.traits.Sitemap(now.ID) {
		return nil, nil
	}
	r.large.Lock()
	body, unload, err := sink.File().Load()
	if err != nil {
		r.large.Unlock()
		return nil, nil
	}
	return body, func() {
		unload()
		if size > hugeDocument {
			runtime.GC()
		}
		r.large.Unlock()
	}
}

// hugeDocument is the size in bytes from which what a document leaves behind on the heap is worth a
// collection of its own.
const hugeDocument = 4 << 20

// blobBody reads a body that went to a file because of its size.
func (r *run) blobBody(now, old *store.Resource, sink *source.Body, as ledger.Account) (*ledger.Finding, error) {
	head := sink.File().Head(1024)
	if f := relocate.Detect(now.MIME, now.URL, head); f != relocate.Unknown && f != relocate.Script {
		as.Notes = append(as.Notes, fmt.Sprintf("documents larger than limits.max_document = %v, stored as they came", r.job.Limits.MaxDocument))
	}
	d, size, err := sink.Commit(render.ModTime(now))
	if err != nil {
		return nil, err
	}
	as.Bytes += size
	now.Body, now.Digest, now.Size = store.BlobBody, d, size
	if r.sameKind(now, old) && old.Digest == d && old.Body == store.BlobBody {
		r.sameBody(old, now)
		return r.unchanged(old, as)
	}
	observe(now, old, false, &as)
	if full := r.reserve(now, old, &as); full != nil {
		return full, nil
	}
	return r.keep(now, old, nil, as), nil
}

// headLinks is what the header of an answer leads to: its Link fields and its Refresh.
type headLinks struct {
	links   []string
	refresh string
}

// document scans a body that is in memory, stores it and follows its links.
func (r *run) document(now, old *store.Resource, body []byte, head headLinks, p *processor, as ledger.Account) (*ledger.Finding, error) {
	format := relocate.Detect(now.MIME, now.URL, body[:min(len(body), 1024)])
	isMap, script := r.traits.Sitemap(now.ID), format == relocate.Script
	if isMap || script {
		format = relocate.Unknown // kept as it came
	}
	now.Format = uint8(format)
	if format != relocate.Unknown {
		return r.linkedDocument(now, old, body, head, p, as)
	}
	var targets []uint32
	var err error
	switch {
	case isMap:
		now.Format, now.InSet = sitemapFormat, now.InSet && r.rules.Scope.Covers(now.URL)
		targets, err = r.sitemap(now, body, p)
	case script && r.job.Scripts:
		targets = r.script(now, body, p)
	}
	if err != nil {
		return nil, err
	}
	if full := r.reserve(now, old, &as); full != nil {
		return full, nil
	}
	as.Tally |= r.seenBefore(p, now, old, body, format).tally
	if err := r.o.State.Bodies.Put(now.Digest, body, render.ModTime(now)); err != nil {
		return nil, err
	}
	now.Body = store.BlobBody
	return r.keep(now, old, targets, as), nil
}

// linkedDocument scans a document whose links are relocated.
func (r *run) linkedDocument(
	now, old *store.Resource, body []byte, head headLinks, p *processor, as ledger.Account,
) (*ledger.Finding, error) {
	format := relocate.Format(now.Format)
	r.scan(now, body, head, p, &as)
	if meta := r.metaRobots(&p.doc); r.job.ObeyRobots {
		if meta.NoArchive && now.Source != "" && !r.provenance.Reused(now) {
			return r.refuseElsewhere(old, now.Reason+"; but a replica's meta robots says noarchive", as), nil
		}
		if meta.NoArchive {
			return r.forbidden(old, "its meta robots says noarchive", as), nil
		}
		now.NoFollow = now.NoFollow || r.job.ObeyNofollow && meta.NoFollow
	}
	if format == relocate.HTML {
		now.Shape = shape(&p.doc, body)
	}
	index := index(now, body, format)
	p.candidates(r, now, head)
	add := r.admitInto(p.ids, now.ID, now.Depth, p.cands)
	if index != nil && now.Source == "" { // before anybody asks for what it lists
		if err := r.evidence.HearListing(index, now.URL); err != nil {
			return nil, err
		}
		if err := r.evidence.HearMissing(now.ID, p.ids); err != nil {
			return nil, err
		}
	}
	r.planner.Named(now.ID, numbers(add))
	if full := r.reserve(now, old, &as); full != nil { // before what it leads to can take its place
		return full, nil
	}
	r.enqueue(add...)
	p.assign()
	p.links = render.AppendLinks(p.links[:0], &p.doc, func(i int) (uint32, bool) { return uint32(p.of[i]), p.of[i] >= 0 })
	text := r.seenBefore(p, now, old, body, format)
	as.Tally |= text.tally
	at, err := r.appendDocument(p, frameMeta(now), body, old, text.over)
	if err != nil {
		return nil, err
	}
	now.Body, now.At = store.PackBody, at
	r.storedPage(&text, now.At)
	targets := p.targets(p.cands)
	if p.unnumbered(r) {
		targets = append(targets, store.Unnumbered)
	}
	return r.keep(now, old, targets, as), nil
}

// scan finds the links of a document.
func (r *run) scan(now *store.Resource, body []byte, head headLinks, p *processor, as *ledger.Account) {
	err := p.doc.Scan(body, relocate.Input{
		URL:           now.URL,
		HeaderCharset: now.Charset,
		Refresh:       head.refresh,
		Format:        relocate.Format(now.Format),
		NoScripts:     !r.job.Scripts,
		MaxLinks:      relocatedLinks * int(r.job.Limits.MaxLinks),
	})
	if err != nil {
		as.Notes = append(as.Notes, "documents whose links could not be found: "+err.Error())
	}
	if p.doc.Truncated {
		what := fmt.Sprintf("documents with more than %d links: the rest was left as it was", relocatedLinks*r.job.Limits.MaxLinks)
		as.Notes = append(as.Notes, what)
	}
}

// candidates makes candidates of all that a document leads to, and room for their numbers.
func (p *processor) candidates(r *run, now *store.Resource, head headLinks) {
	isHTML := relocate.Format(now.Format) == relocate.HTML
	p.collect(r, now)
	links := relocate.ParseLinkHeader(head.links)
	for _, h := range links {
		p.header(now.URL, h, !now.NoFollow)
	}
	if isHTML {
		p.favicon(now, links)
	}
	if ref := relocate.RefreshURL(head.refresh); ref != "" && !isHTML { // of HTML it is a link of the document
		p.header(now.URL, relocate.HeaderLink{Ref: ref, Rel: "next"}, !now.NoFollow)
	}
	p.cands = append(p.cands, p.also...)
	p.ids = slices.Grow(p.ids[:0], len(p.cands))[:len(p.cands)]
}

// frameMeta is what the packs say of a document beside its bytes.
func frameMeta(rec *store.Resource) store.FrameMeta {
	return store.FrameMeta{
		ID:           rec.ID,
		URL:          rec.URL.String(),
		MIME:         rec.MIME,
		Charset:      rec.Charset,
		Fetched:      rec.Fetched,
		ETag:         rec.ETag,
		LastModified: rec.LastModified,
		Size:         rec.Size,
		Digest:       hex.EncodeToString(rec.Digest[:]),
		Format:       rec.Format,
	}
}

// shape is a hash of what a page is beside its text: its title, and where its links lead without their
// queries. A site that answers a login page everywhere gives its pages one shape, although the page names
// where the reader wanted to go. A page with neither title nor links is only like one with the same bytes.
func shape(d *relocate.Doc, body []byte) uint32 {
	if d.Title == "" && len(d.Links) == 0 {
		return max(uint32(xxh3.Hash(body)), 1)
	}
	var h xxh3.Hasher
	h.WriteString(d.Title)
	for i := range d.Links {
		if u := d.Links[i].URL; u != nil && d.Links[i].Kind != relocate.Reference && d.Links[i].Kind != relocate.InScript {
			if q := bytes.IndexByte(u, '?'); q >= 0 {
				u = u[:q]
			}
			h.Write(u)
			h.Write([]byte{'\n'})
		}
	}
	return max(uint32(h.Sum64()), 1)
}

// metaRobots merges the robots metas that address us.
func (r *run) metaRobots(d *relocate.Doc) robots.Directives {
	var out robots.Directives
	for _, m := range d.Robots {
		if m.Name == "robots" || m.Name == r.rules.Product {
			out = out.Or(robots.ParseMeta(m.Content, r.now()))
		}
	}
	return out
}

// forbidden makes an outcome of a resource that the site does not want to be kept.
func (r *run) forbidden(rec *store.Resource, reason string, as ledger.Account) *ledger.Finding {
	rec.Outcome, rec.Reason = site.Disallowed, reason
	as.Room = as.Room.Add(r.leave(rec))
	rec.Body = store.NoBody
	as.Tally |= ledger.AsDisallowed
	return &ledger.Finding{Done: store.Done{Resource: *rec, Linked: true}, As: as}
}

// rescanStored scans a stored document under new rules. as is how what became of the request counts.
func (r *run) rescanStored(rec *store.Resource, as ledger.Account) (*ledger.Finding, error) {
	p := <-r.procs
	defer func() { r.procs <- p }()
	fr, err := r.site.Frames.ReadFrame(p.r, rec.At)
	if errors.Is(err, store.ErrDamaged) { // the next run fetches it again
		rec.ETag, rec.LastModified, rec.Digest = "", "", [32]byte{} // so that the same body is stored again
		rec.Outcome, rec.Reason = site.Failed, err.Error()
		return &ledger.Finding{Done: store.Done{Resource: *rec}, As: as}, nil
	}
	if err != nil {
		return nil, err
	}
	var links render.StoredLinks
	var head headLinks
	if links.Decode(fr.Links) == nil { // else verify reports it
		head.refresh = r.declaredRefresh(&links)
		if p.also, err = r.unlinked(rec.ID, &links); err != nil {
			return nil, err
		}
		defer func() { p.also = nil }()
	}
	now := *rec
	return r.document(&now, rec, fr.Body, head, p, as)
}

// declaredRefresh returns the Refresh header with which a stored document came.
func (r *run) declaredRefresh(links *render.StoredLinks) string {
	return relocate.DeclaredRefresh(links.Links, links.Edits, func(i int) string {
		if t := links.Targets[i]; t.Literal == nil {
			return r.table.URL(t.ID).String()
		}
		return string(links.Targets[i].Literal)
	})
}

// unlinked returns what a stored document leads to that its links do not name: what the header of its answer
// did.
func (r *run) unlinked(id uint32, links *render.StoredLinks) (out []admit.Candidate, err error) {
	targets, err := r.site.Records.TargetsOf(id)
	if err != nil {
		return nil, err
	}
	named := map[uint32]bool{}
	for _, t := range links.Targets {
		if t.Literal == nil {
			named[t.ID] = true
		}
	}
	r.table.Each(targetsIn(targets), func(to uint32, s ledger.State, u site.URL) {
		if !named[to] && s.Given() {
			out = append(out, admit.Candidate{URL: []byte(u.String()), Purpose: purposeOf(s), Follow: true})
		}
	})
	return out, nil
}

// targetsIn returns the numbers of an encoded list of links.
func targetsIn(targets []byte) iter.Seq[uint32] {
	return func(yield func(uint32) bool) { store.Targets(targets, yield) }
}

// relocatedLinks times limits.max_links are relocated, so that a page with too many links to follow still
// reads right from a copy. It bounds the memory that a page of nothing but links can cost.
const relocatedLinks = 10

// collect makes candidates of the links of the document that was scanned.
func (p *processor) collect(r *run, now *store.Resource) {
	p.cands, p.where = p.cands[:0], p.where[:0]
	guesses := 0
	for i := range p.doc.Links {
		l := &p.doc.Links[i]
		if l.URL == nil {
			continue
		}
		c := admit.Candidate{URL: l.URL, Follow: true}
		switch l.Kind {
		case relocate.Action:
			continue
		case relocate.Reference:
			c.Follow = false
		case relocate.Requisite:
			c.Purpose = admit.Requisite
		}
		if l.Kind == relocate.InScript || p.doc.Format == relocate.Script {
			r.guess(&c, now, guesses)
			guesses++
		}
		if now.Listing && sortsListing(l.URL, now.URL) {
			c.Follow = false
		}
		if c.Purpose == admit.Page && (now.NoFollow || l.NoFollow && r.job.ObeyNofollow) {
			c.Follow = false
		}
		if i >= int(r.job.Limits.MaxLinks) {
			c.Follow = false
		}
		p.cands = append(p.cands, c)
		p.where = append(p.where, i)
	}
	if len(p.doc.Links) > int(r.job.Limits.MaxLinks) {
		r.notes.Add(fmt.Sprintf("documents with more than limits.max_links = %d links: the rest was not followed", r.job.Limits.MaxLinks), now.URL)
	}
}

// header makes a candidate of one link of a Link header (RFC 8288).
func (p *processor) header(base site.URL, h relocate.HeaderLink, follow bool) {
	u, _, err := base.Resolve(h.Ref)
	if err != nil {
		return
	}
	c := admit.Candidate{URL: []byte(u.String()), Follow: follow}
	switch k, ok := h.Kind(); {
	case !ok, k == relocate.Action, k == relocate.Reference:
		return
	case k == relocate.Requisite:
		c.Purpose, c.Follow = admit.Requisite, true
	}
	p.cands = append(p.cands, c)
}

// assign spreads the numbers of the candidates over the links of the document.
func (p *processor) assign() {
	p.of = slices.Grow(p.of[:0], len(p.doc.Links))[:len(p.doc.Links)]
	for i := range p.of {
		p.of[i] = -1
	}
	for c, i := range p.where {
		p.of[i] = p.ids[c]
	}
}

// unnumbered reports whether the document names a URL of the scope that has no number: when another page
// leads to it one day, the document must be relocated again.
func (p *processor) unnumbered(r *run) bool {
	for i := range p.cands {
		if c := &p.cands[i]; p.ids[i] < 0 && !c.Follow {
			if ok, _ := r.rules.Allow(site.Canonical(string(c.URL)), c.Purpose); ok {
				return true
			}
		}
	}
	return false
}

// targets returns the numbers of all candidates that have one, sorted, each once, and as a store.Mention
// those that are not followed, as a store.Guess those that only a script names.
func (p *processor) targets(cs []admit.Candidate) []uint32 {
	out := make([]uint32, 0, len(p.ids))
	for i, id := range p.ids {
		switch {
		case id < 0:
		case i < len(cs) && !cs[i].Follow:
			out = append(out, uint32(id)|store.Mention)
		case i < len(cs) && cs[i].Guess:
			out = append(out, uint32(id)|store.Guess)
		default:
			out = append(out, uint32(id))
		}
	}
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}
