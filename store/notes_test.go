// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"mirrord/store"
	"mirrord/testing/storetest"
)

func TestStateNotes(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		storetest.TestNotes(t, func(t *testing.T) (storetest.RunNotes, func(*testing.T) storetest.RunNotes) {
			open := reopening(t, store.Options{Volatile: volatile})
			return open(t).Notes, func(t *testing.T) storetest.RunNotes { return open(t).Notes }
		})
	}
}

func TestMemoryNotes(t *testing.T) {
	storetest.TestNotes(t, func(*testing.T) (storetest.RunNotes, func(*testing.T) storetest.RunNotes) {
		n := new(storetest.MemoryNotes)
		return n, func(*testing.T) storetest.RunNotes { return n }
	})
}
