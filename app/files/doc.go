// SPDX-License-Identifier: Apache-2.0

// Package files writes the files that commands hand out, and reads those that they are given.
//
// A file takes its place only when it is whole: it is written beside it, read back and checked, and exchanged
// in one step; a directory is updated file by file. Reading and writing end with their context.
// What has been written or read once and is not needed soon leaves the page cache. The package also reads the
// table of redirects of a published tree.
package files
