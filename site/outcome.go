// SPDX-License-Identifier: Apache-2.0

package site

// Outcome says what became of one URL in one run. Outcomes are recorded as data and are never merged.
type Outcome uint8

// The outcomes. The numbers are part of the on-disk format: never reorder them.
const (
	Pending    Outcome = iota // in the frontier, not requested yet
	Fetched                   // a new body was stored
	Unchanged                 // a 304, or the same body as before
	Redirected                // a redirect; its target is a URL of its own
	Gone                      // 404 or 410
	Disallowed                // robots.txt, meta robots, X-Robots-Tag or nofollow said no
	OutOfScope                // the scope rule did not admit it
	Skipped                   // not requested, by a rule of the plan
	Failed                    // the exchange failed, or its body was unusable
	Trapped                   // a trap rule or a cap refused it
	Program                   // a CGI program or a form's action: linked absolutely, never mirrored
)

var outcomeNames = [...]string{"pending", "fetched", "unchanged", "redirected", "gone", "disallowed",
	"out of scope", "skipped", "failed", "trapped", "program"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}
