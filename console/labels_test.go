// SPDX-License-Identifier: Apache-2.0

package console

import (
	"strings"
	"testing"
)

// Pages have the labels of the field, and no longer those before them.
func TestLabels(t *testing.T) {
	for page, labels := range map[string][]struct{ old, now string }{
		"list": {
			{"Fix: ", "Review changes"}, {"under way", "running"}, {"Feed of what changed", "Feed of changes"},
		},
		"frame": {
			{">Find<", ">Search<"}, {">Replicas<", ">Duplicates<"}, {">Orders<", ">Mirror requests<"},
		},
		"live": {{"What to do", "Fix:"}},
		"left": {{"What to do", "Fix: "}},
		"job": {
			{"Held back", ">Held for review<"}, {"All that would come", ">Show all changes<"},
			{"Accept: publish this", ">Approve and publish<"}, {"as known", ">Ignore these missing resources<"},
			{">Gaps<", ">Missing<"}, {"request everything", "full check"}, {"outside of", "ignore time window"},
			{"Have it", ">Download<"}, {"Free space", ">Prune…<"}, {"Equivalents…", ">Mirror URLs…<"},
			{"On the disk", ">Disk usage<"}, {"Not requested", ">Forgotten URLs<"}, {">Took<", ">Duration<"},
			{">Requests saved<", ">Skipped<"}, {">Verdict<", ">Result<"}, {"Fresh as of", ">Last checked<"},
		},
		"heat": {
			{">Fold<", ">Collapse all<"}, {"Unfold", ">Expand all<"}, {"Perhaps late", ">Estimated staleness<"},
			{"Runs with audits", ">Sampled runs<"}, {"Changed in, of", ">Changes / checks<"},
			{"but for audits", "Skipped<span class=\"hide\"> by a rule"}, {">Saved<", ">Requests saved<"},
		},
		"versions":    {{"bring it back", ">Restore…<"}, {">See<", ">Links<"}},
		"diff":        {{"waits to be accepted", "Held for review"}, {"Bring version", ">Restore version"}},
		"view":        {{"Since then", ">Next change<"}},
		"beside":      {{"It does not have the page", "Not in this version."}},
		"gc":          {{"Free space", "<h1>Prune "}},
		"equivalents": {{"Equivalents of", "<h1>Mirror URLs of"}, {"Test and register", ">Verify and add<"}},
		"replicas":    {{"What it says", ">Explanation<"}},
		"order": {
			{"Order a mirror", ">Request a mirror<"}, {"Take in", ">Scope<"}, {"not wanted", ">Exclude types<"},
		},
		"orders": {{"Order a mirror", ">Request a mirror<"}},
		"oneorder": {
			{"Place the order", ">Submit<"}, {"<h2 id=\"look\">What", ">Estimate<"}, {"or, because", ">Reason <"},
			{"Make it a job", ">Schedule as job<"}, {"Not wanted", ">Exclude types<"},
			{"Same as", ">Duplicate of<"}, {">Verdict<", ">Result<"}, {">Gaps<", ">Missing<"},
		},
		"find": {{"Make the index", ">Build index<"}},
	} {
		text, err := files.ReadFile("pages/" + page + ".html")
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range labels {
			if strings.Contains(string(text), x.old) || !strings.Contains(string(text), x.now) {
				t.Errorf("%s.html: want %q, not %q", page, x.now, x.old)
			}
		}
	}
}
