// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/hex"

	"mirrord/mirror/intake"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// processor is what one worker needs to read and encode a document. There are as many as CPUs, because each
// has buffers.
type processor struct {
	read  *intake.Reader
	w     *store.FrameWriter
	r     *store.FrameReader
	links []byte
}

// forget gives up the memory of the last document.
func (p *processor) forget() {
	p.read.Forget()
	p.links = nil
}

// toRead prepares a body for its Reader.
func (r *run) toRead(rec *store.Resource, body []byte) *intake.Body {
	return &intake.Body{
		URL:      rec.URL,
		MIME:     rec.MIME,
		Charset:  rec.Charset,
		Data:     body,
		Sitemap:  r.traits.Sitemap(rec.ID),
		NoFollow: rec.NoFollow,
		Now:      r.now(),
	}
}

// document reads a body that is in memory, stores it and follows its links.
func (r *run) document(now, old *store.Resource, b *intake.Body, p *processor, as ledger.Account) (*ledger.Finding, error) {
	x := p.read.Read(b)
	as.Notes = append(as.Notes, x.Notes...)
	now.Format = uint8(x.Format)
	if x.Format != relocate.Unknown {
		return r.linkedDocument(now, old, b.Data, x, p, as)
	}
	var targets []uint32
	var err error
	switch {
	case x.Sitemap != nil:
		now.Format, now.InSet = uint8(relocate.Sitemap), now.InSet && r.rules.Scope.Covers(now.URL)
		targets, err = r.sitemap(now, x)
	case len(x.Candidates) > 0: // of a script
		r.enqueue(r.admitInto(x.IDs, now.ID, now.Depth, x.Candidates)...)
		targets = x.Targets(r.rules)
	}
	if err != nil {
		return nil, err
	}
	if full := r.reserve(now, old, &as); full != nil {
		return full, nil
	}
	as.Tally |= r.seenBefore(p, now, old, b.Data, x.Format).tally
	if err := r.o.State.Bodies.Put(now.Digest, b.Data, render.ModTime(now)); err != nil {
		return nil, err
	}
	now.Body = store.BlobBody
	return r.keep(now, old, targets, as), nil
}

// linkedDocument stores a document whose links are relocated, and follows them.
func (r *run) linkedDocument(
	now, old *store.Resource, body []byte, x *intake.Extract, p *processor, as ledger.Account,
) (*ledger.Finding, error) {
	if x.NoArchive {
		if now.Source != "" && !r.provenance.Reused(now) {
			return r.notGiven(old, now.Reason+"; but a replica's meta robots says noarchive", as), nil
		}
		return r.forbidden(old, "its meta robots says noarchive", as), nil
	}
	now.NoFollow, now.Shape, now.Listing = x.NoFollow, x.Shape, x.Listing != nil
	add := r.admitInto(x.IDs, now.ID, now.Depth, x.Candidates)
	if x.Listing != nil && now.Source == "" { // before anybody asks for what it lists
		if err := r.evidence.HearListing(x.Listing, now.URL); err != nil {
			return nil, err
		}
		if err := r.evidence.HearMissing(now.ID, x.IDs); err != nil {
			return nil, err
		}
	}
	r.planner.Named(now.ID, numbers(add))
	if full := r.reserve(now, old, &as); full != nil { // before what it leads to can take its place
		return full, nil
	}
	r.enqueue(add...)
	p.links = render.AppendLinks(p.links[:0], x.Doc, x.Spread())
	text := r.seenBefore(p, now, old, body, x.Format)
	as.Tally |= text.tally
	at, err := r.appendDocument(p, frameMeta(now), body, old, text.over)
	if err != nil {
		return nil, err
	}
	now.Body, now.At = store.PackBody, at
	r.storedPage(&text, now.At)
	return r.keep(now, old, x.Targets(r.rules), as), nil
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

// forbidden makes an outcome of a resource that the site does not want to be kept.
func (r *run) forbidden(rec *store.Resource, reason string, as ledger.Account) *ledger.Finding {
	rec.Outcome, rec.Reason = site.Disallowed, reason
	as.Room = as.Room.Add(r.leave(rec))
	rec.Body = store.NoBody
	as.Tally |= ledger.AsDisallowed
	return &ledger.Finding{Done: store.Done{Resource: *rec, Linked: true}, As: as}
}
