// SPDX-License-Identifier: Apache-2.0

package volatile

// Plain returns what a document says at any moment: without what stands at known positions, and with one mark
// for each age ("3 days ago"). Answers of two pages that came at different moments are compared by it.
func (k Positions) Plain(doc []byte) []byte {
	if len(doc) > MaxBody {
		return doc
	}
	d := read(k.Masked(doc).Body)
	out, at := make([]byte, 0, len(d.doc)), 0
	for i := range d.units {
		if u := &d.units[i]; u.ages && u.from >= at {
			out, at = append(append(out, d.doc[at:u.from]...), mark), u.to
		}
	}
	return append(out, d.doc[at:]...)
}
