// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/testing/storetest"
)

func TestBlobBodies(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		storetest.TestBodies(t, func(t *testing.T) blobs.Bodies {
			st := openState(t, t.TempDir(), store.Options{Volatile: volatile})
			t.Cleanup(func() { st.Close() })
			return st.Bodies
		})
	}
}

func TestMemoryBodies(t *testing.T) {
	storetest.TestBodies(t, func(*testing.T) blobs.Bodies { return new(storetest.Bodies) })
}
