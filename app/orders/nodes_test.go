// SPDX-License-Identifier: Apache-2.0

package orders_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/orders"
	"mirrord/app/orders/orderstest"
	"mirrord/status"
)

// Pages of the orders of all nodes have each order once, newest first, also those that were made at the same
// moment; and a user's are his only.
func TestNewestOfNodes(t *testing.T) {
	all := map[string]*orders.Orders{}
	var ticks atomic.Int64
	for _, node := range []string{"a", "b", "c"} {
		all[node] = orderstest.From(t, "127.0.0.1:1", func(o *orders.Options) {
			o.Node = node
			o.Now = func() time.Time { return time.Unix(2e9+ticks.Load()/4, 0) }
			o.Ask = func(ctx context.Context, path string) (map[string]orders.SaidOrders, []status.NodeSaid) {
				said := map[string]orders.SaidOrders{}
				for other, s := range all {
					if other == node {
						continue
					}
					w := httptest.NewRecorder()
					orders.Say(s).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
					var l orders.SaidOrders
					if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil {
						t.Error(err)
					}
					said[other] = l
				}
				return said, nil
			}
		})
	}
	const made = 18
	for i := range made {
		w := orders.Wish{
			URL:   "http://site.example/",
			Scope: "directory",
			Files: 10,
			Size:  1e6,
			Forms: []string{"phm"},
		}
		who := orders.User{Name: []string{"ann", "eve"}[i%2], Operator: true}
		if _, err := all[[]string{"a", "b", "c"}[i%3]].Draft(who, w); err != nil {
			t.Fatal(err)
		}
		ticks.Add(1)
	}
	for _, tc := range []struct {
		who  orders.User
		want int
	}{{orders.User{Name: "ann", Operator: true}, made}, {orders.User{Name: "ann"}, made / 2}} {
		for _, most := range []int{1, 3, 5, 100} {
			seen := map[string]bool{}
			last := time.Unix(1<<40, 0)
			for before := uint64(0); ; {
				p := orders.Newest(t.Context(), all["b"], tc.who, before, most)
				for _, x := range p.Orders {
					if seen[x.Ref()] || x.At.After(last) || (!tc.who.Operator && x.By != "ann") {
						t.Errorf("%d at a time: %s of %s, %s after %s", most, x.Ref(), x.By, x.At, last)
					}
					seen[x.Ref()], last = true, x.At
				}
				if left := tc.want - len(seen); p.More != left || (p.Next == 0) != (left == 0) {
					t.Fatalf("%d at a time: %d more, of %d; next %d", most, p.More, left, p.Next)
				}
				if before = p.Next; before == 0 {
					break
				}
			}
		}
	}
}
