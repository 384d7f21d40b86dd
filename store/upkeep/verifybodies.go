// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/trees"
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

func (v *verifier) document(d *stored) {
	v.st.Frames++
	if v.s.Away.Has(v.s.Frames.Packs, d.at) {
		v.st.Away++
		return
	}
	v.spend(min(int64(d.at.Len), d.size+bodies.HeaderSize)) // of a frame of many, which is mostly read already
	f, err := v.s.Frames.ReadFrame(v.frames, d.at)
	if errors.Is(err, blobs.ErrAway) { // what it is over
		v.st.Away++
		return
	}
	if err == nil {
		v.st.Bytes += int64(len(f.Body))
		err = f.Check(d.id, d.digest)
	}
	switch {
	case err != nil:
		v.problem(BadFrame, d.url, "%v", err)
	case int64(len(f.Body)) != d.size:
		v.problem(BadFrame, d.url, "the frame has a body of %d bytes, the record says %d", len(f.Body), d.size)
	}
}

// blob checks the blob of a record, once for all records that share it.
func (v *verifier) blob(r *record.Resource) {
	if v.blobs[r.Digest] {
		return
	}
	v.blobs[r.Digest] = true
	v.st.Blobs++
	fi, err := v.s.Kept.Stat(r.Digest)
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
	if v.s.Away.HasOnly(r.Digest, v.s.Kept) {
		v.st.Away++
		return
	}
	v.st.Bytes += fi.Size
	right, err := v.s.Kept.IsRight(r.Digest, func(r io.Reader) io.Reader { return pacedReader{r, v} })
	if err != nil {
		v.problem(BadBlob, r.URL.String(), "%v", disk.Unreadable(err))
	} else if !right {
		v.problem(BadBlob, r.URL.String(), "the blob %x has another digest", r.Digest)
	}
}

// history checks the records of older versions. Their bodies are checked, too: they are needed for
// looking back alone.
func (v *verifier) history() error {
	last, err := v.s.Versions.Last()
	if v.live = last.Number; err != nil {
		v.problem(BadVersion, "", "%v", err)
	}
	var r record.Resource
	return v.s.Each(home.History, func(k, val []byte) error {
		if err := v.ended(); err != nil {
			return err
		}
		if len(k) < 8 {
			v.problem(BadHistory, fmt.Sprintf("%x", k), "the key has no version")
			return nil
		}
		n := binary.BigEndian.Uint64(k)
		u, err := record.URLOfKey(k[8:])
		if err != nil {
			v.problem(BadHistory, fmt.Sprintf("%q", k), "%v", err)
			return nil
		}
		if n < 2 || n > uint64(v.live)+1 {
			v.problem(BadHistory, u.String(), "it is of version %d, the published one is %d", n, v.live)
		}
		if len(val) == 0 {
			return nil
		}
		if err := r.Decode(u, val); err != nil {
			v.problem(BadHistory, u.String(), "%v", err)
			return nil
		}
		if r.InSet {
			v.record(BadHistory, &r)
		}
		return nil
	})
}

func (v *verifier) versions() error {
	last := 0
	return v.s.DB.View(func(tx *db.Tx) error {
		for k, val := range tx.Bucket(home.Versions).From(nil) {
			v.st.Versions++
			name := fmt.Sprintf("%x", k)
			var x record.Version
			if err := json.Unmarshal(val, &x); err != nil {
				v.problem(BadVersion, name, "%v", err)
				continue
			}
			if len(k) != 8 || binary.BigEndian.Uint64(k) != uint64(x.Number) || x.Number <= last {
				v.problem(BadVersion, name, "it says that it is version %d, after %d", x.Number, last)
			}
			last = x.Number
		}
		if k := tx.Meta().Get(home.KeyLive); last > 0 &&
			(len(k) != 8 || binary.BigEndian.Uint64(k) != uint64(last)) {
			v.problem(BadVersion, "", "the published version is %x, the last one is %d", k, last)
		}
		for k, val := range tx.Bucket(home.Scripts).From(nil) {
			name := fmt.Sprintf("script %x", k)
			if len(k) != 8 || tx.Bucket(home.Versions).Get(k) == nil {
				v.problem(BadVersion, name, "there is no such version")
			}
			if _, err := record.UnpackScript(val); err != nil {
				v.problem(BadVersion, name, "%v", err)
			}
		}
		return nil
	})
}

func (v *verifier) current() error {
	wrong, err := v.s.Trees.CheckLink(v.st.Versions > 0)
	if wrong != "" {
		v.problem(BadCurrent, trees.CurrentLink, "%s", wrong)
	}
	return err
}
