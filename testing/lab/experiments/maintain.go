// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"mirrord/evolution"
	"mirrord/testing/lab/versions"
)

// Maintenance is how one maintenance of a mirror came out: from the old version of a site the test version
// was to be made, and the skipped directories were not looked at. Every figure is a count of files.
type Maintenance struct {
	BR evolution.Frequency // bypassed: files of the test version in skipped directories, of all its files
	// overlap precision: files of the mirror as in the test version, of all files of the mirror
	OP evolution.Frequency
	OR evolution.Frequency // overlap recall: the same, of all files of the test version
	// change recall: files inserted, deleted or updated outside of skipped directories, of all such; 0 of 0:
	// nothing changed
	CR evolution.Frequency
}

// Maintain maintains a mirror once. The mirror is the old version in the skipped directories, the test
// version elsewhere.
func Maintain(old, test *versions.HashedTree, skipped func(file string) bool) Maintenance {
	var m Maintenance
	inSkips := func(t *versions.HashedTree) (n int) {
		for f := range t.Files() {
			if skipped(f.Path) {
				n++
			}
		}
		return n
	}
	m.BR = evolution.Frequency{K: inSkips(test), N: test.Len()}
	mirrored := inSkips(old) + test.Len() - m.BR.K
	wrong, missing := 0, 0 // files of the mirror, and of the test version, that the other has not so
	for _, e := range versions.Diff(old, test) {
		if e.Dir {
			continue
		}
		m.CR.N++
		if !skipped(e.Path) {
			m.CR.K++
			continue
		}
		if e.Op != versions.Insert {
			wrong++
		}
		if e.Op != versions.Delete {
			missing++
		}
	}
	m.OP = evolution.Frequency{K: mirrored - wrong, N: mirrored}
	m.OR = evolution.Frequency{K: test.Len() - missing, N: test.Len()}
	return m
}
