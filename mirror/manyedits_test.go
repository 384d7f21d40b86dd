// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// A page with too many edits for a line of the file table does not spoil the table.
func TestManyDeclaredEdits(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", strings.Repeat(`<img crossorigin src=a.png>`, 55_000)))
	w.Set(home+"/a.png", mirrortest.Page{Body: "png"})
	m := mirrortest.New(t, w, job(""))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "more than 50000 declared edits")
	if f := fileOf(t, m, "index.html"); len(f.Edits) != 50_000 {
		t.Errorf("%d edits are declared", len(f.Edits))
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
}
