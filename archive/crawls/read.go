// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"mirrord/archive/wacz"
	"mirrord/archive/warc"
	"mirrord/site"
)

// reading is an archive while it is read.
type reading struct {
	*Recordings
	Options
	posts map[uint64]bool  // ids of records that answer no GET
	kinds map[string]int   // how many records there are of each, of a file without answers
	refs  []reference      // of revisits
	info  int32            // of the warcinfo that is in force; -1 before one
	infos map[uint64]int32 // by their ids
	done  int64            // bytes of the inputs before this one

	from   int64 // where in its file the pass began
	before int   // records of its file before that
}

// reference is what a revisit gives about the record that has its body.
type reference struct {
	capture     int32
	url         uint32 // of its target; noURL when that is unknown
	date        int64
	id, payload uint64
}

// Read reads files as one archive, in their order. The archive reads them until its user closes them.
func Read(inputs []RecordFile, o Options) (*Recordings, error) {
	r := &reading{
		Recordings: &Recordings{},
		Options:    o,
		posts:      map[uint64]bool{},
		kinds:      map[string]int{},
		infos:      map[uint64]int32{},
	}
	for _, in := range inputs {
		if err := r.input(in); err != nil {
			return nil, err
		}
		r.done += in.Size
	}
	if err := r.settle(r); err != nil {
		return nil, err
	}
	return r.Recordings, nil
}

// input reads a file in any form.
func (r *reading) input(in RecordFile) error {
	head := make([]byte, 4)
	n, err := in.R.ReadAt(head[:min(in.Size, 4)], 0)
	if err != nil && err != io.EOF {
		return &FileError{in.Name, err}
	}
	if !strings.HasPrefix(string(head[:n]), "PK") {
		return r.records(in, nil)
	}
	c, err := wacz.Open(stoppable{in.R, r}, in.Size)
	if err != nil {
		return &FileError{in.Name, err}
	}
	return r.collection(in, c)
}

// collection reads a WACZ. Its index is only compared with the records.
func (r *reading) collection(in RecordFile, c *wacz.Reader) error {
	if r.Indexed {
		ok, err := r.byIndex(in, c)
		if err != nil {
			return &FileError{in.Name, err}
		}
		if ok {
			return r.pages(in, c)
		}
	}
	var found wacz.Pointers
	told := map[string]bool{} // files of which damaged records were left out
	for _, f := range c.Records() {
		data, err := r.member(in, f)
		if err != nil {
			return &FileError{in.Name + ": " + f.Name, err}
		}
		before := r.Counted.Damaged
		if err := r.records(data, found.Of(f.Name)); err != nil {
			return err
		}
		told[f.Name] = r.Counted.Damaged > before
	}
	if err := r.compare(in, c, told); err != nil {
		return err
	}
	if err := c.Leads(found); err != nil {
		err = &FileError{in.Name, fmt.Errorf("%w; the records themselves are good", err)}
		if !r.Lenient {
			return err
		}
		r.wrong(err)
	}
	return r.pages(in, c)
}

// stoppable is a file of which no more is read once the reading is to end.
type stoppable struct {
	io.ReaderAt
	r *reading
}

func (s stoppable) ReadAt(p []byte, off int64) (int, error) {
	if s.r.Stopped != nil {
		if err := s.r.Stopped(); err != nil {
			return 0, err
		}
	}
	return s.ReaderAt.ReadAt(p, off)
}

// compare compares a WACZ with its description. It comes after the records, of which it cannot say where they
// are damaged.
func (r *reading) compare(in RecordFile, c *wacz.Reader, told map[string]bool) error {
	var first error
	c.Compare(leastBomb+bombRatio*in.Size, func(name string, bad error) {
		bad = &FileError{in.Name + ": " + name, bad}
		switch {
		case told[name], r.pause(in.Size) != nil:
		case r.Lenient:
			r.wrong(bad)
		case first == nil:
			first = bad
		}
	})
	return cmp.Or(r.pause(in.Size), first)
}

// pages reads which pages a WACZ begins with.
func (r *reading) pages(in RecordFile, c *wacz.Reader) error {
	pages, err := c.Pages()
	if err != nil && !r.Lenient {
		return &FileError{in.Name, err}
	}
	if u, _, err := site.Parse(c.About.MainURL); err == nil {
		r.listed = append(r.listed, u)
	}
	for _, p := range pages {
		if u, _, err := site.Parse(p.URL); err == nil {
			r.seeds = append(r.seeds, u)
		}
	}
	return nil
}

// wrong reports a record that is left out.
func (r *reading) wrong(err error) {
	r.Counted.Damaged++
	if r.Wrong != nil {
		r.Wrong(err)
	}
}

// records reads a file of records. each gets the index line of every record, with its place; it may be nil.
func (r *reading) records(in RecordFile, each func(warc.Entry)) error {
	from := int64(0)
	file, err := r.open(in)
	if err != nil {
		return &FileError{in.Name, err}
	}
	for damaged := 0; from < in.Size; damaged++ {
		err := r.pass(file, from, each)
		if err == nil {
			return nil
		}
		if many, ok := errors.AsType[*manyInOne](err); ok {
			if from, err = r.unpack(file, many.at); err != nil {
				return err
			}
			continue
		}
		bad, isRecord := errors.AsType[*warc.RecordError](err)
		if isRecord {
			bad.Offset += from
			bad.Record += file.before
		}
		if !isRecord || !r.Lenient || damaged > mostDamaged {
			return &FileError{in.Name, err}
		}
		r.wrong(&FileError{in.Name, err})
		file.before = bad.Record
		if from = file.packed.Resync(file.r, file.size, bad.Offset+1); from < 0 {
			return nil
		}
	}
	return nil
}

