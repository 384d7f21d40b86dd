// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/frontier"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// auditAlike compares in each run another page with the one that stands for it because a part of its URL does
// not matter. When they differ one is requested again: it may differ from itself.
func auditAlike(
	t urls.Settled, run int, sessions *frontier.SessionIDs, request func(site.URL) (*frontier.Second, bool),
) {
	u, main, ok := chooseAlike(t, run, sessions)
	if !ok {
		return
	}
	one, ok := request(u)
	two, is := request(main)
	if !ok || !is || sessions.SayAlike(u, main, one, two) {
		return
	}
	again, ok := request(main)
	if ok && sessions.SayAlike(main, main, two, again) {
		sessions.Differ(u)
	}
}

// chooseAlike returns two such pages.
func chooseAlike(t urls.Settled, run int, sessions *frontier.SessionIDs) (u, main site.URL, ok bool) {
	least := uint64(0)
	for id, s := range t.All() {
		if !s.Given() || s.InSet() || (s.Outcome() != site.Redirected) || (s.Referrer() == 0) {
			continue
		}
		other := t.URL(id)
		to, is := sessions.Audited(other)
		n, known := t.FindURL(to)
		if !is || !known || !t.State(n).InSet() {
			continue
		}
		if by := xxh3.HashString(fmt.Sprint(run, other)); !ok || (by < least) {
			u, main, least, ok = other, to, by, true
		}
	}
	return u, main, ok
}
