// SPDX-License-Identifier: Apache-2.0

package job

import (
	"reflect"
	"testing"
)

func TestPriority(t *testing.T) {
	const url = "url = \"https://e.org/\"\n"
	for _, tc := range []struct {
		text string
		want []PriorityRule
	}{
		{"", nil},
		{"priority = \"/news/**\"", []PriorityRule{{[]string{"/news/**"}, 1}}},
		{"priority = [\"/a\", { match = \"/b\", every = 3 }]",
			[]PriorityRule{{[]string{"/a"}, 1}, {[]string{"/b"}, 3}}},
		{"[[priority]]\nmatch = [\"/a\", \"/b\"]\n[[priority]]\nmatch = \"/c\"\nevery = 2\n[limits]\nmax_size = 1",
			[]PriorityRule{{[]string{"/a", "/b"}, 1}, {[]string{"/c"}, 2}}},
	} {
		j, err := Parse("j", "j.toml", []byte(url+tc.text))
		if err != nil {
			t.Fatalf("%s: %v", tc.text, err)
		}
		if !reflect.DeepEqual(j.Priority, tc.want) {
			t.Errorf("%s: %+v", tc.text, j.Priority)
		}
		again, err := Parse("j", "j.toml", j.Effective())
		if err != nil || !reflect.DeepEqual(again.Priority, tc.want) {
			t.Errorf("%s: read back: %v", j.Effective(), err)
		}
	}
	j := Default("https://e.org/")
	if err := j.Set("priority", `[{ match = "/a", every = 2 }]`); err != nil || len(j.Priority) != 1 {
		t.Errorf("set: %+v, %v", j.Priority, err)
	}
	if err := j.Set("priority", "/b/**"); err != nil || j.Priority[0].Match[0] != "/b/**" {
		t.Errorf("set: %+v, %v", j.Priority, err)
	}
	if err := j.Set("priority", `[{ match = "a/b" }]`); err == nil {
		t.Error("a glob that matches nothing is accepted")
	}
}
