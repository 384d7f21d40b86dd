// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"path"
	"strings"

	"mirrord/mirror/ledger"
	"mirrord/site"
)

// leaving counts published files that leave the mirror, by the reason.
type leaving struct {
	lost    int // none of the others; limits.max_delete counts these
	refused int // the job's rules refuse them, or refuse all documents that led to them
	renamed int // a new resource has their place under another type, extension or edition
}

// leaving finds out why the resources with these numbers leave. Some of the numbers may be of URLs that left
// before, in a run that was not published.
func (c *Case) leaving(ids []uint32) (l leaving, err error) {
	if len(ids) == 0 {
		return l, nil
	}
	rest := ids
	if c.Refuses != nil {
		if rest, err = c.notRefused(ids); err != nil {
			return l, err
		}
		l.refused = len(ids) - len(rest)
	}
	if len(rest) > 0 {
		l.renamed = c.renamed(rest)
	}
	l.lost = len(rest) - l.renamed
	return l, nil
}

// notRefused returns those of the numbers that the rules of the job do not explain. A resource is explained
// when the rules refuse its URL, or when a document that they refuse led to it. The site's own 404 is not.
func (c *Case) notRefused(ids []uint32) (rest []uint32, err error) {
	var roots []uint32
	for id, s := range c.Ledger.All() {
		if s.InSet() || !s.Given() || !s.Known() {
			continue
		}
		switch refused, err := c.newlyRefuses(id, s); {
		case err != nil:
			return nil, err
		case refused:
			roots = append(roots, id)
		}
	}
	if len(roots) == 0 {
		return ids, nil
	}
	var leave ledger.IDSet
	for _, id := range ids {
		leave.Put(id, true)
	}
	links := c.links()
	// documents that left, and those that would leave now
	links.Count = func(id uint32, s ledger.State) bool { return !s.InSet() || leave.Has(id) }
	reached, err := ledger.Reach(c.Ledger, links, roots)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if (c.Ledger.State(id).Outcome() == site.Gone) || !reached.Has(id) {
			rest = append(rest, id)
		}
	}
	return rest, nil
}

func (c *Case) newlyRefuses(id uint32, s ledger.State) (bool, error) {
	if s.Outcome() != site.OutOfScope {
		return false, nil
	}
	rec, ok, err := c.Records.Get(c.Ledger.URL(id))
	return ok && c.Refuses(&rec), err
}

// renamed counts the resources that have become one of another type or extension: they redirect to a
// resource with their name, or a new one with their name is there in their place. Each resource is the new
// form of one other at most. A redirect to another name counts as a loss, new as the target may be: a site
// that wants a login may redirect each page to a login page of its own. Style sheets, scripts and images are
// named after their build or edition by many sites (main.4f3a2b.js, style.css?v=7): all of them have other
// names after a deploy, and some have in each run.
func (c *Case) renamed(ids []uint32) (n int) {
	fresh := map[string][]uint32{} // new resources by their stems, and new requisites by their shelves
	for id, s := range c.Ledger.All() {
		if s.InSet() && s.Moved() {
			for _, k := range c.places(id) {
				fresh[k] = append(fresh[k], id)
			}
		}
	}
	taken := map[uint32]bool{}
	for _, id := range ids {
		k := stem(c.Ledger.URL(id))
		if to, in := c.Ledger.Final(id); in && (to != id) {
			if !taken[to] && (stem(c.Ledger.URL(to)) == k) {
				taken[to] = true
				n++
			}
			continue
		}
		if to, ok := c.successor(id, fresh, taken); ok {
			taken[to] = true
			n++
		}
	}
	return n
}

// successor returns a new resource that has the place of one that leaves, and of no other yet.
func (c *Case) successor(id uint32, fresh map[string][]uint32, taken map[uint32]bool) (to uint32, ok bool) {
	for _, k := range c.places(id) {
		left := fresh[k]
		for len(left) > 0 && taken[left[0]] { // once for each: there may be very many on a shelf
			left = left[1:]
		}
		fresh[k] = left
		for _, to := range left {
			if (to != id) && !taken[to] {
				return to, true
			}
		}
	}
	return 0, false
}

// places are the places that a resource has: its stem, and the shelf of a requisite.
func (c *Case) places(id uint32) []string {
	u := c.Ledger.URL(id)
	if !c.Ledger.State(id).Requisite() {
		return []string{stem(u)}
	}
	return []string{stem(u), shelf(u)}
}

// shelf is where a requisite lies: its host, its directories without those that have numbers, and the
// extension of its name.
func shelf(u site.URL) string {
	dir, name := path.Split(u.Path())
	parts := strings.Split(dir, "/")
	for i, p := range parts {
		if strings.ContainsAny(p, "0123456789") {
			parts[i] = "#"
		}
	}
	return "shelf " + u.Host() + strings.Join(parts, "/") + path.Ext(name)
}

// stem is a URL without its scheme and without what names the type of the resource: the extension, or that
// it is the index of a directory.
func stem(u site.URL) string {
	s := u.Host() + u.Path()
	s = strings.TrimSuffix(s, "/")
	from := strings.LastIndexByte(s, '/') + 1
	if dot := strings.LastIndexByte(s, '.'); (dot > from) && (from > 0) {
		s = s[:dot]
	}
	s = strings.TrimSuffix(s, "/index")
	if q, ok := u.Query(); ok {
		s += "?" + q
	}
	return s
}
