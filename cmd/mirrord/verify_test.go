// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"mirrord/app/care"
	"mirrord/cmd/mirrord/cli"
	"mirrord/phm"
	"mirrord/store/upkeep"
)

// A mirror of one page has one file, one record and one stored body.
func TestVerifySummary(t *testing.T) {
	for _, x := range []struct {
		n    int
		want string
	}{
		{1, "1 file, 25 B; links of 1 read; 1 record, 1 stored body read; all is well"},
		{2, "2 files, 25 B; links of 1 read; 2 records, 2 stored bodies read; all is well"},
	} {
		r := &care.Verified{
			Report: &phm.Report{Files: x.n, Bytes: 25, Linked: 1},
			Kept:   &upkeep.Stats{Records: x.n, Frames: x.n},
		}
		if got, err := new(cli.CLI).Text("whole", r); got != x.want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, x.want)
		}
	}
}
