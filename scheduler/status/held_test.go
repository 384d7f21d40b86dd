// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Metrics say why a host is waited for, who holds it and until when.
func TestMetricsOfHosts(t *testing.T) {
	jobs := []Job{
		{Name: "free"},
		{Name: "failing", Waits: &Wait{For: ForHost, Held: HeldFails, Until: &noon}},
		{Name: "wished", Waits: &Wait{For: ForHost, Held: HeldWish, Behind: []string{"a", "b"}}},
	}
	var b bytes.Buffer
	if err := WriteMetrics(&b, All{Jobs: jobs}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`mirrord_job_host_held{job="failing",held="fails",by=""} 1`,
		`mirrord_job_host_held{job="wished",held="wish",by="a"} 1`,
		`mirrord_job_host_held{job="wished",held="wish",by="b"} 1`,
		`mirrord_job_waits_until_time_seconds{job="failing"} `,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s", want)
		}
	}
	if n := strings.Count(b.String(), "mirrord_job_host_held{"); n != 3 {
		t.Errorf("%d samples", n)
	}
}

// A run that works at the gap of another job says so; one that has nothing to request there does not.
func TestHeldWhileWorking(t *testing.T) {
	held := BusyHost{Host: "h", Gap: 300 * time.Millisecond, GapBy: []string{"other"}}
	p := &Progress{Phase: Retrieving, Busy: []BusyHost{held}}
	j := Job{Health: OK, Activity: Running, Waits: p.Held()}
	const want = "ok, running, waits for host h, because other wants 300ms between requests"
	if got := j.Say(); got != want {
		t.Errorf("%s", got)
	}
	for _, p := range []*Progress{
		nil,
		{Phase: Publishing, Busy: []BusyHost{held}},
		{Phase: Retrieving, Busy: []BusyHost{{Host: "own", Gap: time.Second}, held}},
		{Phase: Retrieving},
	} {
		if w := p.Held(); w != nil {
			t.Errorf("%+v: %s", p, w.Say())
		}
	}
}
