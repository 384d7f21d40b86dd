// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"mirrord/store"
	"mirrord/testing/storetest"
)

func TestStateFacts(t *testing.T) {
	storetest.TestFacts(t, func(t *testing.T) (storetest.SharedFacts, func(*testing.T) storetest.SharedFacts) {
		dir := t.TempDir()
		open := func(t *testing.T) storetest.SharedFacts {
			st := openState(t, dir, store.Options{Volatile: true})
			t.Cleanup(func() { st.Close() })
			return st
		}
		return open(t), open
	})
}

func TestMemoryFacts(t *testing.T) {
	storetest.TestFacts(t, func(*testing.T) (storetest.SharedFacts, func(*testing.T) storetest.SharedFacts) {
		f := new(storetest.Facts)
		return f, func(*testing.T) storetest.SharedFacts { return f }
	})
}

func TestStateShared(t *testing.T) {
	storetest.TestShared(t, func(t *testing.T) (store.Shared, func(*testing.T) store.Shared) {
		dir := t.TempDir()
		open := func(t *testing.T) store.Shared {
			st := openState(t, dir, store.Options{Volatile: true})
			t.Cleanup(func() { st.Close() })
			return store.SharedOf(st)
		}
		return open(t), open
	})
}
