// SPDX-License-Identifier: Apache-2.0

// Package evolution says how a site's directories change: how much of each directory a step from one version
// to the next concerns, and the history of that over many versions.
//
// The notions are those of Chen, Bhowmick and Nejdl, "Mirror Site Maintenance Based on Evolution Associations
// of Web Directories" (WWW 2007), closed where the paper leaves them open:
//
//   - A tree has a node for every file and one for every directory. The root always exists, any other
//     directory exactly while a file lies under it.
//   - Two nodes are the same when their whole path and their kind agree. There is no move: a rename is a
//     delete and an insert.
//   - The distance D of two versions of a subtree is the number of nodes inserted and deleted, and of files
//     updated. A directory is never updated.
//   - merged is |old + new|: the nodes of the old subtree and the inserted ones, the subtree's own root among
//     them.
//   - DoC (degree of change) is D/merged, 0 for a subtree that is in neither version. A subtree that comes or
//     goes whole has 1. Without the updates it is called structural.
//   - A subtree changed significantly when DoC >= alpha and DoC > 0.
//   - FoC (frequency of change) of a set of directories is the share of transitions in which all of them
//     changed significantly; CoC (correlation of change) of two sets is the phi coefficient of their changes.
//     Both come from integer counts.
//
// What was not observed is not unchanged. A step of a [History] says how many files of each directory were
// not looked at; a directory for which these could make the difference between a significant change and none
// is unknown in that step, and no count takes it in.
//
// What a later look finds says more: a file that is as it was at the look before did not change in any step
// between. From what was seen of single files ([Looks]) come estimates of FoC, CoC and support, each with the
// interval that holds the truth with a chance of 90 % ([Looks.Estimate]).
//
// # History
//
// A [History] needs no trees of versions; testing/lab/versions has those, with the same results. It
// keeps, for each step (a run of a job), how many files directly in each directory came, went, changed or
// were not looked at: all that the DoC of the directory and of those above it depends on. A store that
// knows which pages a run requested and which of them changed feeds it page by page ([Recorder]), in a pass
// over its observations; a [DeltaTree], from which FoC and CoC are counted for any alpha, is one more pass
// over the history. Each pass costs the changes times their depth; that of a [DeltaTree] a look at each
// directory more for every step in which something was not looked at.
//
// Everything here is pure and safe for concurrent reading; nothing may be written while it is read.
package evolution
