// SPDX-License-Identifier: Apache-2.0

// Package replicas finds mirrors of one site among hosts and collections, and registers them for use.
//
// It reads the pages of all mirrors of a state, or of lists and directories, digests them (package replica),
// joins hosts and directories that agree, and keeps what was found, so that only pages of new versions are
// read again. A registered mirror is tested before a run requests pages of it. What other nodes of a cluster
// have published is compared by the digests that they hand out.
package replicas
