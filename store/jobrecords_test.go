package store

import (
	"maps"
	"testing"
)

func TestJobRecords(t *testing.T) {
	st, err := OpenState(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, step := range []struct{ save, want map[string][]byte }{
		{nil, map[string][]byte{}},
		{map[string][]byte{"a": []byte("1"), "b": []byte("2")}, map[string][]byte{"a": []byte("1"), "b": []byte("2")}},
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
