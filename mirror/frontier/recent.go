// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"slices"
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
	last []status.AnsweredURL // the newest first
}

// Note takes in what a URL came to.
func (r *Recent) Note(u site.URL, o site.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = slices.Insert(r.last, 0, status.AnsweredURL{URL: u.String(), Outcome: o.String()})
	r.last = r.last[:min(len(r.last), recentKept)]
}

// List has the newest first.
func (r *Recent) List() []status.AnsweredURL {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.last)
}
