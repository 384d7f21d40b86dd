// SPDX-License-Identifier: Apache-2.0

package crawl

import "slices"

// A Retry-After is that of its URL until so many different URLs of the origin in a row, without an answer in
// between, asked to wait. Then the host waits. When that is for longer than polite.max_wait, a URL that is
// known to answer is requested first; the host is left for the next run when that asks to wait as well, or
// when there is none.
const (
	waitsShort = 2
	waitsLong  = 4
)

// waited notes that a URL asked to wait, for longer than the job allows if long, and reports whether its host
// is to wait. witness is called when another URL has to confirm that, and says whether there is one.
func (k *trouble) waited(id uint32, long bool, witness func() bool) bool {
	if !slices.Contains(k.waits, id) && len(k.waits) < waitsLong {
		k.waits = append(k.waits, id)
	}
	if !long {
		return len(k.waits) >= waitsShort
	}
	if !k.doubt && !k.probing && (len(k.waits) == waitsLong-1) {
		k.doubt = witness()
	}
	return len(k.waits) >= waitsLong
}