// mostDamaged is after how many damaged places a file is not worth reading.
const mostDamaged = 10_000

// manyInOne says that a compressed member holds several records, so that those cannot be read from where they
// lie.
type manyInOne struct{ at int64 }

func (e *manyInOne) Error() string { return "several records in one compressed member" }

// unpack reads the records of a member that holds several, from a file to which it is unpacked, and returns
// the offset behind it.
func (r *reading) unpack(f *file, at int64) (end int64, err error) {
	r.Counted.Records-- // the first one of the member was read
	for n := len(r.captures); n > 0 && r.captures[n-1].file == f.number && r.captures[n-1].at >= at; n-- {
		r.drop(n - 1)
	}
	if r.Scratch == nil {
		return 0, &FileError{f.name, &manyInOne{at}}
	}
	to, err := r.Scratch()
	if err != nil {
		return 0, err
	}
	end, size, err := f.unpack(at, to)
	if err != nil && !(r.Lenient && size > 0) {
		err = fmt.Errorf("the compressed data are good up to byte %d: %w", end, err)
		return 0, &FileError{f.name, &warc.RecordError{Record: f.before + 1, Offset: at, Err: err}}
	}
	return end, r.records(RecordFile{
		Name:     f.name + ", unpacked",
		R:        to,
		Size:     size,
		Modified: f.modified,
	}, nil)
}

// drop takes the last capture back.
func (r *reading) drop(n int) {
	if r.captures[n].kind == revisit {
		r.refs = r.refs[:len(r.refs)-1]
		r.Counted.Revisit--
	}
	r.captures, r.marks = r.captures[:n], r.marks[:n]
	r.Counted.Answers--
}

// pass reads records from an offset on. An error of one record alone ends it only when nothing may be left
// out.
func (r *reading) pass(f *file, from int64, each func(warc.Entry)) error {
	in, err := f.reader(from, f.size)
	if err != nil {
		return err
	}
	defer in.Close()
	if r.from, r.before = from, f.before; from == 0 {
		r.info = -1
	}
	for n := 0; ; n++ {
		rec, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil && n%256 == 0 {
			err = r.pause(from + rec.Offset)
		}
		if err == nil && rec.Shared {
			err = &manyInOne{from + rec.Offset}
		}
		if err == nil && rec.Length > leastBomb+bombRatio*f.size {
			err = &warc.RecordError{Record: rec.Number, Offset: rec.Offset, Err: errBomb}
		}
		if err != nil {
			return err
		}
		if err := r.record(f, in, rec, from, each); err != nil {
			return err
		}
	}
}

func (r *reading) pause(at int64) error {
	if r.Read != nil {
		r.Read(r.done + at)
	}
	if r.Stopped != nil {
		return r.Stopped()
	}
	return nil
}

// record takes one record in.
func (r *reading) record(
	f *file, in *warc.Reader, rec *warc.Record, from int64, each func(warc.Entry),
) error {
	var c capture
	var entry warc.Entry
	var err error
	wanted := false
	if each != nil && rec.Indexed() {
		entry, err = rec.Entry()
	}
	if err == nil {
		c, wanted, err = r.capture(f, rec)
	}
	if err == nil && rec.Type() != warc.Info { // which was read
		err = rec.Verify()
	}
	if err != nil && !(errors.Is(err, warc.ErrDigest) && r.Lenient) {
		return err
	}
	end, eerr := in.End()
	if eerr != nil {
		return eerr
	}
	r.Counted.Records++
	r.kinds[rec.Type()]++
	if err != nil {
		r.wrong(&FileError{f.name, err})
		return nil
	}
	if each != nil && rec.Indexed() {
		entry.Place = warc.Extent{Offset: from + rec.Offset, Length: end - rec.Offset}
		each(entry)
	}
	if wanted {
		c.file, c.at, c.end = f.number, from+rec.Offset, from+end
		r.add(rec, c)
	}
	return nil
}

// add takes in a capture whose place is known.
func (r *reading) add(rec *warc.Record, c capture) {
	m := recordMarks{
		id:      idOf(rec.Header.Get("WARC-Record-ID")),
		pair:    idOf(rec.Header.Get("WARC-Concurrent-To")),
		payload: payloadOf(rec),
	}
	c.asked = c.date
	if at := dateOf(rec.Header.Get(warc.FieldKept)); at != 0 {
		c.asked = at
	}
	ref := reference{
		url:     noURL,
		id:      idOf(rec.Header.Get("WARC-Refers-To")),
		date:    dateOf(rec.Header.Get("WARC-Refers-To-Date")),
		payload: m.payload,
	}
	if c.kind == revisit && c.status == statusNotModified && rec.Type() != warc.Revisit {
		m.payload, ref.payload = 0, 0 // that of nothing
	} else if c.kind == revisit {
		t, _, err := site.Parse(rec.Header.Get("WARC-Refers-To-Target-URI"))
		if err == nil && len(t.String()) <= maxURL {
			ref.url = r.names.add(t)
		}
	}
	r.take(rec.URL(), c, m, ref)
}

// take takes in a capture of a URL. ref is for revisits.
func (r *reading) take(url string, c capture, m recordMarks, ref reference) {
	u, _, err := site.Parse(url)
	partial := (c.status == statusPartialContent) || (c.kind != revisit && c.status < 200)
	if err != nil || partial || len(u.String()) > maxURL {
		r.Counted.Other++
		return
	}
	c.url = r.names.add(u)
	if c.kind == revisit {
		ref.capture = int32(len(r.captures))
		r.refs = append(r.refs, ref)
		r.Counted.Revisit++
	}
	r.captures, r.marks = append(r.captures, c), append(r.marks, m)
	r.Counted.Answers++
}

// maxURL is how long a URL may be, as in package store.
const maxURL = 32<<10 - 64
