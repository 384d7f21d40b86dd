// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http/httptest"
	"testing"
	"time"

	"mirrord/status"
	"mirrord/store"
)

// While a site is written, its status is that of the last commit.
func TestStatusWhileWritten(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(inManyCharsets(t))
	defer srv.Close()
	state := t.TempDir()
	runMirror(t, state, "many", srv.URL)
	a := testApp(state)
	a.Jobs = t.TempDir()
	one := func() status.Job {
		t.Helper()
		list, err := Statuses(a, time.Now())
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		return list[0]
	}
	idle := one()
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("many")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	running := one()
	if running.Activity != status.Running || running.Version != 1 || running.Files != idle.Files {
		t.Errorf("%+v\nbefore: %+v", running, idle)
	}
}
