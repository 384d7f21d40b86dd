// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"mirrord/store/facts"
	"mirrord/store/record"
)

// Programs that replay a page date what it loads by the record of the page that they found. So a page that is
// as it was, and loads a style or a picture that is not, has a record in that version, too.

// shownOtherwise plans the records of what looks different in a version without having changed, once all of
// the version was read: p.changed is what did. Of a page that changed later the links are those of today.
func (p *capturePlanner) shownOtherwise(past *facts.Past) error {
	pages := map[uint32]bool{}
	for loaded := p.changed; len(loaded) > 0; {
		next := map[uint32]bool{} // styles, say, that load something of these
		err := p.site.Records.Links(func(id uint32, targets []byte) error {
			if int64(id) >= int64(len(p.now)) || pages[id] {
				return nil
			}
			c := &p.now[id]
			if c.upTo != p.date || c.date > p.before { // it is not in the version, or came with it
				return nil
			}
			found := false
			record.Targets(targets, func(to uint32) bool {
				found = loaded[to]
				return !found
			})
			if found {
				pages[id] = true
			}
			if found && !c.page {
				next[id] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
		loaded = next
	}
	if len(p.changed) == 0 {
		return nil
	}
	clear(p.changed)
	return past.Resources(func(rec *record.Resource, here bool) error {
		if !here || !pages[rec.ID] {
			return nil
		}
		c := &p.now[rec.ID]
		return p.revisit(rec, c, min(c.seen, p.date), 0)
	})
}
