// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"fmt"
	"testing"
	"time"
)

// The audit log has its newest entries first, and sessions outlive the process that made them.
func TestConsoleFacts(t *testing.T) {
	dir := t.TempDir()
	state := open(t, dir, true)
	st := NewConsoleFacts(state)
	if got, err := st.Audit(5); err != nil || len(got) != 0 {
		t.Fatalf("an empty log: %v, %v", got, err)
	}
	for i := range 3 {
		if err := st.AddAudit(AuditEntry{Who: "ann", What: fmt.Sprint("act ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := st.Audit(2)
	if err != nil || len(got) != 2 || got[0].What != "act 2" || got[1].What != "act 1" {
		t.Errorf("audit: %v, %v", got, err)
	}
	until := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, digest := range []string{"a", "b"} {
		f := &SessionFact{User: "ann", Role: "operate", Expires: until}
		if err := st.SaveSession(digest, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.SaveSession("a", nil); err != nil {
		t.Fatal(err)
	}
	all, err := NewConsoleFacts(open(t, dir, true)).Sessions()
	if err != nil || len(all) != 1 || all["b"] != (SessionFact{User: "ann", Role: "operate", Expires: until}) {
		t.Errorf("sessions: %v, %v", all, err)
	}
}
