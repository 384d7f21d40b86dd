// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"sync"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// StateRepeats takes the orders of a list (?sort=owner) for views of the list. One repeats when its words, in
// any order, are those of the list, or such as other orders have. All lists at a path, in which numbers do
// not count, are a place. A list of the mirror stands for those of its orders that are left.

// listsWithOrders are the lists of which pages name orders. It is safe for concurrent use.
type listsWithOrders struct {
	mu sync.Mutex
	of map[uint64]site.URL // by state
}

// put notes a list by the URL that it has, unless there are too many.
func (l *listsWithOrders) put(list site.URL) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ok = len(l.of) < mostStated; ok {
		l.of[urls.ListOf(list)] = list
	}
	return ok
}

// names notes of which list a URL is an order, if of any, unless it is known by a URL.
func (l *listsWithOrders) names(u site.URL) (order bool) {
	list, order := urls.Unordered(u)
	if order && l.find(list).IsZero() {
		l.put(list)
	}
	return order
}

// has reports whether a page is a list of which a page named an order, and notes its URL.
func (l *listsWithOrders) has(u site.URL) bool {
	return !l.find(u).IsZero() && l.put(u)
}

// find returns the URL of a list, which may have its parameters in another order.
func (l *listsWithOrders) find(list site.URL) (known site.URL) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.of) == 0 {
		return known
	}
	return l.of[urls.ListOf(list)]
}

// List returns the list of which a URL is an order; ok is false for other URLs.
func (r *StateRepeats) List(u site.URL) (list site.URL, ok bool) {
	if list, ok = urls.Unordered(u); (r == nil) || !ok {
		return list, false
	}
	if known := r.lists.find(list); !known.IsZero() {
		list = known
	}
	return list, true
}
