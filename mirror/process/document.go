// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/sha256"
	"iter"
	"slices"

	"mirrord/internal/volatile"
	"mirrord/mirror/frontier"
	"mirrord/mirror/parse"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/store/record"
)

// admit gives numbers to what a document names. It returns what enters the frontier.
func (r *reading) admit(
	id uint32, depth int, x *parse.Extract, as *urls.Account,
) []frontier.Queued {
	in := r.Admission.Admit(x.IDs, frontier.Document{
		ID:     id,
		Depth:  depth,
		Before: r.deadBefore(id),
	}, x.Candidates)
	as.Disallowed = append(as.Disallowed, in.Forbidden...)
	as.Needed, as.Reopened = append(as.Needed, in.Needed...), append(as.Reopened, in.Reopened...)
	return in.Add
}

// keepClocks makes requisites whose addresses hold the time of the answer what the document named in their
// place when it was last stored: the first address stays. A page may say something else at another time.
func keepClocks(r *reading, old *record.Resource, cs []scope.Candidate) {
	if !old.InSet || !r.SkipPlan.Noise.HasClocks() {
		return
	}
	var before map[string]uint32
	for i := range cs {
		without, had := volatile.WithoutClock(string(cs[i].URL))
		if !had || cs[i].Purpose != scope.Requisite {
			continue
		}
		if before == nil {
			before = clocksBefore(r, old.ID)
		}
		if id, ok := before[without]; ok {
			cs[i].URL = []byte(r.Table.URL(id).String())
		}
	}
}

// clocksBefore returns the URLs of a document that hold a time, by what they are without it. What cannot be
// read counts as none.
func clocksBefore(r *reading, id uint32) map[string]uint32 {
	out := map[string]uint32{}
	for to := range linksBefore(r, id) {
		if without, had := volatile.WithoutClock(r.Table.URL(to).String()); had {
			out[without] = to
		}
	}
	return out
}

// linksBefore returns the links of a document when it was last stored; none when they cannot be read.
func linksBefore(r *reading, id uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		targets, err := r.Records.TargetsOf(id)
		if err != nil {
			return
		}
		record.Targets(targets, func(to uint32) bool { return (to >= record.Mention) || yield(to&^record.Guess) })
	}
}

// deadBefore returns the dead links that a document named when it was last stored. In a run without a plan
// they do not matter, and neither does what cannot be read: then they are requested.
func (r *reading) deadBefore(id uint32) (out map[uint32]bool) {
	if r.SkipPlan.Plan == nil {
		return nil
	}
	for to := range linksBefore(r, id) {
		if s := r.Table.State(to); s.Known() && !s.Governed() {
			if out == nil {
				out = map[uint32]bool{}
			}
			out[to] = true
		}
	}
	return out
}

// numbers returns the numbers of URLs on their way into the frontier.
func numbers(qs []frontier.Queued) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range qs {
			if !yield(qs[i].ID) {
				return
			}
		}
	}
}

// admitted returns the numbers of the candidates of a document that have one.
func admitted(ids []int64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, id := range ids {
			if (id >= 0) && !yield(uint32(id)) {
				return
			}
		}
	}
}

// led returns the numbers of the URLs to which a stored document leads.
func led(targets []byte) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		record.Targets(targets, func(id uint32) bool { return (id >= record.Guess) || yield(id) })
	}
}

// page prepares a body for the store.
func (p *documentReader) page(now, old *record.Resource, body []byte, format relocate.Format) *Page {
	out := &Page{Now: now, Old: old, Body: body}
	if words := parse.WordsOf(format, now.MIME, body); words != parse.NoWords {
		out.Said = func() text.Said { return p.read.Said(body, now.URL, now.Charset, words) }
	}
	return out
}

// toRead prepares a body for the Reader of a processor.
func (r *reading) toRead(p *documentReader, rec *record.Resource, body []byte) *parse.Body {
	p.in = parse.Body{
		URL:      rec.URL,
		MIME:     rec.MIME,
		Charset:  rec.Charset,
		Around:   func() string { return r.codings.around(rec) },
		Data:     body,
		Sitemap:  r.Traits.Is(rec.ID, urls.NamedSitemap),
		NoFollow: rec.NoFollow,
		Now:      r.Now(),
	}
	return &p.in
}

