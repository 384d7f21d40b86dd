// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"testing"
	"time"
)

func TestLastRuns(t *testing.T) {
	st, err := OpenState(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if got, err := st.LastRuns(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for i, name := range []string{"a", "b", "a"} {
		if err := st.AddRun(RunRecord{Site: name, Ended: time.Unix(int64(i), 0), Verdict: "complete"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := st.LastRuns()
	if err != nil || len(got) != 2 || got["a"].Ended.Unix() != 2 || got["b"].Ended.Unix() != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestJobRecords(t *testing.T) {
	st, err := OpenState(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, step := range []struct{ save, want map[string][]byte }{
		{nil, map[string][]byte{}},
		{
			map[string][]byte{
				"a": []byte("1"),
				"b": []byte("2"),
			}, map[string][]byte{"a": []byte("1"), "b": []byte("2")},
		},
		{map[string][]byte{"a": nil, "b": []byte("3"), "c": nil}, map[string][]byte{"b": []byte("3")}},
	} {
		if step.save != nil {
			if err := st.SaveJobRecords(step.save); err != nil {
				t.Fatal(err)
			}
		}
		got, err := st.JobRecords()
		if err != nil || !maps.EqualFunc(got, step.want, func(a, b []byte) bool { return string(a) == string(b) }) {
			t.Errorf("%q, %v; want %q", got, err, step.want)
		}
	}
}
