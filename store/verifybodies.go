// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"mirrord/store/blobs"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// stored is a document that a record says is stored.
type stored struct {
	at     record.Place
	url    string
	size   int64
	id     uint32
	digest [32]byte // zeros: as the head of the frame says
}

// maxWaiting is how many documents wait to be read in the order of the packs. In the order of their URLs a
// bundle would be unpacked for half of its documents.
const maxWaiting = 16 << 10

// later checks the document of a record with others that lie near it.
func (v *verifier) later(r *record.Resource) {
	v.waiting = append(v.waiting, stored{
		at:     r.At,
		url:    r.URL.String(),
		size:   r.Size,
		id:     r.ID,
		digest: r.Digest,
	})
	if len(v.waiting) == maxWaiting {
		v.documents()
	}
}

// documents checks the documents that wait.
func (v *verifier) documents() {
	slices.SortFunc(v.waiting, func(a, b stored) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.url, b.url))
	})
	for i := range v.waiting {
		if v.ended() != nil {
			break // the caller that waits for the end of the step reports it
		}
		v.document(&v.waiting[i])
	}
	v.waiting = v.waiting[:0]
}

// document checks a stored document.
func (v *verifier) document(d *stored) {
	v.st.Frames++
	if v.s.packs.isAway(d.at) {
		v.st.Away++
		return
	}
	v.spend(min(int64(d.at.Len), d.size+frameHeader)) // of a frame of many, which is mostly read already
	f, err := v.s.Frames.ReadFrame(v.frames, d.at)
	if errors.Is(err, blobs.ErrAway) { // what it is over
		v.st.Away++
		return
	}
	if err != nil {
		v.problem(BadFrame, d.url, "%v", err)
		return
	}
	want, err := f.check(d.id, d.digest)
	switch {
	case err != nil:
		v.problem(BadFrame, d.url, "%v", err)
	case int64(len(f.Body)) != d.size:
		v.problem(BadFrame, d.url, "the frame has a body of %d bytes, the record says %d", len(f.Body), d.size)
	case v.deep:
		v.st.Bytes += d.size
		if got := record.DigestLike(want, f.Body); got != want {
			v.problem(BadFrame, d.url, "the digest of its body is %x, not %x", got, want)
		}
	}
}

// blob checks the blob of a record, once for all records that share it.
func (v *verifier) blob(r *record.Resource) {
	if v.blobs[r.Digest] {
		return
	}
	v.blobs[r.Digest] = true
	v.st.Blobs++
	fi, err := v.s.kept.Stat(r.Digest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.problem(BadBlob, r.URL.String(), "the blob %x is missing", r.Digest)
		return
	case err != nil:
		v.problem(BadBlob, r.URL.String(), "%v", disk.Unreadable(err))
		return
	case !fi.Regular || fi.Size != r.Size:
		v.problem(BadBlob, r.URL.String(), "the blob %x has %d bytes, not %d", r.Digest, fi.Size, r.Size)
		return
	}
	if v.s.packs.away.hasOnly(r.Digest, v.s.kept) {
		v.st.Away++
		return
	}
	if !v.deep {
		return
	}
	v.st.Bytes += fi.Size
	right := false
	f, err := v.s.kept.Open(r.Digest, 0, -1)
	if err == nil {
		right, err = blobs.HasDigest(pacedReader{f, v}, r.Digest)
		f.Close()
	}
	if err != nil {
		v.problem(BadBlob, r.URL.String(), "%v", disk.Unreadable(err))
	} else if !right {
		v.problem(BadBlob, r.URL.String(), "the blob %x has another digest", r.Digest)
	}
}
