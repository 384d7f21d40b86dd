// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"slices"
	"testing"
	"time"

	"mirrord/store/shared"
)

// What was done on any node is seen on each, in the order of its times, with the name of the node; a node
// that does not answer is named.
func TestActsOfNodes(t *testing.T) {
	nodes := &fakeNodes{sites: map[string]string{"x": "a", "y": "b"}}
	c := daemonsOf(t, nodes, "a", "b")
	begin := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for i, node := range []string{"a", "b", "b", "a", "b"} {
		err := shared.NewConsoleFacts(c[node].here.State.Shared).AddAudit(shared.AuditEntry{
			At:   begin.Add(time.Duration(i) * time.Minute),
			Who:  "ann",
			What: string(rune('0' + i)),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		n    int
		want string
	}{{10, "4b 3a 2b 1b 0a"}, {3, "4b 3a 2b"}, {0, ""}} {
		for name, d := range c {
			all, err := d.Acts(t.Context(), tc.n)
			got := ""
			for _, e := range all.Entries {
				got += " " + e.What + e.Node
			}
			if err != nil || got != prefixed(tc.want) || len(all.Away) != 0 {
				t.Errorf("the last %d on %s: %q without %v, %v; want %q", tc.n, name, got, all.Away, err, tc.want)
			}
		}
	}
	c["a"].Status() // it has heard of b
	c["b"].Close()
	all, err := c["a"].Acts(t.Context(), 10)
	if err != nil || len(all.Entries) != 2 || len(all.Away) != 1 || all.Away[0].Name != "b" {
		t.Errorf("%+v, %v", all, err)
	}
	nodes.mu.Lock()
	nodes.sites = map[string]string{"x": "a"}
	nodes.mu.Unlock()
	all, err = c["a"].Acts(t.Context(), 10)
	if err != nil || len(all.Away) != 1 || all.Away[0].Away != errNoMember.Error() {
		t.Errorf("a node that left: %+v, %v", all.Away, err)
	}
	own, err := c["b"].here.Acts(t.Context(), 10)
	if err != nil || slices.ContainsFunc(own.Entries, func(e shared.AuditEntry) bool { return e.Node != "" }) {
		t.Errorf("the stored fact names the node: %+v, %v", own, err)
	}
}

func prefixed(words string) string {
	if words == "" {
		return ""
	}
	return " " + words
}
