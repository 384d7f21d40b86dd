// SPDX-License-Identifier: Apache-2.0

// Package site is mirrord's vocabulary: what a URL is, which URLs a job covers, and what became of one.
//
//   - URL: a canonical absolute http or https URL, as a browser would ask for it (WHATWG URL standard); a
//     comparable value. Resolve and AppendResolve make one of a link, Key and URLFromKey translate it to and
//     from a database key.
//   - Scope, Programs and Traps: the pure rules that admit a URL, each compiled or ready once per job, each
//     with a reason that can be shown. Glob is the pattern language they share; TrapCounter is the only thing
//     here that has a state.
//   - Outcome, and CheckJobName.
//
// The package knows no network, disk, clock or log. Parsing is its own code; only hosts that are not plain
// names (IDNA, IP addresses in any notation) go through github.com/nlnwa/whatwg-url, and a fuzz test holds
// the two to the same answers.
package site
