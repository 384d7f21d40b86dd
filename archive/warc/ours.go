// SPDX-License-Identifier: Apache-2.0

package warc

// Fields of records that are ours; docs/formats.md says what they mean.
const (
	FieldHead   = "WARC-Mirrord-Head"
	FieldSource = "WARC-Mirrord-Source"
	FieldKept   = "WARC-Mirrord-Requested"

	// HeadMade is the value of FieldHead for a head that is not that of the answer, HeadLength for one to which
	// only Content-Length was added.
	HeadMade   = "made"
	HeadLength = "Content-Length added"

	// In the warcinfo record: a version with its number and date, and a URL to begin with. Both may occur more
	// than once.
	FieldVersion = "mirrord-version"

	// The version, with number and date, that a delta builds on: what it refers to and does not have is in an
	// archive of that version.
	FieldSince = "mirrord-since"

	FieldEntry = "mirrord-url"
)
