// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/store"
)

// repairKind is the kind of the declared edit of a repaired link, repairField the member of its line in phm.files that says more.
const (
	repairKind  = "repair"
	repairField = "mirrord.repaired"
)

// repairedLink is one link that leads to an equivalent copy.
type repairedLink struct {
	At  int64  `json:"at"`  // byte offset in the body as the origin sent it
	Was string `json:"was"` // the URL that is broken
	To  string `json:"to"`
	Why string `json:"why,omitempty"`
}

// cure returns where link i leads instead of the URL u outside of the set. Only what a reader follows is repaired: neither what a page loads, which would
// run with its rights, nor frames, forms, and the names of documents.
func (s *splicer) cure(i int, u []byte) (c cure, ok bool) {
	l := &s.links.Links[i]
	if l.Kind != relocate.Hyperlink {
		return cure{}, false
	}
	if s.was != nil {
		c, ok = s.was[l.Start]
		return c, ok
	}
	if c, ok = s.r.offsite.cures[string(u)]; !ok {
		return cure{}, false
	}
	// In the line: the edit, and the URLs, in which an ampersand takes six bytes.
	cost := 100 + len(u) + len(c.to) + len(c.why) + 5*(bytes.Count(u, []byte("&"))+strings.Count(c.to, "&"))
	if s.declared+cost > mostDeclared {
		s.full = true
		return cure{}, false
	}
	s.declared += cost
	return c, true
}

// mostDeclared is how much of the line of a document its repaired links take at most, in bytes: a line of 4 MiB is bad (package phm).
const mostDeclared = 2 << 20

// restart forgets the repaired links of the document before, or of another pass over this one.
func (s *splicer) restart() { s.cured, s.declared, s.full = s.cured[:0], 0, false }

// repair returns the reference that link i gets when it is repaired, and notes that.
func (s *splicer) repair(i int, u []byte) (ref []byte, ok bool) {
	c, ok := s.cure(i, u)
	if !ok {
		return nil, false
	}
	s.cured = append(s.cured, repairedLink{At: int64(s.links.Links[i].Start), Was: string(u), To: c.to, Why: c.why})
	s.ref = append(s.ref[:0], c.to...)
	return s.ref, true
}

// wasRepaired makes s repair the links that the line of a published file says.
func (s *splicer) wasRepaired(f *phm.File) error {
	links, err := repairsOf(f)
	if err != nil {
		return err
	}
	s.was = map[int32]cure{}
	for _, l := range links {
		s.was[int32(l.At)] = cure{to: l.To}
	}
	return nil
}

// repairsOf reads the repaired links of a line.
func repairsOf(f *phm.File) (links []repairedLink, err error) {
	v, ok := f.Extra[repairField]
	if !ok {
		return nil, nil
	}
	if err := json.Unmarshal(v, &links); err != nil {
		return nil, fmt.Errorf("line of %s: %s: %w", f.Path, repairField, err)
	}
	return links, nil
}

// declareRepairs writes the repaired links of a document into its line.
func declareRepairs(f *phm.File, links []repairedLink) error {
	if len(links) == 0 {
		return nil
	}
	slices.SortFunc(links, func(a, b repairedLink) int { return cmp.Compare(a.At, b.At) })
	for _, l := range links {
		f.Edits = append(f.Edits, phm.Edit{Kind: repairKind, At: l.At})
	}
	slices.SortStableFunc(f.Edits, func(a, b phm.Edit) int { return cmp.Compare(a.At, b.At) })
	v, err := json.Marshal(links)
	if err != nil {
		return err
	}
	declare(f, repairField, v)
	return nil
}

func declare(f *phm.File, field string, v json.RawMessage) {
	if f.Extra == nil {
		f.Extra = map[string]json.RawMessage{}
	}
	f.Extra[field] = v
}

// sameRepairs reports whether the same links of two documents are repaired: a version is made anew by what its lines say.
func sameRepairs(a, b *phm.File) bool {
	if bytes.Equal(a.Extra[repairField], b.Extra[repairField]) {
		return true
	}
	one, err1 := repairsOf(a)
	two, err2 := repairsOf(b)
	return err1 == nil && err2 == nil && slices.EqualFunc(one, two, func(x, y repairedLink) bool { return x.At == y.At && x.Was == y.Was && x.To == y.To })
}

// countRepairs is how many links of a file are repaired.
func countRepairs(f *phm.File) (n int) {
	for i := range f.Edits {
		if f.Edits[i].Kind == repairKind {
			n++
		}
	}
	return n
}

// publishedRepairs reads the repaired links of the published version, by path.
func publishedRepairs(s *store.Site) (map[string][]repairedLink, error) {
	out := map[string][]repairedLink{}
	live, err := s.Current()
	if errors.Is(err, store.ErrNoVersion) || errors.Is(err, store.ErrDamaged) {
		return out, nil
	} else if err != nil {
		return nil, err
	}
	defer live.Close()
	table, err := live.Open(phm.FilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	} else if err != nil {
		return nil, err
	}
	defer table.Close()
	for f, err := range phm.Files(table) {
		if err != nil {
			continue // the file is published anew
		}
		links, err := repairsOf(f)
		if err != nil {
			continue
		}
		if len(links) > 0 {
			out[f.Path] = links
		}
	}
	return out, nil
}

// markRepairs marks the documents whose repaired links are not those of the published version. It reads all that is stored of them: links to other sites have
// no number.
func (r *run) markRepairs(ctx context.Context, published map[string][]repairedLink) error {
	t := r.table.Settled()
	s := &splicer{r: r, frames: store.NewFrameReader()}
	return r.site.Resources(func(rec *store.Resource) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !rec.InSet || rec.Body != store.PackBody || t.State(rec.ID).Dirty() {
			return nil
		}
		fr, err := r.site.ReadFrame(s.frames, rec.At)
		if err != nil || s.links.Decode(fr.Links) != nil {
			return nil // it is said when the document is needed
		}
		s.restart()
		have := published[t.Path(rec.ID)]
		n := 0
		for i := range s.links.Links {
			c, ok := s.cure(i, s.outside(i))
			if !ok {
				continue
			}
			if n++; n > len(have) || have[n-1].At != int64(s.links.Links[i].Start) || have[n-1].To != c.to {
				n = -1
				break
			}
		}
		if n != len(have) {
			t.Touch(rec.ID)
		}
		return nil
	})
}

// outside returns the URL of link i when it leads out of the set, else nil.
func (s *splicer) outside(i int) []byte {
	t := s.r.table.Settled()
	id, ok := s.numberOf(i)
	if !ok {
		return s.links.Targets[i].Literal
	}
	if _, inside := t.Final(id); inside {
		return nil
	}
	return t.Bytes(id)
}

// explainRepair says where the links of the published version to a URL of another site lead, when they are repaired.
func explainRepair(s *store.Site, u string, say func(format string, args ...any)) error {
	published, err := publishedRepairs(s)
	if err != nil {
		return err
	}
	pages, example := 0, repairedLink{}
	for _, path := range slices.Sorted(maps.Keys(published)) {
		if i := slices.IndexFunc(published[path], func(l repairedLink) bool { return l.Was == u }); i >= 0 {
			pages, example = pages+1, published[path][i]
		}
	}
	if pages > 0 {
		say("repair: links to it on %s lead to %s, because it is broken: %s", plural(pages, "page", "pages"), example.To, example.Why)
	}
	return nil
}
