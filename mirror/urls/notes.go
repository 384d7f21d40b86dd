// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"maps"
	"slices"
	"sync"

	"mirrord/mirror/result"
	"mirrord/site"
)

// Example limits of a Summary.
const (
	MaxExamples = 5
	MaxFailures = 20
)

// Notes gather what the summary says beside the counts. Safe for concurrent use; the zero value is ready.
type Notes struct {
	mu       sync.Mutex
	kinds    map[string]*result.Note
	caps     map[string]bool
	traps    result.Note
	failures map[string]string // URL -> reason, of those that stayed failed
	entries  map[string]string // URL -> reason, of entry points
}

// Add counts one more URL under what.
func (n *Notes) Add(what string, u site.URL) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kinds == nil {
		n.kinds = map[string]*result.Note{}
	}
	k := n.kinds[what]
	if k == nil {
		k = &result.Note{What: what}
		n.kinds[what] = k
	}
	addExample(k, u.String())
}

func addExample(k *result.Note, example string) {
	k.Count++
	if len(k.Examples) < MaxExamples {
		k.Examples = append(k.Examples, example)
	}
}

// FirstGone is the note about what answers 404 or 410 for the first time.
const FirstGone = "answers 404 or 410 of what the mirror has: it stays until a second look"

// withdraw takes a URL out of what Add counted under what, because the run found out more about it. It is
// false when nothing was counted.
func (n *Notes) withdraw(what string, u site.URL) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.kinds[what]
	if k == nil {
		return false
	}
	k.Count--
	k.Examples = slices.DeleteFunc(k.Examples, func(example string) bool { return example == u.String() })
	if k.Count <= 0 {
		delete(n.kinds, what)
	}
	return true
}

// ForgetFirstGone takes back, if it was counted, that a URL answered 404 or 410 for the first time: the run
// found out more.
func (s *Counts) ForgetFirstGone(n *Notes, u site.URL) {
	if n.withdraw(FirstGone, u) {
		s.FirstGone.Add(-1)
		s.Other.Add(1)
	}
}

// Cap notes once that a limit of the job bit.
func (n *Notes) Cap(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.caps == nil {
		n.caps = map[string]bool{}
	}
	n.caps[what] = true
}

// Trap counts a URL that a trap rule refused.
func (n *Notes) Trap(u site.URL, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	addExample(&n.traps, shortened(u.String())+": "+reason)
}

// longestTrap is how many bytes of a URL a note of traps has: these URLs may have tens of thousands.
const longestTrap = 200

// shortened leaves out the middle of a long URL. URLs have no bytes beyond ASCII.
func shortened(url string) string {
	if len(url) <= longestTrap {
		return url
	}
	const end = 40
	return url[:longestTrap-end] + "…" + url[len(url)-end:]
}

// Fail keeps a failed URL.
func (n *Notes) Fail(u site.URL, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failures == nil {
		n.failures = map[string]string{}
	}
	if len(n.failures) < 10*MaxFailures {
		n.failures[u.String()] = reason
	}
}

// Decided keeps why an entry point is not what it should be.
func (n *Notes) Decided(u site.URL, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.entries == nil {
		n.entries = map[string]string{}
	}
	n.entries[u.String()] = reason
}

// Reason returns why a URL failed, or what else became of an entry point; "" when there is nothing to say.
func (n *Notes) Reason(u site.URL) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.failures[u.String()]; r != "" {
		return r
	}
	return n.entries[u.String()]
}

// List returns all notes in a stable order.
func (n *Notes) List() (ns []result.Note, failures []result.FailedURL) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range slices.Sorted(maps.Keys(n.caps)) {
		ns = append(ns, result.Note{What: c, Count: 1})
	}
	if n.traps.Count > 0 {
		t := n.traps
		t.What = "URLs that look like traps were not requested"
		ns = append(ns, t)
	}
	for _, k := range slices.Sorted(maps.Keys(n.kinds)) {
		ns = append(ns, *n.kinds[k])
	}
	for _, u := range slices.Sorted(maps.Keys(n.failures)) {
		if len(failures) == MaxFailures {
			break
		}
		failures = append(failures, result.FailedURL{URL: u, Reason: n.failures[u]})
	}
	return ns, failures
}
