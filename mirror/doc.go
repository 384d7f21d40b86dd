// SPDX-License-Identifier: Apache-2.0

// Package mirror is one run of one job: retrieve, relocate, verdict, publish.
//
//	retrieve   frontier.go, retrieve.go, answer.go, document.go, admit.go: the Mercator frontier hands URLs to workers; each answer is
//	           scanned once; what it yields is committed in batches (commit.go), so that a run can be killed at any moment and resumed
//	verdict    package judge, verdict.go, settle.go: complete, partial or suspicious, with reasons; mirror paths are assigned, records are kept
//	relocate   publish.go, splice.go: when it is known what exists, the documents that changed, or whose targets moved, are spliced
//	           into the tree that is not live
//	publish    publish.go: the tree becomes the live one by one rename
//
// What happens to one URL is an outcome, recorded as data; only what ends the run is an error.
package mirror
