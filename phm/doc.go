// SPDX-License-Identifier: Apache-2.0

// Package phm is the portable hypermedia form: a directory or an archive that holds a set of files with the
// links between them, and says of each file where it came from. docs/phm.md is the specification.
//
// It has three parts. Layout and Namer give each URL a mirror path: the URL's own path wherever that is a
// good name everywhere. Meta and Files are phm.json and phm.files, the two files that make a tree a PHM. The
// operations work from an fs.FS to a writer or a Sink: Pack, PackTar, OpenArchive, Unpack, Verify, Flatten,
// Mask.
//
// The package is pure: it opens no file, asks no clock and starts no goroutine. All input may be
// hostile: it is checked before a byte is written. The idea is of Kovács, Micsik and Schermann, An
// Environment for Mirroring Hypermedia Documents (1996).
package phm
