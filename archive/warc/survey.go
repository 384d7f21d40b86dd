// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"errors"
	"io"
)

// Surveyed is what a file was found to hold, or several together.
type Surveyed struct {
	Records   int
	Responses int
	Revisits  int
	Bytes     int64 // of the blocks
	Odd       int   // records that do not end with two empty lines
}

// Survey reads a whole file and checks each record. each gets the index line of every record that has one,
// with its place; wrong gets the error of one record when the others can still be read. The error is
// what ends the reading, if it is not the end of the file.
func Survey(file io.Reader, each func(Entry) error, wrong func(error)) (t Surveyed, err error) {
	r, err := NewReader(file)
	if err != nil {
		return t, err
	}
	defer r.Close()
	defer func() { t.Odd = r.src.odd }()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		e, err := rec.Entry()
		if err != nil {
			wrong(err)
		} else if err := rec.Verify(); err != nil {
			if !errors.Is(err, ErrDigest) {
				return t, err
			}
			wrong(err)
		}
		end, err := r.End()
		if err != nil {
			return t, err
		}
		t.count(rec)
		if !rec.Indexed() {
			continue
		}
		e.Place = Extent{rec.Offset, end - rec.Offset}
		if err := each(e); err != nil {
			return t, err
		}
	}
}

func (t *Surveyed) count(rec *Record) {
	t.Records++
	t.Bytes += rec.Length
	switch rec.Type() {
	case Response:
		t.Responses++
	case Revisit:
		t.Revisits++
	}
}

// Add adds what another file holds.
func (t *Surveyed) Add(u Surveyed) {
	t.Records += u.Records
	t.Responses += u.Responses
	t.Revisits += u.Revisits
	t.Bytes += u.Bytes
	t.Odd += u.Odd
}
