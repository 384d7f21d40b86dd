// SPDX-License-Identifier: Apache-2.0

// Package look answers questions about a mirror and changes nothing.
//
// It reads the state for status, versions and the differences between two of them, for the plan of the next
// run, the history and the rules of a site, the heat map of its directories, and the reasons for which a page
// is or is not in a version. It reads sites that a run writes, as of their last commit.
package look
