// SPDX-License-Identifier: Apache-2.0

// Package spare decides what a run need not request.
//
// A KnownSite is what is known of a site: its URLs and what its runs observed. From it come the model that a
// policy plans with (SiteModel), the history of directories (DirHistory) and the rules mined from that
// (MinedRules). They are made without side effects, so that a report can make them as well as a run.
package spare
