// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"reflect"
	"testing"

	"mirrord/replay"
)

func TestRoundRobin(t *testing.T) {
	h := smallHistory(t)
	run := func(train int, budget float64) *replay.Result {
		r, err := replay.Run(h, replay.Options{Policy: RoundRobin, Train: train, Baseline: InTurn(budget)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := run(1, 1); *r.Total.CR != 1 || r.Total.Stale != 0 {
		t.Errorf("over everything: %+v", r.Total)
	}
	r := run(3, 0.5)
	if r.Policy != RoundRobin || r.Total.Req <= 0 || r.Total.Req >= 1 {
		t.Errorf("half of everything: %+v", r.Total)
	}
	if again := run(3, 0.5); !reflect.DeepEqual(r, again) {
		t.Errorf("%+v and %+v", r, again)
	}
}
