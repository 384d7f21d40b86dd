// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"mirrord/evolution/policy"
	"mirrord/near"
	"mirrord/testing/lab/thresholds"
)

const sharedData = "../../shared/data/"

// sharedSites are the recorded sites, the quick ones first.
func sharedSites() []string {
	return []string{
		"rust-blog", "boost", "php", "dplyr", "flink", "sass", "accumulo", "mesos", "math-comp",
		"kafka", "struts", "beam", "openlayers",
	}
}

const quickSites = 9

// sharedHistory reads a recorded site; nil when the records are not beside the checkout.
func sharedHistory(t testing.TB, site string) *History {
	t.Helper()
	f, err := os.Open(sharedData + "site-histories/" + site + ".history.tsv.gz")
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("the recorded history of %s is not at %ssite-histories: nothing was checked against it", site,
			sharedData)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := Read(f)
	if err != nil {
		t.Fatalf("%s: %v", site, err)
	}
	return h
}

// recorded is what was measured elsewhere of one policy on one site.
type recorded struct {
	Req      float64 `json:"req"`
	CR       float64 `json:"cr"`
	CRMicro  float64 `json:"cr_micro"`
	Stale    float64 `json:"stale"`
	Requests int     `json:"requests"`
}

// recordedResults are the results by site and policy; nil when they are not beside the checkout.
func recordedResults(t testing.TB) map[string]map[string][]recorded {
	t.Helper()
	f, err := os.Open(sharedData + "near-results.json.gz")
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("no %snear-results.json.gz: nothing was checked against it", sharedData)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Replay map[string][]recorded `json:"replay"`
	}
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string][]recorded{}
	for site, r := range all {
		out[site] = r.Replay
	}
	return out
}

// TestRecordedResults holds what the policies ask and find on real sites against what another program
// measured under the same cost model: to the request, and the shares to what they were rounded to.
// MIRRORD_LONG=1 takes the large sites too.
func TestRecordedResults(t *testing.T) {
	want := recordedResults(t)
	sites := sharedSites()
	if os.Getenv("MIRRORD_LONG") == "" {
		sites = sites[:quickSites]
	}
	worst := 0.0
	for _, site := range sites {
		h := sharedHistory(t, site)
		if h == nil || want == nil {
			return
		}
		for _, c := range []struct {
			name string
			o    Options
		}{
			{"nothing", Options{Policy: Nothing}},
			{"never", Options{Policy: Never}},
			{"near-strict", Options{Policy: policy.Near, Near: thresholds.Strict()}},
			{"near-strict-expiring", Options{Policy: policy.Near, Near: thresholds.Strict(), Expire: 8}},
			{"near-third", Options{Policy: policy.Near, Near: near.Third()}},
			{"near-third-expiring", Options{Policy: policy.Near, Near: near.Third(), Expire: 8}},
			{"near-best", Options{Policy: policy.Near, Near: thresholds.Best()}},
			{"near-best-expiring", Options{Policy: policy.Near, Near: thresholds.Best(), Expire: 8}},
		} {
			r, err := Run(h, c.o)
			if err != nil {
				t.Fatalf("%s, %s: %v", site, c.name, err)
			}
			got, want := r.Total, want[site][c.name][0]
			if got.Requests != want.Requests {
				t.Errorf("%s, %s: %d requests, want %d", site, c.name, got.Requests, want.Requests)
			}
			for _, x := range []struct {
				what      string
				got, want float64
			}{
				{"requests", got.Req, want.Req}, {"CR", *got.CR, want.CR}, {"pooled CR", *got.CRMicro, want.CRMicro},
				{"stale", got.Stale, want.Stale},
			} {
				d := math.Abs(x.got - x.want)
				worst = max(worst, d)
				if d > 0.0001 {
					t.Errorf("%s, %s: %s %.5f, want %.5f", site, c.name, x.what, x.got, x.want)
				}
			}
		}
	}
	t.Logf("largest deviation of a share: %.6f", worst)
}
