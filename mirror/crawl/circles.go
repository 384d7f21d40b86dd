// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"strings"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// openCircles ends retrieval: circles are requested again where that may help, and the rest of them are
// failures. It ends because no URL gets a second turn, and because a failure is no longer part of a circle.
func (r *crawling) openCircles(stage func()) error {
	for {
		again, err := r.endCircles()
		if err != nil || !again || r.stopped() {
			return err
		}
		stage()
	}
}

// endCircles makes failures of what redirects in a circle: two answers of one run may each look right, and
// no client arrives. It is called when nothing is left to ask. A circle of which an answer set a cookie is
// asked once more, as a wall that wants a session lets pass who comes back with it; again says that there is
// something to request.
func (r *crawling) endCircles() (again bool, err error) {
	for _, circle := range urls.Circles(r.Table.Settled()) {
		cookie := false
		var names []string
		for _, id := range circle {
			cookie = cookie || r.Traits.Is(id, urls.SetCookie)
			names = append(names, r.Table.URL(id).String())
		}
		for _, id := range circle {
			if s := r.Table.State(id); !s.Answered() || s.Outcome() != site.Redirected {
				continue // what an earlier run knows of it; it was not asked
			}
			f, more, err := r.process.Unredirect(id, "redirects in a circle: "+strings.Join(names, ", "), cookie)
			if err != nil {
				return again, err
			}
			r.conclude(id, r.Table.URL(id), f)
			again = again || more
		}
	}
	return again, nil
}
