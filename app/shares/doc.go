// SPDX-License-Identifier: Apache-2.0

// Package shares decides which jobs of a cluster a node runs, and keeps what all nodes must agree on: the set
// of job files, pauses, users of the console, and mirrors that were removed.
//
// Share takes jobs when it may and gives them up when another node should have them; it moves the mirror
// through the depot where the nodes do not share a disk.
package shares
