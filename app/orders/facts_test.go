// SPDX-License-Identifier: Apache-2.0

package orders_test

import (
	"testing"

	"mirrord/app/orders"
	"mirrord/store"
	"mirrord/testing/orderstest"
)

// The records of orders of one machine hold to the contract; those of a cluster: TestOrderFacts of
// cluster/engine.
func TestFacts(t *testing.T) {
	orderstest.TestFacts(t, func(t *testing.T) (orders.Facts, func(*testing.T) orders.Facts) {
		st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return orders.OnMachine(st), nil
	})
}
