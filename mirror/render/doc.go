// SPDX-License-Identifier: Apache-2.0

// Package render makes the published files of a site from its stored bodies, without a run: the links that
// are stored beside a document (StoredLinks) and where each of them leads in the mirror. It also checks the
// links of published documents (PageChecker), and changes them for an export (NewRelink).
//
// It decides nothing about a version: which files it has is the plan's business, in package publish.
package render
