// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"maps"
	"slices"
)

// mostBetween is how many bytes stand at most between two texts that name a position.
const mostBetween = 64 << 10

// Between returns the position of what stands between two texts, which a profile names. It is for what says
// nothing although two answers of one moment have it in common, because the program keeps it for a day.
func Between(before, after string) (Position, At) {
	return hashOf(0, []byte(before), []byte(after)), At{Kind: Region, before: before, after: after}
}

// between masks what stands between two texts.
func (k Positions) between(doc []byte) (out []byte, hits []Sighting) {
	out = doc
	for _, p := range slices.Sorted(maps.Keys(k)) {
		at := k[p]
		if at.before == "" {
			continue
		}
		for i := 0; ; {
			from := bytes.Index(out[i:], []byte(at.before))
			if from < 0 {
				break
			}
			from += i + len(at.before)
			to := bytes.Index(out[from:min(len(out), from+mostBetween)], []byte(at.after))
			if i = from; to < 0 {
				continue
			}
			hits = append(hits, Sighting{
				Position: p,
				Value:    out[from : from+to],
				Where:    at.before + "#" + at.after,
				kind:     Region,
			})
			out = slices.Concat(out[:from], []byte{mark, byte(Region)}, out[from+to:])
		}
	}
	return out, hits
}
