// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"math"
	"testing"

	"mirrord/replay"
)

func TestExperimentTables(t *testing.T) {
	h := smallHistory(t)
	k, err := ExperimentK([]*replay.History{h, h})
	if err != nil {
		t.Fatal(err)
	}
	if len(k) != 0 {
		t.Errorf("8 versions have no experiment with 20 of training, but %+v", k)
	}
	rows, err := ExperimentTrain([]*replay.History{h, h})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(Settings())+1 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	for _, r := range rows {
		if r.Train != 5 || r.K != 1 || r.Sites != 2 {
			t.Errorf("%+v", r)
		}
	}
	sites, err := ExperimentSites([]*replay.History{h, h})
	if err != nil {
		t.Fatal(err)
	}
	if len(sites) != 2*len(rows) || sites[0].Site != "small" || sites[0].Train != 4 || sites[0].Sites != 1 {
		t.Errorf("by site: %+v", sites)
	}
	// Of the 13 files of version 4, 10 are as in version 5, which has 12; and so on.
	nothing := rows[len(rows)-1]
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"BR", *nothing.BR, 1}, {"CR", *nothing.CR, 0},
		{"OP", *nothing.OP, (10.0/13 + 9.0/12 + 8.0/10) / 3}, {"OR", *nothing.OR, (10.0/12 + 9.0/10 + 8.0/11) / 3},
	} {
		if nothing.Setting != "nothing" || math.Abs(x.got-x.want) > 1e-12 {
			t.Errorf("%s: %s is %v, want %v", nothing.Setting, x.name, x.got, x.want)
		}
	}
}
