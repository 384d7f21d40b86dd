// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"fmt"
	"testing"
)

// An origin is requested in three runs, then in every eighth; an answer ends that.
func TestOriginsTurn(t *testing.T) {
	var o SilentOrigins
	f := facts{}
	never := func(string) bool { return false }
	asked := ""
	for run := 1; run <= 30; run++ {
		turn, _ := o.Turn("http://dead", run)
		var silent []string
		if turn != OriginSkipped {
			silent = []string{"http://dead"}
			asked += fmt.Sprint(run, " ")
			if probe := run > 3; probe != (turn == OriginProbed) || probe != o.AnyProbed(run) {
				t.Errorf("run %d: turn %d", run, turn)
			}
		}
		o.EndRun(run, int64(1000+run), silent, never)
		o.EndRun(run, int64(2000+run), silent, never) // resumed
		if err := o.Keep(f); err != nil {
			t.Fatal(err)
		}
		o = SilentOrigins{}
		if err := o.Load(f); err != nil {
			t.Fatal(err)
		}
	}
	if want := "1 2 3 11 19 27 "; asked != want {
		t.Errorf("requested in runs %s, want %s", asked, want)
	}
	if s := o.silent["http://dead"]; s != (SilentOrigin{Runs: 6, Asked: 27, Since: 1001}) {
		t.Errorf("%+v", s)
	}
	if got := o.WrittenOff(); len(got) != 1 {
		t.Error(got)
	}
	o.EndRun(35, 0, nil, func(origin string) bool { return origin == "http://dead" })
	if err := o.Keep(f); f[originsFact] != nil || err != nil {
		t.Errorf("%s, %v", f[originsFact], err)
	}
	f[originsFact] = []byte("{")
	if err := o.Load(f); o.silent != nil || err != nil {
		t.Errorf("half a list is decoded: %v, %v", o.silent, err)
	}
}
