// SPDX-License-Identifier: Apache-2.0

// Package replay runs a policy over the recorded history of a site and says what it would have cost and what
// it would have found.
//
// A [History] is what a site was, version by version: paths, contents and sizes, no bytes. [Read] reads the
// recorded form, [Builder] makes one from anything else. A [World] holds the site as it is and the mirror as
// the policy left it; the policy acts through two requests only, a page and the listing of a directory, and
// is charged for them. [Run] drives a policy of package policy through all versions and returns a [Result].
//
// # The recorded form
//
// UTF-8 text, fields parted by tabs, one record a line; gzip or plain:
//
//	#key<TAB>value                              header: mirrord-site-history (format, 1) first; site, origin,
//	                                            range, step_days, versions, kind, licence
//	V  number  time  commit  files  changes     version 0, 1, ...; files in it; the records that follow it lead
//	                                            to it
//	A  path  size  blob                         added (version 0 is all A)
//	M  path  size  blob                         other content than in the version before
//	D  path                                     gone
//
// Records of a version are sorted by path, as bytes. A path is relative to the site's root, with / between
// names. Equal blobs mean equal contents. The size is in bytes, -1 when it is not known. There are no records
// of directories: a directory exists while a file lies under it. A rename is a D and an A.
//
// The package is pure: it reads what it is given, and the same history under the same policy gives the same
// result.
package replay
