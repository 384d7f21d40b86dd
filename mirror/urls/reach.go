// SPDX-License-Identifier: Apache-2.0

package urls

import "mirrord/store/record"

// Links is how documents lead to resources.
type Links struct {
	Of    func(id uint32) ([]byte, error) // the links of a number, for record.Targets
	Count func(id uint32, s State) bool   // whether they count
	May   func(s State) bool              // whether a resource is a document, which may get links
}

// Reached is what can be reached from the roots of a mirror.
type Reached struct {
	set  IDSet
	Docs []uint32 // of what can be reached: all that have links that count, or may get some
}

// Has reports whether a number can be reached.
func (r *Reached) Has(id uint32) bool { return r.set.Has(id) }

// Reach follows redirects and links from the roots. It changes nothing; its error is one of reading links.
func Reach(t Settled, links Links, roots []uint32) (*Reached, error) {
	r := new(Reached)
	var stack []uint32
	push := func(id uint32) bool {
		if id < record.Mention {
			id &^= record.Guess
		}
		if (id < t.Len()) && !r.Has(id) {
			r.set.Put(id, true)
			stack = append(stack, id)
		}
		return true
	}
	for _, id := range roots {
		push(id)
	}
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		s := t.State(id)
		if s.Target() > 0 {
			push(s.Target() - 1)
		}
		if !links.Count(id, s) {
			continue
		}
		targets, err := links.Of(id)
		if err != nil {
			return nil, err
		}
		if (len(targets) > 0) || links.May(s) {
			r.Docs = append(r.Docs, id)
		}
		record.Targets(targets, push)
	}
	return r, nil
}
