// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"net/http"
	"testing"

	"mirrord/scheduler/status"
)

// The list and the page of a job say what answered 404 for the first time; the page has the notes of the last
// run.
func TestWhatTheLastRunNotes(t *testing.T) {
	b := newBrowser(t, nil)
	b.login(Read)
	b.daemon.jobs = testJobs(1)
	j := &b.daemon.jobs[0]
	j.Last = &status.Run{Verdict: status.VerdictComplete, FirstGone: 22}
	j.Summary = json.RawMessage(
		`{"notes": [{"what": "pages without <text>", "count": 3, "examples": ["https://a.example/x"]}]}`)
	const first = "22 URLs answer 404 or 410 for the first time"
	b.want(http.StatusOK, first, "/", nil)
	b.want(http.StatusOK, first, "/jobs/job0000", nil)
	const note = "pages without &lt;text&gt; <small>3, such as https://a.example/x</small>"
	b.want(http.StatusOK, note, "/jobs/job0000", nil)
}
