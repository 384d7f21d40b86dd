// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"mirrord/evolution"
)

// sharedResults is what of the figures computed elsewhere the experiments are held against.
type sharedResults map[string]struct {
	Experiments struct {
		VaryK     []sharedExperiment            `json:"vary_k"`
		VaryTrain map[string][]sharedExperiment `json:"vary_train"`
	} `json:"experiments"`
}

type sharedExperiment struct {
	K       int              `json:"k"`
	Changes int              `json:"changes"`
	Nothing sharedMaintained `json:"nothing"`
	Strict  sharedMaintained `json:"strict"`
	Third   sharedMaintained `json:"third"`
	Best    sharedMaintained `json:"best"`
	Never   sharedMaintained `json:"never"`
}

type sharedMaintained struct {
	BR *float64 `json:"br"`
	OP *float64 `json:"op"`
	OR *float64 `json:"or"`
	CR *float64 `json:"cr"`
}

// TestExperiments repeats the paper's two experiments on recorded sites and compares every figure.
// MIRRORD_LONG=1 takes all sites.
func TestExperiments(t *testing.T) {
	f, err := os.Open(sharedData + "near-results.json.gz")
	if err != nil {
		t.Logf("the shared figures are missing, nothing was compared: %v", err)
		return
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all sharedResults
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	sites := []string{"boost", "dplyr", "sass", "rust-blog", "php"}
	if os.Getenv("MIRRORD_LONG") != "" {
		sites = append(sites, "flink", "accumulo", "mesos", "math-comp", "kafka", "struts", "beam", "openlayers")
	}
	worst, figures := 0.0, 0
	for _, name := range sites {
		h := sharedHistory(t, name)
		if h == nil {
			return
		}
		compare := func(what string, got Experiment, want sharedExperiment) {
			t.Helper()
			if got.K != want.K || got.Changes != want.Changes {
				t.Fatalf("%s, %s: %d changes in %d versions, want %d in %d", name, what, got.Changes, got.K,
					want.Changes, want.K)
			}
			by := map[string]sharedMaintained{
				"strict": want.Strict,
				"third":  want.Third,
				"best":   want.Best,
				"never":  want.Never,
			}
			for setting, w := range by {
				d, n := deviation(t, fmt.Sprintf("%s, %s, %s", name, what, setting), got.By[setting], w)
				worst, figures = max(worst, d), figures+n
			}
			d, n := deviation(t, name+", "+what+", nothing", got.Nothing, want.Nothing)
			worst, figures = max(worst, d), figures+n
		}
		want := all[name].Experiments
		i := 0
		for x, err := range VaryK(h) {
			if err != nil {
				t.Fatal(err)
			}
			if i < len(want.VaryK) {
				compare(fmt.Sprintf("from %d, %d later", x.First, x.K), x, want.VaryK[i])
			}
			i++
		}
		if i != len(want.VaryK) {
			t.Errorf("%s: %d maintenances of experiment (i), want %d", name, i, len(want.VaryK))
		}
		for _, train := range []int{5, 10, 15, 20, 30, 40, 60} {
			list, i := want.VaryTrain[fmt.Sprint(train)], 0
			for x, err := range VaryTrain(h, train) {
				if err != nil {
					t.Fatal(err)
				}
				if i < len(list) {
					compare(fmt.Sprintf("%d versions from %d on", train, x.First), x, list[i])
				}
				i++
			}
			if i != len(list) {
				t.Errorf("%s: %d maintenances with %d versions, want %d", name, i, train, len(list))
			}
		}
	}
	t.Logf("%d figures, largest deviation %.2g", figures, worst)
}

// deviation compares the figures that are given, to 0.003.
func deviation(
	t *testing.T, what string, got Maintenance, want sharedMaintained,
) (worst float64, n int) {
	t.Helper()
	for _, x := range []struct {
		name string
		got  evolution.Frequency
		want *float64
	}{{"BR", got.BR, want.BR}, {"OP", got.OP, want.OP}, {"OR", got.OR, want.OR}, {"CR", got.CR, want.CR}} {
		if x.want == nil {
			continue
		}
		n++
		d := math.Abs(x.got.Value() - *x.want)
		if worst = max(worst, d); d > 0.003 {
			t.Errorf("%s: %s is %.5f, want %.5f", what, x.name, x.got.Value(), *x.want)
		}
	}
	return worst, n
}
