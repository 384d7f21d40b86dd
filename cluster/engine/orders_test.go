// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"

	"mirrord/app/orders"
	"mirrord/cluster/engine"
	"mirrord/store"
	"mirrord/testing/orderstest"
	"mirrord/testing/poll"
)

// The records of orders that nodes share with keepers hold to the contract, as those of one machine do.
func TestOrderFacts(t *testing.T) {
	numbers := []int{1}
	if os.Getenv("MIRRORD_LONG") != "" {
		numbers = append(numbers, 3)
	}
	for _, n := range numbers {
		t.Run(fmt.Sprintf("%d keepers", n), func(t *testing.T) {
			o := keepers(t, n)
			open := func(name string) orders.Facts {
				t.Helper()
				st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { st.Close() })
				o := o
				o.Node = name
				facts, err := node(t, o).Facts(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				f, err := orders.InCluster(facts, st, name, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			orderstest.TestFacts(t, func(*testing.T) (orders.Facts, func(*testing.T) orders.Facts) {
				return open("a"), func(*testing.T) orders.Facts { return open("b.=>*") }
			})
		})
	}
}

// What a node knows of the sessions of others: who works, whose session is over, and that it is drained.
func TestSessions(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "a"
	a := node(t, o)
	o.Node = "b"
	b := node(t, o)
	onA, onB := engine.Sessions{Engine: a}, engine.Sessions{Engine: b}
	over := func(session string) bool {
		t.Helper()
		is, err := onA.Over(t.Context(), "b", session)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	poll.Until(t, "b has no session", func() bool { return onB.Session() != "" && onA.Session() != "" })
	first := onB.Session()
	poll.Until(t, "a knows no b", func() bool { return slices.Contains(onA.Members(), "b") })
	if over(first) || !over("another") {
		t.Error("a live session is over, or one that never was is not")
	}
	if is, err := onA.Over(t.Context(), "unknown", "x"); err != nil || !is {
		t.Errorf("a node that never was: %v, %v", is, err)
	}
	if err := b.Lose(t.Context()); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the session of b continues", func() bool { return over(first) })
	poll.Until(t, "b has no other session", func() bool { return onB.Session() != "" && onB.Session() != first })
	if over(onB.Session()) {
		t.Error("the second session is over")
	}
	if err := a.Drain(t.Context(), "b", false); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "b is not drained", func() bool { return onB.Drained() && !onA.Drained() })
}
