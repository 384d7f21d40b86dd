// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strings"
	"testing"
)

// The list of mirrors opens no database; the first request for a page does.
func TestListReadsNoFacts(t *testing.T) {
	m := mirrorSite(t)
	if res := ask(t, m.server, "GET", "http://mirrors.test/"); !strings.Contains(bodyOf(t, res), ">test<") {
		t.Fatal("the mirror is not in the list")
	}
	tree := m.sites.sites["test"].live
	if tree.facts.Load() != nil {
		t.Error("the list has read the database")
	}
	if res := ask(t, m.server, "GET", movedPage); res.StatusCode != 301 || !tree.facts.Load().known {
		t.Errorf("redirect: %d", res.StatusCode)
	}
}
