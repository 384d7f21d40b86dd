// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"encoding/binary"
	"fmt"
	"mirrord/fetch/heads"
	"mirrord/internal/binread"
	"mirrord/store/disk"
	"mirrord/store/record"

	"github.com/klauspost/compress/zstd"
)

// The heads of a batch of the journal follow its records: uvarint bytes, and a zstd frame of, for each
// document done, uvarint length and the head (heads.Head.Append); the length is 0 for an answer without one,
// and for one that says what the last one said (Resource.HeadSum). A batch without heads ends before.

// AnswerZip packs and unpacks the heads of batches. It is made when the first one comes.
type AnswerZip struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
	buf []byte
}

// Append writes the heads of a batch behind it.
func (z *AnswerZip) Append(b []byte, done []*record.Done) []byte {
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

// Read returns the coded heads of a batch, one for each document done; nil when there are none. Damaged
// ones are lost.
func (z *AnswerZip) Read(frame []byte, done int) ([][]byte, error) {
	if len(frame) == 0 {
		return nil, nil
	}
	if z.dec == nil {
		z.dec = NewDecoder(maxAnswers)
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