// document reads a body that is in memory, stores it and follows its links. The finding has the record of it.
func (r *reading) document(
	f *urls.Finding, old *record.Resource, b *parse.Body, p *documentReader, as urls.Account,
) (*urls.Finding, error) {
	now, x := &f.Resource, p.read.Read(b)
	as.Notes = append(as.Notes, x.Notes...)
	now.Format, now.Cut = uint8(x.Format), uint16(x.Cut)
	r.codings.note(now.ID, x)
	if x.Format != relocate.Unknown {
		return r.linkedDocument(f, old, b.Data, x, p, as)
	}
	var targets []uint32
	var err error
	switch {
	case x.Sitemap != nil:
		now.Format, now.InSet = uint8(relocate.Sitemap), now.InSet && (r.Rules.Scope.Covers(now.URL) ||
			r.Rules.IsListBeside(now.URL))
		targets, err = r.sitemap(now, x, &as)
	case len(x.Candidates) > 0: // of a script, or a listing in JSON
		r.HostAdmission.Add(r.admit(now.ID, now.Depth, x, &as)...)
		targets = x.Targets(r.Rules)
	}
	if err != nil {
		return nil, err
	}
	if full := r.reserve(now, old, &as); full != nil {
		return full, nil
	}
	if record.IsQuick(now.Digest) {
		now.Digest = sha256.Sum256(b.Data)
	}
	r.Admission.Repeats.Read(now.URL, func() []byte { return b.Data }, false, !old.InSet, nil)
	like, err := r.Saver.Blob(p.page(now, old, b.Data, x.Format), render.ModTime(now))
	if err != nil {
		return nil, err
	}
	as.Tally |= like
	return r.keep(f, old, targets, as)
}

// linkedDocument stores a document whose links are relocated, and follows them.
func (r *reading) linkedDocument(
	f *urls.Finding, old *record.Resource, body []byte, x *parse.Extract, p *documentReader, as urls.Account,
) (*urls.Finding, error) {
	now := &f.Resource
	if x.NoArchive {
		if now.Source != "" && !r.Provenance.Reused(now) {
			return r.notGiven(old, now.Reason+"; but a replica's meta robots says noarchive", as), nil
		}
		return r.forbidden(old, "its meta robots says noarchive", as), nil
	}
	if x.Format == relocate.HTML || x.Format == relocate.Feed {
		left := r.Admission.Sessions.ReadLeft(now.URL, body, frontier.Robots{
			NoIndex:  x.NoIndex,
			NoFollow: x.NoFollow,
			IsFeed:   x.Format == relocate.Feed,
			NamesNew: func(param string) bool { return namesNewWithout(r, x, param) },
		})
		if (left != "") && !old.InSet && (now.Referrer > 0) && !now.Requis {
			return LeftOut(now, left, r.Version, as), nil
		}
	}
	now.NoFollow, now.Shape, now.Listing = x.NoFollow, x.Shape, x.Listing != nil
	if old.InSet {
		r.Admission.Recall(old)
	}
	keepClocks(r, old, x.Candidates)
	r.Admission.Lists(now.URL)
	add := r.admit(now.ID, now.Depth, x, &as)
	r.learn(now, old, x, add, body)
	r.Admission.Vouch(now, admitted(x.IDs))
	if x.Listing != nil && now.Source == "" && now.Fetched > 0 { // before anybody asks for what it lists
		if err := r.SkipPlan.Evidence.HearListing(x.Listing, now.URL); err != nil {
			return nil, err
		}
		if !result.Cut(now.Cut).IsCut() { // else it may name the rest behind the cut
			if err := r.SkipPlan.Evidence.HearMissing(now.ID, x.IDs); err != nil {
				return nil, err
			}
		}
	}
	r.SkipPlan.Plan.Named(now.ID, numbers(add))
	r.SkipPlan.Plan.Says(now.ID, p.news(r, now, old, body, x))
	if full := r.reserve(now, old, &as); full != nil { // before its links can take its place
		return full, nil
	}
	r.HostAdmission.Add(add...)
	of := x.Spread()
	x.DropSessions(r.Rules)
	p.links = render.AppendLinks(p.links[:0], x.Doc, of)
	page := p.page(now, old, body, x.Format)
	page.Links = p.links
	like, err := r.Saver.Document(p.w, page)
	if err != nil {
		return nil, err
	}
	as.Tally |= like
	return r.keep(f, old, x.Targets(r.Rules), as)
}

