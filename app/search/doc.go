// SPDX-License-Identifier: Apache-2.0

// Package search finds pages of mirrors by their words, and keeps the index for it.
//
// The index of a mirror is made of the pages of its published version and made again after a run (package
// serve/find).
package search
