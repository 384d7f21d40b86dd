// SPDX-License-Identifier: Apache-2.0

// Package living mirrors real programs that make sites, such as wikis and code browsers, with the real
// binary: some runs without an edit, one edit, and more runs. A mirror of them is at rest without edits, and
// a run after an edit finds it and changes nothing else.
//
// The programs are those of Debian's packages, which .ci/run installs. Each keeps its state in a folder of
// the test and runs as the user of the test.
package living
