// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"
)

// A message says, on one line, what another job mirrors too.
func TestMessageProposesReuse(t *testing.T) {
	last := &Run{Verdict: VerdictComplete, ReuseFound: "the mirror of manual\nhas 40 of 50"}
	j := Job{Name: "site", Last: last}
	m := NewMessage(TellRecovered, "host", j, time.Time{})
	if !strings.Contains(m.Text, "\nreuse: the mirror of manual has 40 of 50\n") {
		t.Errorf("%s", m.Text)
	}
}
