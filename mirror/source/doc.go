// SPDX-License-Identifier: Apache-2.0

// Package source is where a run's answers come from: the origin, the mirror of another job (reuse) and
// replicas of the site.
//
// A source gets one URL and returns a value: what came, from where, or why nothing did. It records no
// outcome, admits no link and ends no run; the reader of the answer does that. What a source needs from the
// run (turns of hosts, robots rules, what the mirror holds, the troubles of origins) it
// declares as small interfaces and functions.
//
// An Asker makes single polite requests beside a frontier, for tests and samples. NewClient makes the client
// that a job's requests go through.
package source
