// SPDX-License-Identifier: Apache-2.0

// Package orderstest makes orders for tests of what stands above them.
package orderstest

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/app/orders"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// From takes orders until the test ends. Each site that is ordered is the server at an address. Requests need
// no gaps, and mail is thrown away. with changes the options.
func From(t testing.TB, server string, with ...func(*orders.Options)) *orders.Orders {
	t.Helper()
	dir := t.TempDir()
	st, err := store.OpenState(dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	o := orders.Options{
		App: &env.App{
			State:     func() (string, error) { return dir, nil },
			Jobs:      filepath.Join(dir, "jobs"),
			Log:       slog.New(slog.DiscardHandler),
			LookupEnv: func(string) (string, bool) { return "", false },
			Network:   mirrortest.OneServer{At: server},
		},
		Facts: orders.OnMachine(st),
		Mail:  func(context.Context, string, string, string) error { return nil },
	}
	for _, change := range with {
		change(&o)
	}
	all, err := orders.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l := all.Limits()
	l.Delay = 0
	if err := all.SetLimits(l); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		all.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return all
}

// Until waits until an order is in a state.
func Until(t testing.TB, all *orders.Orders, k orders.OrderID, want orders.State) {
	t.Helper()
	for {
		o, err := all.Get(k)
		if errors.Is(err, orders.ErrNone) && k.Node != "" { // another node is about to hear of it
			time.Sleep(time.Millisecond) // until it does
			continue
		}
		if err != nil || (o.State.Ended() && o.State != want) {
			t.Fatalf("%+v, %v", o, err)
		}
		if o.State == want {
			return
		}
		time.Sleep(time.Millisecond) // the order is worked on
	}
}
