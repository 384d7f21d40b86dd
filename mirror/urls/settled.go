// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"iter"
	"slices"

	"mirrord/internal/texts"
	"mirrord/site"
)

// Settled is a table while no worker runs. Its methods that read may be called by many goroutines at once as
// long as none writes; those that write by one.
type Settled struct{ *urls }

// Len is how many numbers there are.
func (t Settled) Len() uint32 { return t.n }

// URL returns the URL of a number.
func (t Settled) URL(id uint32) site.URL { return t.urlOf(id) }

// Reader returns a reader of the table's URLs.
func (t Settled) Reader() *Reader { return &Reader{urls: t.urls} }

// Reader reads URLs in less time than Settled.URL when most numbers are larger than the one before. It is for
// one goroutine, as long as there is no writer.
type Reader struct {
	*urls
	text texts.Reader
}

// URL returns the URL of a number.
func (r *Reader) URL(id uint32) site.URL {
	return site.Canonical(string(r.text.Read(&r.texts, r.at(id).url)))
}

// AppendURL appends the URL of a number.
func (t Settled) AppendURL(dst []byte, id uint32) []byte {
	return t.texts.Append(dst, t.at(id).url)
}

// Spelled reports whether there are URLs that are not in normal form.
func (t Settled) Spelled() bool { return t.spelled > 0 }

// State returns the state of a number.
func (t Settled) State(id uint32) State { return State{*t.at(id)} }

// Identity reports whether the mirror path of a number is its URL path.
func (t Settled) Identity(id uint32) bool { return t.at(id).flags&fIdentity != 0 }

// All returns all numbers, ascending, with the state of each when its turn comes.
func (t Settled) All() iter.Seq2[uint32, State] {
	return func(yield func(uint32, State) bool) {
		for id := uint32(0); id < t.n; id++ {
			if !yield(id, State{*t.at(id)}) {
				return
			}
		}
	}
}

// Find returns the number of a URL, or of an equivalent one.
func (t Settled) Find(u []byte) (uint32, bool) { return t.find(u) }

// FindURL is Find for a URL that was parsed.
func (t Settled) FindURL(u site.URL) (uint32, bool) { return t.find([]byte(u.String())) }

// Path returns the mirror path of a number, "" when it has none.
func (t Settled) Path(id uint32) string { return t.path(id) }

// Final follows redirects to the number that holds the content; in is false when that is not in the mirror.
func (t Settled) Final(id uint32) (final uint32, in bool) { return t.final(id) }

// Fragment returns the fragment with which the redirects from a number lead to the content, "" for none.
func (t Settled) Fragment(id uint32) string { return t.fragment(id) }

// MIME returns the MIME type of a number, "" when none is known.
func (t Settled) MIME(id uint32) string { return t.mimes[t.at(id).mime] }

// MIMEs lists the MIME types, by State.Type. The list is not to be changed.
func (t Settled) MIMEs() []string { return slices.Clip(t.mimes) }

// Circles returns the URLs that redirect in circles, by number, each circle once.
func Circles(t Settled) (out [][]uint32) {
	for start := uint32(0); start < t.n; start++ {
		circle := []uint32(nil)
		id := start
		for range MaxHops { // no chain is followed further
			e := t.at(id)
			to := e.target()
			if e.flags&fInSet != 0 || to == 0 {
				break
			}
			circle = append(circle, id)
			if id = to - 1; id <= start {
				break // a circle is found at its lowest number
			}
		}
		if len(circle) > 0 && id == start {
			out = append(out, circle)
		}
	}
	return out
}

// Leads returns the entry points and where they lead, by number.
func (t Settled) Leads(seeds []site.URL) map[uint32]bool {
	out := map[uint32]bool{}
	for _, u := range seeds {
		id, ok := t.FindURL(u)
		for hops := 0; ok && hops <= MaxHops; hops++ {
			out[id] = true
			to := t.State(id).Target()
			id, ok = to-1, to > 0
		}
	}
	return out
}

// Entry returns the number of the page that a mirror opens with: the first entry point that is in the mirror,
// or leads there.
func (t Settled) Entry(seeds []site.URL) (id uint32, ok bool) {
	for _, u := range seeds {
		if id, ok := t.FindURL(u); ok {
			if final, in := t.Final(id); in {
				return final, true
			}
		}
	}
	return 0, false
}
