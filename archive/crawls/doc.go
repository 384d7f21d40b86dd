// SPDX-License-Identifier: Apache-2.0

// Package crawls reads web archives as what they are made of: crawls of a site, one after the other.
//
// [Read] goes through all records of WARC and WACZ files once, checks them, and notes what each URL answered,
// when, and where the record lies. Then [Recordings.Answer] gives what a URL answered in a crawl: the last
// answer of that crawl, else the last one before it. A revisit is resolved to the record that has its body.
//
// Records belong to a crawl by the warcinfo record that they name or follow. Files of one crawler overlap in
// time, or continue where the one before ended; they are the same crawl unless they hold again what it has.
// A pause of twelve hours begins another crawl. Archives that mirrord wrote name their versions, see
// [warc.FieldVersion].
//
// Records other than responses to GET requests of http and https URLs are counted and left out.
package crawls

import (
	"errors"
	"fmt"
	"io"
	"time"

	"mirrord/internal/lines"
)

// RecordFile is one file. R is read at several places, by several goroutines once the archive is read.
type RecordFile struct {
	Name string // for messages
	R    io.ReaderAt
	Size int64

	Modified time.Time // when the file was last changed, for records without a date
}

// Options say how files are read.
type Options struct {
	Lenient bool                          // leave out damaged records
	Scratch func() (lines.Scratch, error) // makes a store for files packed as a whole; the caller closes it
	Wrong   func(err error)               // receives the reasons for records left out; may be nil
	Read    func(bytes int64)             // receives how much was read of all inputs, now and then; nil likewise
	Stopped func() error                  // is called now and then; an error ends the reading

	// Indexed says that of a WACZ only the index is read: each record when Answer opens it, which then returns
	// an error when the record is damaged, or the index does not tell the truth. What a revisit refers to is
	// known by its digest only.
	Indexed bool
}

// FileError says in which file something is wrong.
type FileError struct {
	Name string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// Of the messages.
var (
	errNoBase = errors.New("the delta builds on a version that is in none of the files; give its archive, too")
	errBomb   = errors.New("it unpacks to too many bytes")

	// ErrEmpty says that files hold no answer of a web server.
	ErrEmpty = errors.New("there is no answer of a web server in it")
)

// Counted is what an archive was found to hold.
type Counted struct {
	Records int `json:"records"`
	Answers int `json:"answers"`           // responses, and revisits of them
	Revisit int `json:"revisits"`          //
	Other   int `json:"other,omitempty"`   // answers to other requests than GET, parts of bodies, other schemes
	Damaged int `json:"damaged,omitempty"` // that were left out

	Elsewhere int `json:"elsewhere,omitempty"` // revisits of bodies that are in none of the files
	Undated   int `json:"undated,omitempty"`   // answers without a date that can be read
}

// Crawl is one crawl of an archive.
type Crawl struct {
	First, Last time.Time // of its answers
	Answers     int
	Version     int // that mirrord gave it; 0 for others
}
