// SPDX-License-Identifier: Apache-2.0

// Package disk is what the rooms of store ask of a disk: folders held open, files that are replaced whole,
// locks and syncs, and errors that say what a user can do about them. It knows no site, no record and no
// format of a file.
package disk
