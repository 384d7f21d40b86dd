// SPDX-License-Identifier: Apache-2.0

// Package archives exports mirrors into archive files and imports such files as mirrors.
//
// An export writes the tree of a version as a directory, a ZIP or tar file, a ZIM file, one page with its
// requisites, or all responses as WARC or WACZ; a delta updates a directory from one version to another. An
// import reads the same forms, the folders of HTTrack and wget, and lists of crawls, and makes versions of
// them. Package archive and the packages below it have the formats.
package archives
