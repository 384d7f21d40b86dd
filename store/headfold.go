// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"
	"net/http"

	"github.com/klauspost/compress/zstd"

	"mirrord/fetch/heads"
	"mirrord/internal/binread"
	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// The heads of a batch of the journal follow its records: uvarint bytes, and a zstd frame of, for each
// document done, uvarint length and the head (heads.Head.Append); the length is 0 for an answer without one,
// and for one that says what the last one said (Resource.HeadSum). A batch without heads ends before.

// headZip packs and unpacks the heads of batches. It is made when the first one comes.
type headZip struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
	buf []byte
}

// appendHeads writes the heads of a batch behind it.
func (z *headZip) append(b []byte, done []*record.Done) []byte {
	z.buf = z.buf[:0]
	some := false
	var coded []byte
	for _, d := range done {
		coded = coded[:0]
		if d.Answer != nil && d.Answer.Size() <= heads.MaxSize && !d.SaysNothingNew() {
			coded, some = d.Answer.Append(coded), true
		}
		z.buf = binary.AppendUvarint(z.buf, uint64(len(coded)))
		z.buf = append(z.buf, coded...)
	}
	if !some || len(z.buf) > maxAnswers {
		return b
	}
	if z.enc == nil {
		var err error
		z.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(64<<10), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are constants
		}
	}
	frame := z.enc.EncodeAll(z.buf, nil)
	if cap(z.buf) > maxKept {
		z.buf = nil
	}
	b = binary.AppendUvarint(b, uint64(len(frame)))
	return append(b, frame...)
}

// read returns the coded heads of a batch, one for each document done; nil when there are none. Damaged
// ones are lost.
func (z *headZip) read(frame []byte, done int) ([][]byte, error) {
	if len(frame) == 0 {
		return nil, nil
	}
	if z.dec == nil {
		var err error
		z.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxAnswers))
		if err != nil {
			panic(err) // the options are constants
		}
	}
	buf, err := z.dec.DecodeAll(frame, nil)
	if err != nil {
		return nil, fmt.Errorf("heads of a batch: %w: %w", disk.ErrDamaged, err)
	}
	d := binread.Reader{Rest: buf}
	out := make([][]byte, done)
	for i := range out {
		out[i] = d.Bytes()
	}
	if d.Bad || len(d.Rest) > 0 {
		return nil, fmt.Errorf("heads of a batch: %w", disk.ErrDamaged)
	}
	return out, nil
}

// place decides which heads a record refers to after an answer, and appends new ones. old is the record
// before, nil for none. The places that r has are not looked at: a record that waited in the journal may be
// older than what was moved since.
func (f *headFiles) place(r, old *record.Resource, answer []byte) {
	var was record.Resource
	if old != nil {
		was = *old
	}
	r.Head, r.LastHead, r.HeadSum = was.Head, was.LastHead, was.HeadSum
	// a body that is gone, or another one
	if r.Body == record.NoBody || (old != nil && (old.Fetched != r.Fetched || old.Digest != r.Digest)) {
		r.Head, r.HeadSum = record.HeadPlace{}, 0
	}
	var h *heads.Head
	url := ""
	if len(answer) > 0 {
		h, _ = heads.Decode(answer) // nil: it is damaged, and lost
		url = r.URL.String()
	}
	switch r.Outcome {
	case site.Fetched:
		r.LastHead = record.HeadPlace{}
		if h != nil {
			r.Head, r.HeadSum = f.add(url, h), 0
		}
	case site.Unchanged:
		r.LastHead = record.HeadPlace{}
		if h != nil {
			if r.Head, r.HeadSum = f.again(url, h, was.Head), 0; !r.Head.IsZero() {
				r.HeadSum = h.Sum()
			}
		}
	case site.Redirected, site.Gone, site.Failed:
		// what was decided later, not a new answer
		amended := old != nil && old.Run == r.Run && old.Checked == r.Checked
		if h != nil {
			r.LastHead = f.again(url, h, was.LastHead)
		} else if !amended {
			r.LastHead = record.HeadPlace{}
		}
	}
}

// again returns the place of a head when the URL had one at a place before: that, as long as the answer says
// nothing new.
func (f *headFiles) again(url string, h *heads.Head, was record.HeadPlace) record.HeadPlace {
	prev, err := f.read(url, was)
	notModified := h.Code() == http.StatusNotModified
	switch {
	case err != nil && notModified: // it has too few fields of the response with the body
		return record.HeadPlace{}
	case err != nil: // missing, or lost
		return f.add(url, h)
	case notModified:
		now, changed := prev.Freshened(h)
		if !changed {
			return was
		}
		h = now
	case prev.Same(h):
		return was
	}
	return f.add(url, h)
}

// knows reports whether place would keep the head of a record after an answer that found the body as it was.
// The record may have no sum of such an answer: learning one is no reason to write each record of a site
// again.
func (f *headFiles) knows(r *record.Resource, h *heads.Head) bool {
	if r.Head.IsZero() && h.Code() == http.StatusNotModified {
		return true
	}
	prev, err := f.read(r.URL.String(), r.Head)
	switch {
	case err != nil:
		return false
	case h.Code() == http.StatusNotModified:
		_, changed := prev.Freshened(h)
		return !changed
	}
	return prev.Same(h)
}
