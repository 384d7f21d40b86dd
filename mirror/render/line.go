// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"mirrord/phm"
)

// repairKind is the kind of the declared edit of a repaired link, repairField the member of its line in
// phm.files that says more.
const (
	repairKind  = "repair"
	repairField = "mirrord.repaired"
)

// RepairedLink is one link to an equivalent copy.
type RepairedLink struct {
	At  int64  `json:"at"`  // byte offset in the body as the origin sent it
	Was string `json:"was"` // the URL that is broken
	To  string `json:"to"`
	Why string `json:"why,omitempty"`
}

// declare writes a member into the line of a file.
func declare(f *phm.File, field string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if f.Extra == nil {
		f.Extra = map[string]json.RawMessage{}
	}
	f.Extra[field] = raw
	return nil
}

// declareRepairs writes the repaired links of a document into its line.
func declareRepairs(f *phm.File, links []RepairedLink) error {
	if len(links) == 0 {
		return nil
	}
	slices.SortFunc(links, func(a, b RepairedLink) int { return cmp.Compare(a.At, b.At) })
	for _, l := range links {
		f.Edits = append(f.Edits, phm.DeclaredEdit{Kind: repairKind, At: l.At})
	}
	slices.SortStableFunc(f.Edits, func(a, b phm.DeclaredEdit) int { return cmp.Compare(a.At, b.At) })
	return declare(f, repairField, links)
}

// RepairsOf reads the repaired links of a line.
func RepairsOf(f *phm.File) (links []RepairedLink, err error) {
	v, ok := f.Extra[repairField]
	if !ok {
		return nil, nil
	}
	if err := json.Unmarshal(v, &links); err != nil {
		return nil, fmt.Errorf("line of %s: %s: %w", f.Path, repairField, err)
	}
	return links, nil
}

// CountRepairs is how many links of a file are repaired.
func CountRepairs(f *phm.File) (n int) {
	for i := range f.Edits {
		if f.Edits[i].Kind == repairKind {
			n++
		}
	}
	return n
}

// SameFile reports whether two files have the same bytes, times and origin; a may be nil, which is no file.
// A file of an imported mirror that was flattened says where it lay; that of the next version does not.
func SameFile(a, b *phm.File) bool {
	if a == nil {
		return false
	}
	sameBytes := a.SHA256 == b.SHA256 && a.Size == b.Size
	return sameBytes && a.Modified.Equal(b.Modified) && a.URL == b.URL && a.Type == b.Type && a.From == b.From
}

// SameRepairs reports whether the same links of two documents are repaired: a kept version is rendered by
// what its lines say.
func SameRepairs(a, b *phm.File) bool {
	if bytes.Equal(a.Extra[repairField], b.Extra[repairField]) {
		return true
	}
	one, err1 := RepairsOf(a)
	two, err2 := RepairsOf(b)
	return err1 == nil && err2 == nil && slices.EqualFunc(one, two, func(x, y RepairedLink) bool {
		return x.At == y.At && x.Was == y.Was && x.To == y.To
	})
}

// SameLine reports whether two lines say the same of a file.
func SameLine(a, b *phm.File) bool {
	return SameFile(a, b) && a.Name() == b.Name() && SameRepairs(a, b) && slices.Equal(a.Also(), b.Also())
}
