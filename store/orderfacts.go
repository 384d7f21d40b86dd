// SPDX-License-Identifier: Apache-2.0

package store

import "encoding/binary"

// bOrders is the bucket of mirror.db for orders: number -> what package app/orders writes. Number 0 is what
// operators set for all of them.
var bOrders = []byte("orders")

// OrderFacts are the stored records of orders in mirror.db. Its values belong to package app/orders.
type OrderFacts struct{ st *State }

// NewOrderFacts returns those of a state.
func NewOrderFacts(st *State) OrderFacts { return OrderFacts{st} }

// NextOrder returns a number that no order has had.
func (f OrderFacts) NextOrder() (n uint64, err error) {
	err = f.st.updateDB("number an order", func(tx *transaction) error {
		b, err := tx.CreateBucketIfNotExists(bOrders)
		if err != nil {
			return err
		}
		n, err = b.NextSequence()
		return err
	})
	return n, err
}

// ChangeOrder replaces the value of an order by what change makes of it; nil stands for none. An error of
// change leaves it as it was.
func (f OrderFacts) ChangeOrder(n uint64, change func(was []byte) ([]byte, error)) error {
	return SharedOf(f.st).Change(string(bOrders), string(seqKey(n)), change)
}

// Orders returns the values of all orders by their numbers.
func (f OrderFacts) Orders() (map[uint64][]byte, error) {
	all, err := SharedOf(f.st).All(string(bOrders))
	out := make(map[uint64][]byte, len(all))
	for k, v := range all {
		if len(k) == 8 {
			out[binary.BigEndian.Uint64([]byte(k))] = v
		}
	}
	return out, err
}
