// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Runs that an older program stored stay readable, and are written with the keys of today.
func TestOldKeys(t *testing.T) {
	const stored = `{"job":"docs","run":7,"verdict":"partial",
		"alternatesUnchanged":4,"reusedOf":"other","repairedLinks":3,"sameText":2,"nearText":1}`
	const today = `{"job":"docs","run":7,"verdict":"partial",
		"alternates_unchanged":4,"reused_of":"other","repaired_links":3,"same_text":2,"near_text":1}`
	want := Summary{
		Job:            "docs",
		Run:            7,
		Verdict:        Partial,
		AlternatesSame: 4,
		ReusedOf:       "other",
		RepairedLinks:  3,
		SameText:       2,
		NearText:       1,
	}
	keys := []string{"alternates_unchanged", "reused_of", "repaired_links", "same_text", "near_text"}
	for _, data := range []string{stored, today} {
		var s Summary
		if err := json.Unmarshal([]byte(data), &s); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s, want) {
			t.Errorf("%s: got %+v", data, s)
		}
		var b strings.Builder
		if err := s.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if !strings.Contains(b.String(), `"`+key+`"`) {
				t.Errorf("%s is written without %s:\n%s", data, key, b.String())
			}
		}
	}
}
