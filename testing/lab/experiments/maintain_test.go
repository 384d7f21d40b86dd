// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"strings"
	"testing"

	"mirrord/evolution"
	"mirrord/testing/lab/versions"
)

func TestMaintain(t *testing.T) {
	tree := func(words string) *versions.HashedTree {
		var files []versions.File
		for _, w := range strings.Fields(words) {
			path, id, _ := strings.Cut(w, "=")
			files = append(files, versions.File{Path: path, Digest: versions.DigestOf(id)})
		}
		out, err := versions.TreeOf(files)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	old, test := tree("a=1 b=1 s/x=1 s/y=1 s/z=1"), tree("a=2 c=1 s/x=2 s/y=1 s/w=1")
	got := Maintain(old, test, func(f string) bool { return strings.HasPrefix(f, "s/") })
	// The mirror becomes a=2 c=1 s/x=1 s/y=1 s/z=1: 3 of its 5 files are right, of the site's 5. a, b, c, s/x,
	// s/z and s/w changed.
	want := Maintenance{
		BR: evolution.Frequency{K: 3, N: 5},
		OP: evolution.Frequency{K: 3, N: 5},
		OR: evolution.Frequency{K: 3, N: 5},
		CR: evolution.Frequency{K: 3, N: 6},
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := Maintain(nil, nil, func(string) bool { return true }); got != (Maintenance{}) {
		t.Errorf("of nothing: %+v", got)
	}
}
