// SPDX-License-Identifier: Apache-2.0

package heads

import (
	"fmt"

	"mirrord/internal/binread"
)

// The first byte of a head that Append wrote, with flagNormalised. Those of older ones are below.
const plainHead = 8

const flagNormalised = 1

// Append writes a head: a byte, and status line, names and values, each with its uvarint length.
func (h *Head) Append(b []byte) []byte {
	first := byte(plainHead)
	if h.Normalised {
		first |= flagNormalised
	}
	b = binread.AppendString(append(b, first), h.Status)
	for _, f := range h.Fields {
		b = binread.AppendString(binread.AppendString(b, f.Name), f.Value)
	}
	return b
}

// Decode reads what Append wrote, now or in an older version.
func Decode(b []byte) (*Head, error) {
	if len(b) == 0 || b[0]&^flagNormalised != plainHead {
		return DecodeOlder(b, nil)
	}
	d := binread.Sharing(b)
	h := &Head{Normalised: d.Byte()&flagNormalised != 0, Status: d.Text(), Fields: make([]Field, 0, 16)}
	for len(d.Rest) > 0 {
		h.Fields = append(h.Fields, Field{d.Text(), d.Text()})
	}
	if d.Bad {
		return nil, fmt.Errorf("head: %w", errMalformed)
	}
	return h, nil
}
