// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"mirrord/relocate"
)

// Of a srcset a browser loads one candidate, and which one depends on the screen: one that the mirror does
// not have would leave the place empty. So in a page that is one file a set is its best candidate that the
// mirror has. A set of which it has none is empty, and the src or the next source of the picture is shown.

// bestOfSets changes links and edits of a page so that of each srcset the best candidate is left.
func bestOfSets(raw []byte, doc *relocate.Doc, has func(*relocate.Link) bool) {
	links := make([]relocate.Link, 0, len(doc.Links))
	edits := slices.Clone(doc.Edits)
	place := make([]int32, len(doc.Links)) // of each link in links, -1 for one that goes
	for i := 0; i < len(doc.Links); {
		n, end := candidates(raw, doc.Links[i:])
		if n == 0 {
			place[i] = int32(len(links))
			links = append(links, doc.Links[i])
			i++
			continue
		}
		set := doc.Links[i : i+n]
		for k := range set {
			place[i+k] = -1
		}
		from, best := set[0].Start, bestOf(raw, set, end, has)
		if best >= 0 {
			l := set[best]
			edits = append(edits, removed(from, l.Start))
			from = l.End + int32(len(descriptor(raw[l.End:end])))
			place[i+best] = int32(len(links))
			links = append(links, l)
		}
		edits = append(edits, removed(from, end))
		i += n
	}
	for i := range edits {
		if l := edits[i].Link; l >= 0 {
			edits[i].Link = place[l]
		}
	}
	slices.SortStableFunc(edits, func(a, b relocate.Edit) int { return cmp.Compare(a.Start, b.Start) })
	doc.Links, doc.Edits = links, edits
}

func removed(start, end int32) relocate.Edit { return relocate.Edit{Start: start, End: end, Link: -1} }

// candidates returns how many of the next links are those of one srcset, and where its attribute ends: 0 for
// none, or a set in an attribute without quotes or in a page inside an attribute, which stays as it is.
func candidates(raw []byte, links []relocate.Link) (n int, end int32) {
	const plainly = relocate.CtxLevel | relocate.CtxSrcset | relocate.CtxUnquoted | relocate.CtxXML
	ctx := links[0].Ctx
	if ctx&plainly != relocate.CtxSrcset|1 {
		return 0, 0
	}
	quote := byte('"')
	if ctx&relocate.CtxSingle != 0 {
		quote = '\''
	}
	k := bytes.IndexByte(raw[links[0].End:], quote)
	if k < 0 {
		return 0, 0
	}
	end = links[0].End + int32(k)
	for n < len(links) && links[n].End <= end {
		n++
	}
	return n, end
}

// bestOf returns which of the candidates the mirror has in the largest size, -1 for none.
func bestOf(raw []byte, set []relocate.Link, end int32, has func(*relocate.Link) bool) int {
	best, size := -1, -1.0
	for i := range set {
		if !has(&set[i]) {
			continue
		}
		d := bytes.TrimSpace(descriptor(raw[set[i].End:end]))
		n, err := strconv.ParseFloat(string(d[:max(len(d)-1, 0)]), 64) // without its unit
		if err != nil {
			n = 1
		}
		if n > size {
			best, size = i, n
		}
	}
	return best
}

// descriptor is what stands behind the URL of a candidate, up to the next one.
func descriptor(rest []byte) []byte {
	if i := bytes.IndexByte(rest, ','); i >= 0 {
		return rest[:i]
	}
	return rest
}
