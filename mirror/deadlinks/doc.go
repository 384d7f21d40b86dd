// SPDX-License-Identifier: Apache-2.0

// Package deadlinks finds out which links to other sites lead to an equivalent copy in the published pages.
//
// With repair = true a link to a page of another site, that is known to be broken and of which an equivalent
// copy is known, points to that copy. It makes no request: it knows what the other mirrors of the
// state have recorded, and which pairs of base URLs a test found to be interchangeable. docs/replicas.md has
// the rules.
//
// A Search finds the cures, a Choice says what a run does with them. Neither changes anything: package
// closing marks the documents that change and stores the Applied of a published version.
package deadlinks
