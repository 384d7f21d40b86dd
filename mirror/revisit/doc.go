// SPDX-License-Identifier: Apache-2.0

// Package revisit decides what a run need not request.
//
// A KnownSite describes a site: its URLs and what its runs observed. From it come the model that a
// policy plans with (SiteModel), the history of directories (DirHistory) and the rules mined from that
// (MinedRules). They are made without side effects, so that a report can make them as well as a run.
//
// A Planner lets the job's policy decide which known URLs a run requests, in batches. Evidence is what
// listings, sitemaps and lifetimes say of URLs, and which of them need not be requested by that. Sources says
// which of those come first. Validators decides which validators a request carries. Each of the three that
// change while workers run has a lock of its own.
//
// The package makes no request, writes no record and knows no run. It returns what to request and what
// has not changed as values; the run carries them out, and reports the outcomes. It leaves to package policy
// what a request is worth, to packages listing and relocate how a source is read, and to the frontier when a
// request is made.
package revisit
