// SPDX-License-Identifier: Apache-2.0

// Package verdict decides how a run ended: complete, gaps, partial or suspicious, with reasons.
//
// A verdict is a list of rules. A rule is one file: a method of rules that says at which stage of a run the
// rule applies, and a function from a Case, which is what the run knows, to a Ruling, which is what the rule
// concludes. The method is the registration.
//
// A verdict belongs to parts: a URL, an origin, an entry point. A part that the mirror should have and could
// not get is a gap (gaps.go); it keeps what the mirror has of it and holds back nothing else.
//
// Judging changes nothing. What follows from a verdict is a value too: resources that leave the mirror, pages
// that the next run requests without validators, the orphans that wait. Package finish executes
// it.
package verdict
