// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"encoding/binary"
	"errors"
)

// A page that is shown with other bytes than it has is kept as what differs: for each change the number of
// bytes before it that are the same, the number of bytes that are shown in its place, the number of bytes
// that the page has there, each as a varint, and these bytes.

func appendUndo(undo []byte, same, shown int, raw []byte) []byte {
	undo = binary.AppendUvarint(undo, uint64(same))
	undo = binary.AppendUvarint(undo, uint64(shown))
	undo = binary.AppendUvarint(undo, uint64(len(raw)))
	return append(undo, raw...)
}

var errUndo = errors.New("the changes of the page do not fit it")

// restore returns a page as it was before the changes.
func restore(shown, undo []byte) ([]byte, error) {
	raw := make([]byte, 0, len(shown)+len(undo))
	take := func(from *[]byte, most int) (int, bool) {
		n, k := binary.Uvarint(*from)
		if k <= 0 || n > uint64(most) {
			return 0, false
		}
		*from = (*from)[k:]
		return int(n), true
	}
	for len(undo) > 0 {
		same, ok := take(&undo, len(shown))
		if !ok {
			return nil, errUndo
		}
		raw, shown = append(raw, shown[:same]...), shown[same:]
		skip, ok := take(&undo, len(shown))
		if !ok {
			return nil, errUndo
		}
		shown = shown[skip:]
		n, ok := take(&undo, len(undo))
		if !ok || n > len(undo) {
			return nil, errUndo
		}
		raw, undo = append(raw, undo[:n]...), undo[n:]
	}
	return append(raw, shown...), nil
}
