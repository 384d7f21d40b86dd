// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"testing"
	"time"
)

// What waits comes back once and in its order; what stored documents name waits once.
func TestPostponed(t *testing.T) {
	var p Postponed
	p.Add(Queued{ID: 2, Origin: "h"}, Queued{ID: 1, Origin: "h"})
	if !p.First(3) || p.First(3) || p.AnyDelayed() {
		t.Error("the first document that names a URL")
	}
	p.Delay(Delayed{ID: 4, Origin: "h", At: time.Unix(1, 0)})
	urls, delayed := p.Take()
	if len(urls) != 2 || urls[0].ID != 2 || urls[1].ID != 1 || len(delayed) != 1 || delayed[0].ID != 4 {
		t.Error(urls, delayed)
	}
	if urls, delayed = p.Take(); len(urls)+len(delayed) > 0 || !p.First(3) {
		t.Error("taken twice", urls, delayed)
	}
}
