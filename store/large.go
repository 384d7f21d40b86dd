// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"hash/crc32"

	"mirrord/store/record"
)

// appendLarge writes the full frame of a document that is larger than the buffers that are kept, without a
// copy of its body: ten megabytes more would be most of what lives in the heap of a run.
func (s *Frames) appendLarge(w *FrameWriter, m FrameMeta, links, body []byte) (record.Place, error) {
	if err := w.begin(w.head(m), links, len(body), 0); err != nil {
		return record.Place{}, err
	}
	head := w.buf
	if w.plain {
		binary.LittleEndian.PutUint32(head[4:], uint32(len(head)-frameHeader+len(body)))
		sum := crc32.Update(crc32.Checksum(head[frameHeader:], castagnoli), castagnoli, body)
		binary.LittleEndian.PutUint32(head[8:], sum)
		return s.packs.append(head, body)
	}
	return s.packs.append(w.encoder.full(nil, head[frameHeader:], body))
}
