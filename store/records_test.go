// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"mirrord/store"
	"mirrord/testing/storetest"
)

func TestStateRecords(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		begin := func(t *testing.T) (storetest.SiteRecords, func(*testing.T) storetest.SiteRecords) {
			open := reopening(t, store.Options{Volatile: volatile})
			return open(t).Records, func(t *testing.T) storetest.SiteRecords { return open(t).Records }
		}
		storetest.TestRecords(t, begin)
	}
}

// reopening returns what opens a new site, and the same one again after closing it. The end of the test
// closes it.
func reopening(t *testing.T, o store.Options) func(t *testing.T) *store.Site {
	st := openState(t, t.TempDir(), o)
	var s *store.Site
	t.Cleanup(func() {
		s.Close()
		st.Close()
	})
	return func(t *testing.T) *store.Site {
		if s != nil {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if s, err = st.OpenSite("x"); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestMemoryRecords(t *testing.T) {
	storetest.TestRecords(t, func(*testing.T) (storetest.SiteRecords, func(*testing.T) storetest.SiteRecords) {
		r := new(storetest.Records)
		return r, func(*testing.T) storetest.SiteRecords { return r }
	})
}
