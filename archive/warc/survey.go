// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"errors"
	"io"

	"mirrord/internal/inorder"
)

// Surveyed is what a file was found to hold.
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
func Survey(file io.Reader, each func(Entry) error, wrong func(error)) (Surveyed, error) {
	r, err := NewReader(file)
	if err != nil {
		return Surveyed{}, err
	}
	return r.survey(0, each, wrong)
}

// survey is Survey of a part of a file that begins at an offset. It closes the reader.
func (r *Reader) survey(from int64, each func(Entry) error, wrong func(error)) (t Surveyed, err error) {
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
		e.Place = Extent{from + rec.Offset, end - rec.Offset}
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

// Add adds what another file, or part of one, holds.
func (t *Surveyed) Add(u Surveyed) {
	t.Records += u.Records
	t.Responses += u.Responses
	t.Revisits += u.Revisits
	t.Bytes += u.Bytes
	t.Odd += u.Odd
}

// surveyPart is about how many bytes of a file one worker reads.
const surveyPart = 16 << 20

// errParts says that a file is to be read in order.
var errParts = errors.New("a part of it is not as it should be")

// SurveyParts is Survey by a crew, each of whom reads a part of the file; each gets the lines of a part when
// that is read. It is for a file in which all is well: sound is false when anything is wrong, or a part does
// not end where the next one seems to begin. Then Survey says what it is.
func SurveyParts(
	file io.ReaderAt, size int64, crew inorder.Crew, each func(Entry) error,
) (t Surveyed, sound bool) {
	p, err := CompressionOf(io.NewSectionReader(file, 0, size))
	if err != nil {
		return t, false
	}
	type part struct {
		Surveyed
		lines []Entry
	}
	parts := inorder.New(crew, longestPart, func(x part, err error) error {
		t.Add(x.Surveyed)
		for i := 0; i < len(x.lines) && err == nil; i++ {
			err = each(x.lines[i])
		}
		return err
	})
	defer parts.Close()
	for from := int64(0); from < size && err == nil; {
		to := p.Resync(file, size, from+surveyPart)
		if to < 0 {
			to = size
		}
		at := from
		err = parts.Add(to-from, func(int) (x part, err error) {
			r, err := p.NewReader(io.NewSectionReader(file, at, to-at))
			if err != nil {
				return x, err
			}
			bad := error(nil)
			x.Surveyed, err = r.survey(at, func(e Entry) error {
				x.lines = append(x.lines, e)
				return nil
			}, func(error) { bad = errParts })
			return x, errors.Join(err, bad)
		})
		from = to
	}
	if err == nil {
		err = parts.Flush()
	}
	return t, err == nil
}

// longestPart is how many bytes of a file are on their way.
const longestPart = 1 << 30
