// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"io"
	"time"

	"mirrord/archive/projects"
	"mirrord/archive/warc"
	"mirrord/internal/inorder"
	"mirrord/phm"
)

// Forms of other programs that hold answers, and are read as crawls.

// ARC is what crawlers wrote before WARC.
func (forms) ARC() Form {
	convert := func(r io.Reader, o Converting) (projects.Taken, error) {
		return projects.ARC(r, o.Lenient, o.To)
	}
	return Form{
		Name:    "arc",
		Doc:     "a web archive of an old crawler (arc)",
		Claims:  begins("filedesc://", "\x1f\x8b"),
		Holds:   projects.IsARC,
		Convert: convert,
		Verify:  verifyBy(convert),
		place:   8,
	}
}

// MHTML is a page that a browser saved with what it shows.
func (forms) MHTML() Form {
	convert := func(r io.Reader, o Converting) (projects.Taken, error) {
		return projects.MHTML(r, o.Modified, o.Lenient, o.To)
	}
	return Form{
		Name:    "mhtml",
		Short:   "mht",
		Doc:     "a page that a browser saved (mhtml)",
		Claims:  func(head []byte) bool { return bytes.IndexByte(head, ':') > 0 },
		Holds:   projects.IsMHTML,
		Convert: convert,
		Verify:  verifyBy(convert),
		place:   9,
	}
}

// HAR is what a browser saw of the network.
func (forms) HAR() Form {
	convert := func(r io.Reader, o Converting) (projects.Taken, error) {
		return projects.HAR(r, o.Modified, o.To)
	}
	return Form{
		Name:    "har",
		Doc:     "what a browser saw of the network (har)",
		Claims:  projects.LikeHAR,
		Convert: convert,
		Verify:  verifyBy(convert),
		place:   10,
	}
}

// Converting says how answers become records.
type Converting struct {
	Lenient  bool      // skip damaged records
	Modified time.Time // of the file, for answers without a date
	To       *warc.Writer
}

// verifyBy makes a Verify of what converts a file.
func verifyBy(
	convert func(io.Reader, Converting) (projects.Taken, error),
) func(r io.ReaderAt, size int64, _ inorder.Crew) (*phm.Report, error) {
	return func(r io.ReaderAt, size int64, _ inorder.Crew) (*phm.Report, error) {
		t, err := convert(io.NewSectionReader(r, 0, size), Converting{To: warc.NewWriter(io.Discard)})
		out := &phm.Report{Files: t.Answers, Bytes: size}
		if err != nil {
			out.Problems = append(out.Problems, problemOf("", err))
		}
		return out, nil
	}
}

// Forms that are no input, and what to do with them.
var (
	errLZ4 = errors.New("it is compressed with LZ4, which is not read: unpack it first with lz4 -d")

	errSingleFile = errors.New(
		"it is one page that SingleFile saved, with all it shows inside: any browser opens " +
			"it; to mirror the site, give its address to mirrord get")
)

// notRead returns what to do with a file that begins with head, if it is of a form that is known and not
// read.
func notRead(head []byte) error {
	switch {
	case bytes.HasPrefix(head, []byte("\x04\x22\x4d\x18")):
		return errLZ4
	case bytes.Contains(head, []byte("Page saved with SingleFile")):
		return errSingleFile
	}
	return nil
}
