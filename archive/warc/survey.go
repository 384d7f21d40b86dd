// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"errors"
	"io"
)

// Surveyed is what a file was found to hold.
type Surveyed struct {
	Records   int
	Responses int
	Revisits  int
	Bytes     int64 // of the blocks
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
		t.add(rec)
		if !rec.Indexed() {
			continue
		}
		e.Place = Extent{rec.Offset, end - rec.Offset}
		if err := each(e); err != nil {
			return t, err
		}
	}
}

func (t *Surveyed) add(rec *Record) {
	t.Records++
	t.Bytes += rec.Length
	switch rec.Type() {
	case Response:
		t.Responses++
	case Revisit:
		t.Revisits++
	}
}
