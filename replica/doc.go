// SPDX-License-Identifier: Apache-2.0

// Package replica finds who replicates whom. Its rooms are the packages below it: text (what a page says, and
// digests of it), hosts (hosts that mirror one another) and collections (pages that lie in several places);
// hash and unionfind are what these share. They decide; they fetch, store and log nothing, and the same input
// gives the same result. No room knows another one but text, hash and unionfind.
package replica
