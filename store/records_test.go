// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"mirrord/store"
	"mirrord/store/storetest"
)

func TestStateRecords(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		begin := func(t *testing.T) (storetest.SiteRecords, func(*testing.T) storetest.SiteRecords) {
			st := openState(t, t.TempDir(), store.Options{Volatile: volatile})
			var s *store.Site
			open := func(t *testing.T) storetest.SiteRecords {
				if s != nil {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				}
				var err error
				if s, err = st.OpenSite("x"); err != nil {
					t.Fatal(err)
				}
				return s.Records
			}
			t.Cleanup(func() {
				s.Close()
				st.Close()
			})
			return open(t), open
		}
		storetest.TestRecords(t, begin)
	}
}

func TestMemoryRecords(t *testing.T) {
	storetest.TestRecords(t, func(*testing.T) (storetest.SiteRecords, func(*testing.T) storetest.SiteRecords) {
		r := new(storetest.Records)
		return r, func(*testing.T) storetest.SiteRecords { return r }
	})
}
