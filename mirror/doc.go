// SPDX-License-Identifier: Apache-2.0

// Package mirror is one run of one job: retrieve, judge, settle, publish. It is the conductor: it carries
// values between the rooms below it, which do not know one another, and executes what they decide.
//
//	retrieve   retrieve.go: package crawl hands out URLs, package exchange finds out what each comes to, and
//	           apply.go writes what was found. It is committed in batches, so that a run can be killed at any
//	           moment and resumed.
//	judge, settle, publish   package closing: the verdict, the records, the next version of the mirror
//
// What happens to one URL is an outcome, recorded as data; only what ends the run is an error.
package mirror
