// SPDX-License-Identifier: Apache-2.0

// Package finish is phase two of a run, what follows retrieval: judge, settle, publish. It requests nothing.
//
//	judge     verdict.go: gives package verdict what the run knows, and executes what its rules conclude
//	settle    settle.go, amend.go: new URLs get mirror paths; the journal becomes records
//	publish   publish.go, repairlinks.go: package publish plans the next version and makes its tree
//	after     thin.go: versions that the job does not keep go; summary.go: the report of the run
//
// Before retrieval it checks the stored mirror (MendTree, RequestDamaged; heal.go); restore.go makes a kept
// version the stored one. mend.go repairs a damaged mirror without a run: stored bodies from good copies of
// them,
// and the published tree from the stored bodies.
package finish
