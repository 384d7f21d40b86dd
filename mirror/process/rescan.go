// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"io"
	"iter"

	"mirrord/mirror/frontier"
	"mirrord/mirror/parse"
	"mirrord/mirror/render"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// rescanStored scans a stored document under new rules. as is how what became of the request counts.
func (r *reading) rescanStored(rec *record.Resource, as urls.Account) (*urls.Finding, error) {
	p := <-r.procs
	defer p.giveTo(r.procs)
	fr, err := r.Frames.ReadFrame(p.r, rec.At)
	if errors.Is(err, disk.ErrDamaged) { // the next run fetches it again
		rec.ETag, rec.LastModified, rec.Digest = "", "", [32]byte{} // so that the same body is stored again
		rec.Outcome, rec.Reason = site.Failed, err.Error()
		return urls.FindingOf(rec, as), nil
	}
	if err != nil {
		return nil, err
	}
	f := urls.FindingOf(rec, urls.Account{})
	b := r.toRead(p, &f.Resource, fr.Body)
	var links render.StoredLinks
	if links.Decode(fr.Links) == nil { // else verify reports it
		b.Refresh = r.declaredRefresh(&links)
		if b.Also, err = r.unlinked(rec.ID, &links); err != nil {
			return nil, err
		}
	}
	return r.document(f, rec, b, p, as)
}

// declaredRefresh returns the Refresh header with which a stored document came.
func (r *reading) declaredRefresh(links *render.StoredLinks) string {
	return relocate.DeclaredRefresh(links.Links, links.Edits, func(i int) string {
		if t := links.Targets[i]; t.Literal == nil {
			return r.Table.URL(t.ID).String()
		}
		return string(links.Targets[i].Literal)
	})
}

// unlinked returns the targets of a stored document that its links do not name: those of the header of its
// answer.
func (r *reading) unlinked(id uint32, links *render.StoredLinks) (out []scope.Candidate, err error) {
	targets, err := r.Records.TargetsOf(id)
	if err != nil {
		return nil, err
	}
	named := map[uint32]bool{}
	for _, t := range links.Targets {
		if t.Literal == nil {
			named[t.ID] = true
		}
	}
	r.Table.Each(targetsIn(targets), func(to uint32, s urls.State, u site.URL) {
		if !named[to] && s.Given() {
			out = append(out, scope.Candidate{
				URL:     []byte(u.String()),
				Purpose: frontier.PurposeOf(s),
				Follow:  true,
			})
		}
	})
	return out, nil
}

// targetsIn returns the numbers of an encoded list of links.
func targetsIn(targets []byte) iter.Seq[uint32] {
	return func(yield func(uint32) bool) { record.Targets(targets, yield) }
}

// rescanScript finds what a stored script names under new rules. as is how what became of the request counts.
func (r *reading) rescanScript(rec *record.Resource, as urls.Account) *urls.Finding {
	d := record.Done{}
	if body, ok := r.storedScript(rec); ok {
		p := <-r.procs
		defer p.giveTo(r.procs)
		b := r.toRead(p, rec, body)
		b.Sitemap = false
		x := p.read.Read(b)
		as.Notes = append(as.Notes, x.Notes...)
		r.HostAdmission.Add(r.admit(rec.ID, rec.Depth, x, &as)...)
		d.Targets, d.Linked, rec.Cut = x.Targets(r.Rules), true, uint16(x.Cut)
	}
	d.Resource = *rec
	return &urls.Finding{Done: d, As: as}
}

// storedScript reads a stored script that is not too large to be scanned.
func (r *reading) storedScript(rec *record.Resource) ([]byte, bool) {
	if rec.Size > int64(r.Job.Limits.MaxDocument) {
		return nil, false
	}
	f, err := r.Bodies.Open(rec.Digest, rec.Size)
	if err != nil {
		return nil, false // verify reports it
	}
	defer f.Close()
	body, err := io.ReadAll(f)
	return body, err == nil && parse.MayName(rec, body)
}
