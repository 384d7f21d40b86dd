// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"mirrord/app/env"
	"mirrord/app/shares"
	"mirrord/store"
	"mirrord/store/shared"
)

// onMachine are the facts of one machine.
type onMachine struct {
	kept  shared.OrderFacts
	state shared.KeyValues
}

// OnMachine returns the facts of orders that a state has.
func OnMachine(st *store.State) Facts { return onMachine{shared.NewOrderFacts(st.Shared), st.Shared} }

// Next implements Facts. A cluster that the machine was a node of does not know the order: should the machine
// come back, it hands in what it has once more.
func (f onMachine) Next() (OrderID, error) {
	told, err := f.state.All(kindHandedIn)
	for id := range told {
		err = errors.Join(err, f.state.Change(kindHandedIn, id, func([]byte) ([]byte, error) { return nil, nil }))
	}
	if err != nil {
		return OrderID{}, err
	}
	n, err := f.kept.NextOrder()
	return OrderID{Number: n}, err
}

// Change implements Facts.
func (f onMachine) Change(k OrderID, change func([]byte) ([]byte, error)) error {
	return f.kept.ChangeOrder(k.Number, change)
}

// All implements Facts.
func (f onMachine) All() (map[OrderID][]byte, error) {
	all, err := f.kept.Orders()
	out := make(map[OrderID][]byte, len(all))
	for n, v := range all {
		out[OrderID{Number: n}] = v
	}
	return out, err
}

// Watch implements Facts. No other process writes them.
func (f onMachine) Watch(ctx context.Context, _ func(OrderID, []byte)) { <-ctx.Done() }

// ClusterFacts are what the nodes of a cluster share. *engine.Facts has them.
type ClusterFacts interface {
	shared.KeyValues
	// Follow calls changed with each value of a kind, and with each that changes, until ctx ends; nil: removed.
	Follow(ctx context.Context, kind string, changed func(key string, value []byte))
}

// Kinds of facts: orders of a cluster, by OrderID.Ref, and in the state of a node the ClusterID under which
// it has handed in its own.
const (
	kindOrders   = "orders"
	kindHandedIn = "orders handed in"
)

// inCluster are the facts of a cluster. The state of each node has a copy of the orders that were made on it.
type inCluster struct {
	facts ClusterFacts
	kept  shared.OrderFacts
	node  string
	log   *slog.Logger
}

// away is an error of facts that nodes share.
func away(err error) error { return fmt.Errorf("%w; try again in a minute: %w", ErrKeepers, err) }

// mostRecord is how large the record of an order may be: keepers refuse messages of a megabyte.
const mostRecord = 512 << 10

// InCluster returns the facts of orders that the nodes of a cluster share, for one of them. Orders that its
// state has, and that the cluster has not heard of, are handed in: from before it was a node, or before the
// keepers lost all.
func InCluster(facts ClusterFacts, st *store.State, node string, log *slog.Logger) (Facts, error) {
	f := inCluster{facts, shared.NewOrderFacts(st.Shared), node, log}
	id, err := shares.ClusterID(facts)
	if err != nil {
		return nil, fmt.Errorf("orders: %w", away(err))
	}
	own := st.Shared
	known, err := own.All(kindHandedIn)
	if err != nil || known[id] != nil {
		return f, err
	}
	all, err := f.kept.Orders()
	for n, value := range all {
		if err = f.handIn(n, value); err != nil {
			return nil, fmt.Errorf("hand in order %d: %w", n, err)
		}
	}
	if err == nil {
		err = own.Change(kindHandedIn, id, func([]byte) ([]byte, error) { return []byte("1"), nil })
	}
	return f, err
}

// handIn makes known to the cluster what the state has.
func (f inCluster) handIn(n uint64, value []byte) error {
	k := OrderID{}
	if n > 0 {
		x, err := readOrder(OrderID{n, f.node}, value)
		if err != nil {
			f.log.Error("an order cannot be read", "order", n, "err", err)
			return nil
		}
		k = x.OrderID
		if x.State == Done && x.Held == "" && x.Same == 0 {
			x.Held = f.node
		}
		if x.Same != 0 && x.SameNode == "" {
			x.SameNode = f.node
		}
		if value, err = json.Marshal(x); err != nil {
			return err
		}
	}
	return f.Change(k, func(was []byte) ([]byte, error) {
		if was != nil {
			return was, nil
		}
		return value, nil
	})
}

// Next implements Facts.
func (f inCluster) Next() (OrderID, error) {
	n, err := f.kept.NextOrder()
	return OrderID{n, f.node}, err
}

// Change implements Facts.
func (f inCluster) Change(k OrderID, change func([]byte) ([]byte, error)) error {
	var wrong error // of change, and not of the keepers
	err := f.facts.Change(kindOrders, k.Ref(), func(was []byte) (now []byte, _ error) {
		if now, wrong = change(was); wrong == nil && len(now) > mostRecord {
			wrong = env.Usagef("the order takes %d bytes to write down, and at most %d are possible", len(now),
				mostRecord)
		}
		return now, wrong
	})
	if err != nil && wrong == nil {
		return away(err)
	}
	return err
}

// All implements Facts.
func (f inCluster) All() (map[OrderID][]byte, error) {
	all, err := f.facts.All(kindOrders)
	if err != nil {
		return nil, away(err)
	}
	out := make(map[OrderID][]byte, len(all))
	for ref, v := range all {
		if k, known := idOf(ref); known {
			out[k] = v
		}
	}
	return out, nil
}

// idOf is the key of a fact; of others than orders it is not known.
func idOf(ref string) (k OrderID, known bool) {
	if ref == (OrderID{}).Ref() {
		return OrderID{}, true
	}
	k, err := ParseOrderID(ref)
	return k, err == nil && k.Node != ""
}

// Watch implements Facts. What was made on this node is copied to its state.
func (f inCluster) Watch(ctx context.Context, changed func(OrderID, []byte)) {
	copied, err := f.kept.Orders()
	if err != nil {
		f.log.Error("the copies of orders cannot be read", "err", err)
		copied = map[uint64][]byte{}
	}
	f.facts.Follow(ctx, kindOrders, func(ref string, value []byte) {
		k, known := idOf(ref)
		if !known {
			return
		}
		if own := k.Node == f.node || k.Number == 0; own && !bytes.Equal(copied[k.Number], value) {
			err := f.kept.ChangeOrder(k.Number, func([]byte) ([]byte, error) { return value, nil })
			if err != nil {
				f.log.Error("an order is not copied to the state of its node", "order", ref, "err", err)
			}
			copied[k.Number] = value
		}
		changed(k, value)
	})
}
