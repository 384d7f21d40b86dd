// SPDX-License-Identifier: Apache-2.0

// Package publish is phase two of a run: it makes a version of a mirror from what the ledger and the store
// know, without a request.
//
// Mend comes first in a run: it repairs the tree that readers see. AssignNames gives mirror paths to what
// has none. NewPlan says what the next version has: it reads and decides, and changes nothing. Open starts
// its tree as a Draft, in which a Placer makes files and Draft.Finish completes the version from the
// list of what changed. The caller judges the Result, and then lets the Draft be published or left. A
// version becomes visible in Draft.Publish, and nowhere else: store.Tree.Publish moves the one link,
// current, that readers follow.
package publish
