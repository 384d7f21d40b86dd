// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"mirrord/mirror/urls"
	"mirrord/replica/hosts"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// wasLike reports whether the broken page, when its mirror n last had it, was what mirror m has of the copy
// (its): the same bytes, or nearly the same text. The copier of a site must not decide what its
// lost paths show.
func (k *neighbours) wasLike(n *neighbour, broken *record.Resource, m *neighbour, its *record.Resource) bool {
	if its.Body == record.NoBody {
		return false
	}
	if (broken.Body != record.NoBody) && (broken.Digest == its.Digest) {
		return true
	}
	if k.compared >= mostCompared {
		return false
	}
	k.compared++
	had, ok := n.lastHad(broken)
	if !ok || (had.Digest == its.Digest) {
		return ok
	}
	if !isComparable(had) || !isComparable(its) {
		return false
	}
	one, ok := k.page(n, had)
	if !ok {
		return false
	}
	two, ok := k.page(m, its)
	if !ok {
		return false
	}
	how, _ := one.Compare(two)
	if how != hosts.HighSimilar {
		return (how == hosts.FullMatch) || (how == hosts.FullSimilar)
	}
	kin := one.Kin(two, hosts.Template(k.around(m, its)), likeness)
	return (kin == hosts.Alike) || (kin == hosts.Grown)
}

const (
	likeness   = 0.5 // least resemblance of what the broken page and the copy say themselves
	aroundCopy = 8   // pages around the copy that tell its template
)

// around returns pages of a mirror that lie around one.
func (k *neighbours) around(m *neighbour, rec *record.Resource) (out []hosts.PageBody) {
	for _, r := range urls.Around(m.Records, rec.URL, rec.URL.Origin()+"/", aroundCopy) {
		if p, ok := k.page(m, &r); ok {
			out = append(out, p)
		}
	}
	return out
}

// isComparable reports whether the text of a resource can be compared.
func isComparable(rec *record.Resource) bool {
	return (rec.Body == record.PackBody) && (rec.Size <= hosts.MaxCompared)
}

// lastHad returns the record of what the mirror last had of a page. After garbage collection only the kept
// versions have it.
func (n *neighbour) lastHad(rec *record.Resource) (*record.Resource, bool) {
	if rec.Body != record.NoBody {
		return rec, true
	}
	versions, err := n.Versions.History(rec.URL)
	if err != nil {
		return nil, false
	}
	for i := len(versions) - 1; i >= 0; i-- {
		v := &versions[i]
		if hasBody := v.Record.InSet && (v.Record.Body != record.NoBody); v.Known && hasBody {
			return &v.Record, true
		}
	}
	return nil, false
}

// page reads what a mirror has stored of a document; ok is false when it is gone.
func (k *neighbours) page(n *neighbour, rec *record.Resource) (p hosts.PageBody, ok bool) {
	if k.frames == nil {
		k.frames = bodies.NewFrameReader()
	}
	fr, err := n.Frames.ReadFrame(k.frames, rec.At)
	if (err != nil) || !record.IsDigestOf(rec.Digest, fr.Body) {
		return p, false
	}
	return hosts.AnswerBody(rec.MIME, rec.URL, fr.Body), true
}
