// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/app/replicas"
	"mirrord/cmd/mirrord/cli"
	"mirrord/testing/mirrortest"
)

// The statements on two places are true of these two, and the advice names the right one with the evidence.
func TestReplicasSayWhatIsTrue(t *testing.T) {
	dir := t.TempDir()
	write := func(host string, page func(i int) string) {
		writePages(t, filepath.Join(dir, host), 30, func(i int, _ string) string { return page(i) })
	}
	words := func(seed, n int) string { return mirrortest.Words(uint32(seed), n) }
	frame := words(7, 300)
	manual := func(i int) string { return words(5000+7*i, 120) }
	write("shop-a.test", func(i int) string { return "<p>" + frame + "<p>" + words(100+i, 50) })
	write("shop-b.test", func(i int) string { return "<p>" + frame + "<p>" + words(900+i, 50) })
	write("aa-cut.test", func(i int) string { return "<p>" + manual(i)[:len(manual(i))*3/4] })
	write("bb-manual.test", func(i int) string { return "<p>" + manual(i) })
	write("cc-full.test", func(i int) string { return "<p>" + manual(i) + " " + words(70+i, 8) })
	write("dd-half.test", func(i int) string {
		if i%5 < 2 {
			return "<p>" + words(8000+i, 120)
		}
		return "<p>" + manual(i)
	})

	code, out, errs := runArgs(t, nil, "replicas", dir, "--json")
	var report replicas.Replicas
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != cli.ExitOK {
		t.Fatalf("exit code %d, %v: %s", code, err, errs)
	}
	pairs := map[string]replicas.ReplicaHosts{}
	for _, h := range report.Hosts {
		pairs[h.Host1+" "+h.Host2] = h
	}
	for _, c := range []struct{ pair, level, says string }{
		{"aa-cut.test bb-manual.test", "4", "lack a part on aa-cut.test"},
		{"bb-manual.test cc-full.test", "3", "cc-full.test is the fuller"},
		{"bb-manual.test dd-half.test", "4", "use only the paths that are equal"},
	} {
		if h := pairs[c.pair]; h.Level != c.level || !strings.Contains(h.Suggestion, c.says) {
			t.Errorf("%s: level %s, %q; want %s, %q", c.pair, h.Level, h.Suggestion, c.level, c.says)
		}
	}
	if h, ok := pairs["shop-a.test shop-b.test"]; ok {
		t.Errorf("two shops with one template: %+v", h)
	}
	half := pairs["bb-manual.test dd-half.test"]
	for i := range 30 {
		path := fmt.Sprintf("/p%d.html", i)
		if slices.Contains(half.Equal, path) && i%5 < 2 {
			t.Errorf("%s is no equal path", path)
		}
	}
	if len(half.Equal) < 3 {
		t.Errorf("equal paths: %q", half.Equal)
	}
	const advice = "mirror cc-full.test/ once (the fullest: "
	if len(report.Clusters) != 1 || !strings.HasPrefix(report.Clusters[0].Suggestion, advice) ||
		!strings.HasPrefix(report.Clusters[0].Copies[0].At, "cc-full.test/") ||
		strings.Contains(fmt.Sprint(report.Clusters[0].Copies), "shop") {
		t.Errorf("collections: %+v", report.Clusters)
	}
	if !slices.ContainsFunc(report.Related, func(r replicas.RelatedCopies) bool {
		return slices.Contains(r.At[:], "bb-manual.test/") && slices.Contains(r.At[:], "dd-half.test/")
	}) {
		t.Errorf("related: %+v", report.Related)
	}
	_, out, _ = runArgs(t, nil, "replicas", dir)
	for _, want := range []string{
		"equal: " + half.Equal[0] + "\n", "something else, as translations do",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}
