// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"sync"

	"mirrord/scheduler/status"
	"mirrord/site"
)

// recentKept is how many URLs Recent has.
const recentKept = 5

// Recent are the URLs that were answered last, for displays of a run. The zero value is ready. It is safe
// for concurrent use.
type Recent struct {
	mu   sync.Mutex
	last [recentKept]recentURL
	n    int // that were noted
}

type recentURL struct {
	url     site.URL
	outcome site.Outcome
}

// Note takes in what a URL came to.
func (r *Recent) Note(u site.URL, o site.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[r.n%recentKept] = recentURL{u, o}
	r.n++
}

// List has the newest first.
func (r *Recent) List() (out []status.AnsweredURL) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range min(r.n, recentKept) {
		x := r.last[(r.n-1-i)%recentKept]
		out = append(out, status.AnsweredURL{URL: x.url.String(), Outcome: x.outcome.String()})
	}
	return out
}
