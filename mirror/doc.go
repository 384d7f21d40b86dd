// Package mirror is one run of one job: retrieve, relocate, verdict, publish.
//
//	retrieve   frontier.go, retrieve.go, document.go, discover.go: the Mercator frontier hands URLs to workers; each answer is scanned
//	           once; what it yields is committed in batches (commit.go), so that a run can be killed at any moment and resumed
//	relocate   names.go, relocate.go: after retrieval, when it is known what exists, mirror paths are assigned and the documents
//	           that changed, or whose targets moved, are spliced into the tree that is not live
//	verdict    verdict.go: complete, partial or suspicious, with reasons
//	publish    publish.go: the tree becomes the live one by one rename
//
// What happens to one URL is an outcome, recorded as data; only what ends the run is an error.
package mirror
