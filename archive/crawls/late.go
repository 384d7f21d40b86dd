// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"cmp"
	"errors"
	"slices"

	"mirrord/archive/warc"
)

// lateChecks are the records whose bodies are checked when they are opened, see [Options.Late].
type lateChecks struct {
	shared  Checks       // nil: all were checked when they were read
	records []lateRecord // by file and offset
}

// lateRecord is where such a record lies.
type lateRecord struct {
	at, end int64
	number  int32 // in its file
	file    int32
}

func (l *lateChecks) add(file int32, number int, at, end int64) {
	l.records = append(l.records, lateRecord{
		at:     at,
		end:    end,
		number: int32(number),
		file:   file,
	})
}

func compareLate(x, y lateRecord) int {
	return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.at, y.at))
}

// opened is a record that is read.
type opened struct {
	from   *warc.Reader
	memory *warc.Memory
	shared Checks
}

func (o opened) close() {
	if o.from != nil {
		o.from.Close()
	}
	if o.memory != nil {
		o.shared.Give(o.memory)
	}
}

// open opens a record, and checks it when that was not done before.
func (l *lateChecks) open(f *file, at, end int64) (*warc.Record, opened, error) {
	o := opened{shared: l.shared}
	check := false
	i, late := slices.BinarySearchFunc(l.records, lateRecord{at: at, file: f.number}, compareLate)
	if l.shared != nil {
		o.memory = l.shared.Take()
		check = late && !l.shared.Checked(i)
	}
	rec, r, err := f.packed.OpenRecord(o.memory, f.r, at, end, check)
	o.from = r
	if err != nil {
		o.close()
	}
	if err != nil && late {
		inner := err
		if e, ok := errors.AsType[*warc.RecordError](err); ok {
			inner = e.Err
		}
		err = &warc.RecordError{Record: int(l.records[i].number), Offset: at, Err: inner}
	}
	if check {
		wrong := error(nil)
		if err != nil {
			wrong = &FileError{f.name, err}
		}
		l.shared.Note(i, wrong)
	}
	return rec, o, err
}

// CheckRest checks the records that no [Recordings.Answer] opened, and returns the first error. stopped is
// called now and then; an error ends the work.
func (a *Recordings) CheckRest(stopped func() error) error {
	for i, rec := range a.late.records {
		if a.late.shared.Checked(i) {
			continue
		}
		if err := stopped(); err != nil {
			return err
		}
		f := a.files[rec.file]
		_, o, err := a.late.open(f, rec.at, rec.end)
		if err != nil {
			return &FileError{f.name, err}
		}
		o.close()
	}
	return nil
}