// namesNewWithout reports whether a document names a page of the job, or a feed anything, that was never
// seen, and has no parameter of a name.
func namesNewWithout(r *reading, x *parse.Extract, param string) bool {
	return slices.ContainsFunc(x.Candidates, func(c scope.Candidate) bool {
		u := site.Canonical(string(c.URL))
		counts := x.Format == relocate.Feed // also what it encloses
		if c.Purpose == scope.Page {
			counts = r.Rules.Scope.Covers(u)
		}
		return counts && c.Follow && !c.Guess && !r.Table.Knows(u) && site.WithoutParam(u, param) == u
	})
}

// learn takes a page into the count of chains. Its links are those of add.
func (r *reading) learn(now, old *record.Resource, x *parse.Extract, add []frontier.Queued, body []byte) {
	p := r.chainPage(now)
	p.Links = x.Doc.Links
	p.Knows = r.Table.Knows
	if frontier.PatternOf(now.URL) != "" {
		for id := range numbers(add) {
			p.Entered = append(p.Entered, r.Table.URL(id))
		}
		p.Had = func(u site.URL) bool {
			id, ok := r.Table.FindURL(u)
			return ok && r.Table.State(id).Known() && (r.Table.State(id).Outcome() != site.Pending)
		}
	}
	said := body[:min(len(body), mostChainText)]
	p.Said = func() string { return text.Extract(said) }
	var plain func() []byte
	if len(said) == len(body) {
		plain = func() []byte { return r.SkipPlan.Noise.Known(now.URL).Plain(body) }
		p.Said = func() string { return text.Extract(plain()) }
	}
	r.Admission.Sessions.Read(now.URL, said, plain, x.Doc.Links)
	if x.Format == relocate.HTML || x.Format == relocate.Feed {
		whole := plain
		if whole == nil {
			whole = func() []byte { return said }
		}
		r.Admission.Repeats.Read(now.URL, whole, true, !old.InSet, x.Doc.Links)
	}
	if old.InSet {
		r.Admission.Chains.Reread(p)
	} else {
		r.Admission.Chains.Learn(p)
	}
}

func (r *reading) chainPage(rec *record.Resource) *frontier.ChainPage {
	p := &frontier.ChainPage{ID: rec.ID, URL: rec.URL, FromID: rec.Referrer}
	if rec.Referrer > 0 {
		p.From = r.Table.URL(rec.Referrer - 1)
		above := r.Table.State(rec.Referrer - 1).Referrer()
		if above > 0 && frontier.PatternOf(p.From) != "" { // else it does not matter
			p.Above = r.Table.URL(above - 1)
		}
	}
	return p
}

// mostChainText is how much of a page is read to see whether it has new text, in bytes.
const mostChainText = 256 << 10

// notKept is a kind of note.
const notKept = "robots noarchive: such pages are not in the mirror, nor what only they link to"

// forbidden makes an outcome of a resource that the site does not want to be kept.
func (r *reading) forbidden(rec *record.Resource, reason string, as urls.Account) *urls.Finding {
	rec.Outcome, rec.Reason = site.Disallowed, reason
	as.Room = as.Room.Add(urls.Leave(rec, r.Version))
	rec.Body = record.NoBody
	as.Tally |= urls.AsDisallowed
	as.Notes = append(as.Notes, notKept)
	return urls.WithoutLinks(rec, as)
}

// sitemap admits what a sitemap or an index of sitemaps names, and returns the numbers of that.
func (r *reading) sitemap(
	now *record.Resource, x *parse.Extract, as *urls.Account,
) (targets []uint32, err error) {
	if x.Sitemap.Index {
		for u := range parse.Locations(now.URL, *x.Sitemap) {
			id, full := r.Admission.Sitemap(u)
			if id >= 0 {
				targets = append(targets, uint32(id))
			}
			if full {
				now.Cut |= uint16(result.CutSitemaps)
			}
		}
		slices.Sort(targets)
		return slices.Compact(targets), nil
	}
	add := r.admit(now.ID, 0, x, as)
	// Before anybody asks for what it names.
	if err := hearSitemap(r, *x.Sitemap, now.URL); err != nil {
		return nil, err
	}
	r.HostAdmission.Add(add...)
	return x.Targets(r.Rules), nil
}
