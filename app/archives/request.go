// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"io"

	"mirrord/app/env"
	"mirrord/archive"
	"mirrord/phm"
	"mirrord/store"
)

// ExportRequest asks for the mirror of a job in one of the portable forms.
type ExportRequest struct {
	Job     string
	Out     string    // file or directory; "-" is Stream; "" is a name made of the job and the options
	Stream  io.Writer // receives an export to "-"
	Format  string    // the name of one of archive.Exports(); "" is what the name of Out says, else archive.PHM
	Version int       // 0 is the published one
	Flatten bool      // all files in one folder
	Mask    []string  // types that are left out: images, movies, sounds, MIME types
	Since   string    // only what this does not have: the number of a version, or an archive; "" is all

	Single string // only the page at this URL, with all it shows, as one HTML file

	// With are programs of the user that change a copy of the tree, each with its arguments, split at blanks.
	// A program is not to be taken from a request that came over a network.
	With []string

	Sign string // file of a private key that signs a WACZ; "" for none

	AllVersions bool // what came in all kept versions; of forms of trees: beside the version
	Cookies     bool // of forms of captures: fields that set cookies stay
}

// exporting is one export.
type exporting struct {
	ExportRequest
	app  *env.App
	st   *store.State
	name string
	form archive.Form
	how  phm.Derivation

	redirects []archive.Redirect // of the version, for forms that hold them
}

// Exported is what Export wrote.
type Exported struct {
	Job     string `json:"job"`
	Version int    `json:"version"`
	Format  string `json:"format"`
	Path    string `json:"path"`
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`

	Derived     string   `json:"derived,omitempty"`
	Masked      []string `json:"masked,omitempty"`
	MaskedFiles int      `json:"masked_files,omitempty"`
	MaskedBytes int64    `json:"masked_bytes,omitempty"`
	Lacks       []string `json:"lacks,omitempty"` // URLs that were lost on the disk and dropped from the version

	Versions int `json:"versions,omitempty"`   // of an archive of captures: how many it is of
	Revisits int `json:"revisits,omitempty"`   // records of bodies that came again
	Made     int `json:"made_heads,omitempty"` // records whose head is not that of the answer

	Delta *ExportedDelta `json:"delta,omitempty"` // it is only the difference to an older one

	Packed int64 `json:"-"` // bytes of the file; 0 of a directory
}

// ExportedDelta is what an export has that is only the difference to an older one.
type ExportedDelta struct {
	Base    int   `json:"base"`    // version of the archive that it builds on
	Carried int   `json:"carried"` // files whose bytes are in it
	Lines   int   `json:"lines"`   // lines of the file table that are in it
	Removed int   `json:"removed"` // files that go
	Whole   int64 `json:"whole"`   // bytes of the archive that comes of it
}
