// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/near"
	"mirrord/testing/lab/thresholds"
)

// made builds a history of n versions from what the site holds in each: path to blob.
func made(t testing.TB, n int, site func(version int) map[string]string) *History {
	t.Helper()
	var b Builder
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	before := map[string]string{}
	for v := range n {
		now := site(v)
		var records []Record
		for path, blob := range now {
			if before[path] != blob {
				records = append(records, Record{path, blob, 100})
			}
		}
		for path := range before {
			if _, ok := now[path]; !ok {
				records = append(records, Record{Path: path})
			}
		}
		sortRecords(records)
		if err := b.Add(at.AddDate(0, 0, 7*v), "", records); err != nil {
			t.Fatal(err)
		}
		before = now
	}
	return b.History()
}

// hostile are sites that are bad to mirror. MIRRORD_LONG=1 makes the flat one larger.
func hostile() map[string]func(version int) map[string]string {
	flat := map[string]string{}
	files := 15_000
	if os.Getenv("MIRRORD_LONG") != "" {
		files = 50_000
	}
	for i := range files {
		flat[fmt.Sprintf("page-%05d.html", i)] = "1"
	}
	return map[string]func(int) map[string]string{
		"rebuilt whole every week": func(v int) map[string]string {
			m := map[string]string{}
			for i := range 400 {
				m[fmt.Sprintf("d%d/p%d.html", i%20, i)] = fmt.Sprint(v)
			}
			return m
		},
		"flat": func(v int) map[string]string {
			m := maps.Clone(flat)
			for i := range 40 {
				m[fmt.Sprintf("page-%05d.html", (i*i+v)%200)] = fmt.Sprint("v", v)
			}
			return m
		},
		"200 levels deep": func(v int) map[string]string {
			m := map[string]string{}
			for depth := range 200 {
				m[strings.Repeat("d/", depth)+"page.html"] = fmt.Sprint(v / (1 + depth%7))
			}
			return m
		},
		"directories whose names are hashes": func(v int) map[string]string {
			m := map[string]string{"index.html": fmt.Sprint(v)}
			for i := range 50 {
				m[fmt.Sprintf("%08x/app.js", uint32(i+v*50)*2654435761)] = "1"
			}
			return m
		},
		"gone and back": func(v int) map[string]string {
			if v%3 == 2 {
				return nil
			}
			return map[string]string{"a/b.html": "1", "a/c.html": fmt.Sprint(v), "d": "1"}
		},
		"a file, then a directory of that name": func(v int) map[string]string {
			if v%2 == 0 {
				return map[string]string{"x": fmt.Sprint(v), "y/z": "1"}
			}
			return map[string]string{"x/z": fmt.Sprint(v), "y": "1"}
		},
	}
}

func TestHostileSites(t *testing.T) {
	sites := hostile()
	for _, name := range slices.Sorted(maps.Keys(sites)) {
		h := made(t, 16, sites[name])
		h.Site = name
		for _, o := range []Options{
			{Policy: policy.Full}, {Policy: policy.Adaptive}, {Policy: policy.Adaptive, Price: -1},
			{Policy: policy.Adaptive, Price: -1, Budget: 0.2},
			{Policy: policy.Near, Near: thresholds.Strict()}, {Policy: policy.Near, Near: near.Third(), Expire: 3},
			{Policy: Never},
		} {
			o.Train = 5
			r, err := Run(h, o)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, o.Policy, err)
			}
			everything := o.Policy == policy.Full || (o.Policy == policy.Adaptive && o.Price < 0 && o.Budget == 0)
			if x := r.Total; everything && (*x.CRMicro != 1 || x.Stale != 0) {
				t.Errorf("%s, %s with everything asked: %+v", name, o.Policy, x)
			}
			for _, s := range r.Steps {
				if s.Found > s.Changes || s.Stale < 0 || s.Stale > 1 || s.BR < 0 || s.BR > 1 || s.Requests < 0 {
					t.Errorf("%s, %s, version %d: %+v", name, o.Policy, s.Version, s)
				}
			}
		}
	}
}

// A site that is rebuilt whole every week is requested whole: there is nothing to save, and that is noticed.
func TestRebuiltSiteIsPaidFor(t *testing.T) {
	h := made(t, 16, hostile()["rebuilt whole every week"])
	r, err := Run(h, Options{Train: 5})
	if err != nil {
		t.Fatal(err)
	}
	if *r.Total.CRMicro < 0.99 || r.Total.Stale > 0.01 {
		t.Errorf("%+v", r.Total)
	}
}

// large is a site of 20 000 files in 400 directories of which 1 % change each week.
func large(b *testing.B) *History {
	state := map[string]string{}
	for i := range 20_000 {
		state[fmt.Sprintf("s%02d/d%03d/p%05d.html", i%20, i%400, i)] = "1"
	}
	return made(b, 40, func(v int) map[string]string {
		for i := range 200 {
			state[fmt.Sprintf("s%02d/d%03d/p%05d.html", (i*7%400)%20, i*7%400, i*7%400)] = fmt.Sprint(v)
		}
		return maps.Clone(state)
	})
}

func BenchmarkRun(b *testing.B) {
	h := large(b)
	for _, o := range []Options{{Policy: policy.Full}, {Policy: policy.Near}, {Policy: policy.Adaptive}} {
		b.Run(string(o.Policy), func(b *testing.B) {
			for b.Loop() {
				if _, err := Run(h, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
