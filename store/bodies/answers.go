// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"encoding/binary"

	"mirrord/fetch/heads"
	"mirrord/internal/binread"
	"mirrord/internal/zst"
	"mirrord/store/record"
)

// AppendAnswers writes the heads of a batch of the journal behind it. An answer that says what the last one
// said (Resource.HeadSum) has none.
func (s *Frames) AppendAnswers(b []byte, done []*record.Done) []byte {
	some := false
	var buf, coded []byte
	for _, d := range done {
		coded = coded[:0]
		if d.Answer != nil && d.Answer.Size() <= heads.MaxSize && !d.SaysNothingNew() {
			coded, some = d.Answer.Append(coded), true
		}
		buf = binary.AppendUvarint(buf, uint64(len(coded)))
		buf = append(buf, coded...)
	}
	if !some || len(buf) > maxAnswers {
		return b
	}
	frame := s.encoder.append(nil, buf)
	return append(binary.AppendUvarint(b, uint64(len(frame))), frame...)
}

// ReadAnswers returns the coded heads of a batch, one for each document done; nil when there are none, or
// they are damaged: then they are lost, and no more. One goroutine at a time reads them.
func (s *Frames) ReadAnswers(frame []byte, done int) [][]byte {
	if len(frame) == 0 {
		return nil
	}
	if s.answers == nil {
		s.answers = zst.NewDecoder(maxAnswers)
	}
	buf, err := s.answers.DecodeAll(frame, nil)
	if err != nil {
		return nil
	}
	d := binread.Reader{Rest: buf}
	out := make([][]byte, done)
	for i := range out {
		out[i] = d.Bytes()
	}
	if d.Bad || len(d.Rest) > 0 {
		return nil
	}
	return out
}
