// SPDX-License-Identifier: Apache-2.0

package space

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"mirrord/phm"
)

// When a mirror repairs its broken links, those to pages that another mirror of the space knows to be gone
// lead to the last copy that one has, also of an older version. Such copies are files of that mirror in the
// space, below LastFolder; their links are absolute, and lead to other files of the space as those of all
// pages do. There are just those to which pages of such mirrors link.

// LastFolder is where the last copies of a mirror lie in its folder. No mirror path begins so.
const LastFolder = "@@last"

func isLast(p string) bool { return strings.HasPrefix(p, LastFolder+"/") }

// LastCopy is the newest copy that a mirror has of a URL that its site no longer has.
type LastCopy struct {
	URL     string `json:"url"`
	Path    string `json:"path"` // in the folder of the mirror
	Type    string `json:"type,omitempty"`
	Version int    `json:"version"` // the last one that had it
	Seen    int64  `json:"seen"`    // when the site last said that it is so, in Unix seconds
}

// Lasts are last copies, on their way into a space.
type Lasts struct {
	Folder string     // where they lie, below the state
	Files  []phm.File // by path
	Of     []LastCopy // of each: Version and Seen
}

// lastOf finds the last copy of a URL; the zero value for none.
func (m *mirror) lastOf(url string) LastCopy {
	byURL := func(l LastCopy, u string) int { return strings.Compare(l.URL, u) }
	i, ok := slices.BinarySearchFunc(m.Last, url, byURL)
	if !ok {
		return LastCopy{}
	}
	return m.Last[i]
}

// findLast finds the last copies that the new version of a mirror has in the space.
func (c *change) findLast() error {
	c.is.Asked = c.repairs
	if !c.repairs || c.src.Gone == nil {
		return nil
	}
	urls, err := c.src.Gone()
	if err != nil {
		return err
	}
	var wanted []string
	var broken []uint64
	for _, url := range urls {
		if sum := c.seed.of(url); c.mirrors.want(sum) {
			wanted = append(wanted, url)
		} else {
			broken = append(broken, sum)
		}
	}
	if len(wanted) > 0 {
		if c.lasts, err = c.src.Last(wanted); err != nil {
			return err
		}
	}
	for i := range c.lasts.Files {
		f := &c.lasts.Files[i]
		c.is.Last = append(c.is.Last, LastCopy{
			URL:     f.URL,
			Path:    f.Path,
			Type:    f.Type,
			Version: c.lasts.Of[i].Version,
			Seen:    c.lasts.Of[i].Seen,
		})
		broken = append(broken, c.seed.of(f.URL))
	}
	slices.SortFunc(c.is.Last, func(a, b LastCopy) int { return strings.Compare(a.URL, b.URL) })
	slices.Sort(broken)
	for _, sum := range broken {
		c.is.Broken = binary.LittleEndian.AppendUint64(c.is.Broken, sum)
	}
	return nil
}

// lastCopies updates those mirrors once more of which other last copies are wanted by now.
func (u *update) lastCopies(ctx context.Context, is map[string]*Member) error {
	for _, name := range slices.Sorted(maps.Keys(u.mirrors)) {
		m, n := u.mirrors[name], is[name]
		left := n == nil || n.Unknown || u.report.Left[name] != ""
		if left || u.half[name] || u.hasWanted(m) {
			continue
		}
		if err := u.mirror(ctx, name, n); err != nil {
			return err
		}
	}
	return nil
}

// hasWanted reports whether a mirror has just those last copies that are wanted.
func (u *update) hasWanted(m *mirror) bool {
	has := map[uint64]bool{}
	for i := range m.Last {
		has[u.seed.of(m.Last[i].URL)] = true
	}
	for b := m.Broken; len(b) >= 8; b = b[8:] {
		if sum := binary.LittleEndian.Uint64(b); u.mirrors.want(sum) != has[sum] {
			return false
		}
	}
	return true
}

// withLast puts the last copies among the files of a version.
func (c *change) withLast(files iter.Seq2[*phm.File, error]) iter.Seq2[*phm.File, error] {
	return func(yield func(*phm.File, error) bool) {
		rest := c.lasts.Files
		for f, err := range files {
			for err == nil && len(rest) > 0 && rest[0].Path < f.Path {
				if !yield(&rest[0], nil) {
					return
				}
				rest = rest[1:]
			}
			if !yield(f, err) {
				return
			}
		}
		for i := range rest {
			if !yield(&rest[i], nil) {
				return
			}
		}
	}
}

// sourceOf is where a file that comes lies, below the state.
func (c *change) sourceOf(f *phm.File) string {
	if isLast(f.Path) {
		return path.Join(c.lasts.Folder, f.Path)
	}
	return path.Join(c.src.Folder, f.Path)
}

// affectedLast marks the documents of the mirror itself whose links change: its last copies that link to what
// came, moved or left, and all that link to last copies of others when the mirror begins or ends to repair.
func (c *change) affectedLast(urls []uint64) {
	mark := func(doc uint64) { c.dirty.add(c.is.Name, doc) }
	if len(c.was.Last) > 0 || c.is.Repair {
		for _, u := range urls {
			c.is.links.to(u, mark)
		}
	}
	if c.was.Repair == c.is.Repair {
		return
	}
	for _, m := range c.mirrors {
		for i := range m.Last {
			c.is.links.to(c.seed.of(m.Last[i].URL), mark)
		}
	}
}

// repairField is where the table of a PHM declares repaired links (phm.md).
const repairField = "mirrord.repaired"

// repaired returns the URLs that repaired links of the scanned page had, by where they lead. Where the page
// leads by itself too is not among them.
func (p *pages) repaired(f *phm.File) map[string]string {
	var links []struct{ Was, To string }
	if v, ok := f.Extra[repairField]; !ok || json.Unmarshal(v, &links) != nil {
		return nil
	}
	count, out := map[string]int{}, map[string]string{}
	for _, l := range links {
		if was := out[l.To]; was != "" && was != l.Was {
			count[l.To] = -len(p.doc.Links) // of two
		}
		out[l.To] = l.Was
		count[l.To]++
	}
	for i := range p.doc.Links {
		if l := &p.doc.Links[i]; leaves(l) && out[string(l.URL)] != "" {
			count[string(l.URL)]--
		}
	}
	maps.DeleteFunc(out, func(to, _ string) bool { return count[to] != 0 })
	return out
}
