// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"

	"mirrord/internal/binread"
	"mirrord/mirror/result"
	"mirrord/site"
	"mirrord/store/record"
)

// To roll a mirror back is to reject what was published. A run that finds the site as it was then does
// not publish that again. What the site says decides, not the published files: these also depend on what
// could be had of other pages.

// Rejections is the rule about a site that is as it was when its mirror was rolled back.
func (rules) Rejections() rule { return rule{at: Compared, place: 10, judge: rejections} }

// ContentSum is a digest of what a record says of the content of a site; 0: the URL is not in the mirror and
// leads nowhere. Bit 0 says that it is in the mirror.
type ContentSum uint64

// ContentOf returns the content of a record.
func ContentOf(r *record.Resource) ContentSum {
	in := r.InSet && (r.Body != record.NoBody)
	if !in && (r.Target == 0) {
		return 0
	}
	b := binary.BigEndian.AppendUint32(nil, r.Target)
	if in {
		b = append(b, r.Digest[:]...)
		b = binread.AppendString(b, r.MIME)
		b = binread.AppendString(b, r.Charset)
	}
	sum := sha256.Sum256(b)
	c := ContentSum(binary.BigEndian.Uint64(sum[:])) &^ 1
	if in {
		c |= 1
	}
	return c
}

func (c ContentSum) inMirror() bool { return c&1 != 0 }

// Rejected is a version that was rejected.
type Rejected struct {
	Number int
	// the content of the URLs of which it is another one than in the version that the rollback published
	Contents map[uint32]ContentSum
}

// Rollback is what a rollback rejected. It holds while the version that it published is the current one.
type Rollback struct {
	Version  int // that it published
	Restores int // that this one is again
	Rejected []Rejected
}

// RejectedFact is the name of the fact of a site under which its rollbacks are stored: the last one, and
// before that is published the one before.
const RejectedFact = "rejected"

type storedRollback struct {
	Version  int              `json:"version"`
	Restores int              `json:"restores"`
	Rejected []storedRejected `json:"rejected"`
}

type storedRejected struct {
	Number   int    `json:"number"`
	Contents []byte `json:"contents"` // uvarint difference of the numbers, 8 bytes of content
}

// EncodeRollbacks writes rollbacks in a form that is stored.
func EncodeRollbacks(list []Rollback) ([]byte, error) {
	var out []storedRollback
	for _, b := range list {
		s := storedRollback{Version: b.Version, Restores: b.Restores}
		for _, r := range b.Rejected {
			var v []byte
			last := uint32(0)
			for _, id := range slices.Sorted(maps.Keys(r.Contents)) {
				v = binary.AppendUvarint(v, uint64(id-last))
				v = binary.BigEndian.AppendUint64(v, uint64(r.Contents[id]))
				last = id
			}
			s.Rejected = append(s.Rejected, storedRejected{Number: r.Number, Contents: v})
		}
		out = append(out, s)
	}
	return json.Marshal(out)
}

// DecodeRollbacks reads what EncodeRollbacks wrote. No data are no rollbacks.
func DecodeRollbacks(data []byte) ([]Rollback, error) {
	if data == nil {
		return nil, nil
	}
	var list []storedRollback
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	var out []Rollback
	for _, s := range list {
		b := Rollback{Version: s.Version, Restores: s.Restores}
		for _, x := range s.Rejected {
			r := Rejected{Number: x.Number, Contents: map[uint32]ContentSum{}}
			d := binread.Reader{Rest: x.Contents}
			id := uint32(0)
			for len(d.Rest) > 0 && !d.Bad {
				id += uint32(d.Uvarint())
				if v := d.Take(8); len(v) == 8 {
					r.Contents[id] = ContentSum(binary.BigEndian.Uint64(v))
				}
			}
			b.Rejected = append(b.Rejected, r)
		}
		out = append(out, b)
	}
	return out, nil
}

// HoldsAt returns the rollback that holds for a published version, nil for none.
func HoldsAt(list []Rollback, live *record.Version) *Rollback {
	if (live == nil) || (live.Restores == 0) {
		return nil
	}
	for i := range list {
		if list[i].Version == live.Number {
			return &list[i]
		}
	}
	return nil
}

// Reject returns what a rollback rejects that publishes a version: current, which was published and is
// replaced by restored, and what was rejected before it. before is the rollback that holds, nil for none. To
// bring back what was rejected releases it: then nothing is rejected.
func Reject(before *Rollback, current *record.Version, restores int, was, restored []ContentSum) *Rollback {
	b := &Rollback{Version: current.Number + 1, Restores: restores}
	now := Rejected{Number: current.Number, Contents: map[uint32]ContentSum{}}
	for id := range max(len(was), len(restored)) {
		if x := at(was, uint32(id)); x != at(restored, uint32(id)) {
			now.Contents[uint32(id)] = x
		}
	}
	if before != nil {
		for _, r := range before.Rejected {
			if r.Number == restores {
				return nil
			}
			all := maps.Clone(now.Contents) // where it was as the current version
			maps.Copy(all, r.Contents)
			b.Rejected = append(b.Rejected, Rejected{Number: r.Number, Contents: all})
		}
	}
	b.Rejected = append(b.Rejected, now)
	return b
}

func at(all []ContentSum, id uint32) ContentSum {
	if id < uint32(len(all)) {
		return all[id]
	}
	return 0
}

// RejectionFacts is what a case knows at Compared.
type RejectionFacts struct {
	Rollback *Rollback    // that holds; nil: none does
	Live     []ContentSum // by number, in the published version
	Now      []ContentSum // by number, as the run found it
	// Alike reports whether what the run found of a URL differs from what it is in a version only in what may
	// change by itself.
	Alike func(id uint32, version int) bool
}

// rejections compares what the run found with what was rejected. Without a difference from the published
// version there is nothing to hold.
func rejections(c *Case) (r Ruling, _ error) {
	f := &c.Parts.Rejection
	if (f.Rollback == nil) || c.Accept {
		return r, nil
	}
	found, differs := foundRejected(c)
	switch {
	case found != nil && differs:
		r.Rejection = &result.Rejection{RolledBackTo: f.Rollback.Restores, Rejected: found.Number}
	case found == nil && !differs:
		r.Released = true // the site is as the published version again
	}
	return r, nil
}

// foundRejected returns the rejected version that the run found again, nil if the site is another one now.
// differs reports whether what was found differs from the published version.
func foundRejected(c *Case) (found *Rejected, differs bool) {
	f := &c.Parts.Rejection
	n := uint32(max(len(f.Live), len(f.Now)))
	for i := range f.Rollback.Rejected {
		x := &f.Rollback.Rejected[i]
		same := true
		for id := range n {
			live, now := at(f.Live, id), at(f.Now, id)
			want, ok := x.Contents[id]
			if !ok {
				want = live
			}
			differs = differs || (live != now)
			if (now != want) && !excused(c, id, live, now, want) && !f.Alike(id, x.Number) {
				same = false
			}
		}
		if same {
			found = x
		}
	}
	return found, differs
}

// excused reports whether the run did not find out that a URL is not as it was rejected: it could not be
// had, was not requested, or is not confirmed yet to be gone. It is as in the published version then.
func excused(c *Case, id uint32, live, now, want ContentSum) bool {
	if (now != live) || (id >= c.Table.Len()) {
		return false
	}
	s := c.Table.State(id)
	switch s.Outcome() {
	case site.Fetched, site.Unchanged:
		// a run with gaps removes nothing that is no longer linked
		return !s.Answered() || (c.Parts.Gaps && !want.inMirror())
	case site.Gone:
		return !want.inMirror()
	}
	return true
}
