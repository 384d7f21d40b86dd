// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/frontier"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// alikeAudit compares in each run another page with the one that stands for it because a part of its URL does
// not matter.
type alikeAudit struct {
	table    urls.Settled
	run      int
	sessions *frontier.SessionIDs
	request  func(site.URL) (*frontier.Second, bool)
}

// choose returns the two.
func (a *alikeAudit) choose() (u, main site.URL, ok bool) {
	least := uint64(0)
	for id, s := range a.table.All() {
		if !s.Given() || s.InSet() || (s.Outcome() != site.Redirected) || (s.Referrer() == 0) {
			continue
		}
		other := a.table.URL(id)
		to, why := a.sessions.Main(other)
		n, known := a.table.Find([]byte(to.String()))
		if (why != frontier.SameParts) || !known || !a.table.State(n).InSet() {
			continue
		}
		if by := xxh3.HashString(fmt.Sprint(a.run, other)); !ok || (by < least) {
			u, main, least, ok = other, to, by, true
		}
	}
	return u, main, ok
}

// audit requests the two. When they differ one is requested again: it may differ from itself.
func (a *alikeAudit) audit() {
	u, main, ok := a.choose()
	if !ok {
		return
	}
	one, ok := a.request(u)
	two, is := a.request(main)
	if !ok || !is || frontier.SayAlike(u, main, one, two) {
		return
	}
	again, ok := a.request(main)
	if ok && frontier.SayAlike(main, main, two, again) {
		a.sessions.Differ(u)
	}
}
