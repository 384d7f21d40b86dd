// SPDX-License-Identifier: Apache-2.0

// Package kiwix puts a PHM into a ZIM file that Kiwix reads, and takes it out again.
//
// The files of the set are content (namespace C) at their mirror paths, pages with their titles. zimcheck and
// readers want more than a PHM promises, so that some files differ from those of the set:
//
//   - A file without bytes has one line feed.
//   - What a page would load from elsewhere is not loaded: src becomes data-src.
//   - Links that are absolute paths, empty, or lead to no file, become right ones or absolute URLs.
//   - Text that only looks like a link, in scripts, comments and examples, is spelled in another way.
//
// phm.json and phm.files are kept in the namespace X below "phm/", and how each file that differs comes back
// below "phm-undo/" at its path (see restore), where readers do not look: what comes out is the PHM that went
// in, byte for byte. Files of before have each file that differs below "phm/", as it is.
package kiwix

// Where these lie in the namespace X.
const (
	kept   = "phm/"
	undone = "phm-undo/"
)
