// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"mirrord/archive/wacz"
	"mirrord/archive/warc"
	"mirrord/site"
)

// leastMember is how few bytes a record takes in a file, and so how many lines an index can have.
const leastMember = 18

var (
	errLies    = errors.New("the index does not lead to a record of this URL")
	errOutside = errors.New("a line of the index leads out of the file of records")
	errMany    = errors.New("the index has more lines than the files can have records")
)

// byIndex reads the index of a WACZ, and of its records only the first one of each file, which says which
// versions the file holds. ok is false when there is no index, or the records are compressed as a whole: then
// they have to be read.
func (r *reading) byIndex(in RecordFile, c *wacz.Reader) (ok bool, err error) {
	for _, m := range c.Records() {
		if m.Method != zip.Store {
			return false, nil
		}
	}
	if !c.HasIndex() {
		return false, nil
	}
	type member struct {
		*file
		info int32
	}
	files := map[string]member{}
	room := int64(0)
	for _, m := range c.Records() {
		data, err := r.member(in, m)
		if err != nil {
			return false, err
		}
		f, err := r.open(data)
		if err != nil {
			return false, err
		}
		f.indexed = true
		r.info, r.from, r.before = -1, 0, 0
		if err := r.firstInfo(f); err != nil {
			return false, err
		}
		files[path.Base(m.Name)] = member{f, r.info}
		room += data.Size / leastMember
	}
	lines := int64(0)
	return true, c.Index(func(e warc.Entry) error {
		lines++
		f, ok := files[path.Base(e.File)]
		switch end := e.Place.Offset + e.Place.Length; {
		case lines > room:
			return errMany
		case !ok:
			return fmt.Errorf("%w: %.200q", errOutside, e.File)
		case e.Place.Length <= 0, end > f.size, end < 0:
			return fmt.Errorf("%w: %d bytes at offset %d of %s", errOutside, e.Place.Length, e.Place.Offset, e.File)
		}
		r.line(&e, f.number, f.info)
		if lines%1024 == 0 {
			return r.pause(0)
		}
		return nil
	})
}

// firstInfo reads the record with which a file begins when it says what the file is.
func (r *reading) firstInfo(f *file) error {
	in, err := f.reader(0, f.size)
	if err != nil {
		return err
	}
	defer in.Close()
	rec, err := in.Next()
	if err == io.EOF {
		return nil
	}
	if err == nil && rec.Type() == warc.Info {
		err = r.warcinfo(rec)
	}
	return err
}

// line takes in what a line of an index gives about a record.
func (r *reading) line(e *warc.Entry, file, info int32) {
	r.Counted.Records++
	if !strings.HasPrefix(e.URL, "http:") && !strings.HasPrefix(e.URL, "https:") {
		return
	}
	date := warc.ParseDate(e.Time[:min(len(e.Time), len(warc.StampForm))])
	if date.IsZero() || strings.Contains(e.Key, "__wb_method=") { // an answer to a POST, by pywb
		r.Counted.Other++
		return
	}
	c := capture{
		date:   date.Unix(),
		asked:  date.Unix(),
		status: statusOK,
		info:   info,
		file:   file,
		at:     e.Place.Offset,
		end:    e.Place.Offset + e.Place.Length,
		size:   e.Place.Length,
	}
	payload := idOf(strings.ToLower(e.Digest))
	if n, err := strconv.Atoi(e.Status); err == nil {
		c.status = int16(min(max(n, 0), 999))
	}
	c.html = strings.Contains(e.MIME, "html")
	if e.MIME == "warc/revisit" {
		c.kind = revisit
	} else if c.status == statusNotModified {
		c.kind, payload = revisit, 0
	}
	r.take(e.URL, c, recordMarks{payload: payload}, reference{url: noURL, payload: payload})
}

// leads returns an error unless a record is the one that a line of an index says it is.
func leads(a *Recordings, rec *warc.Record, c *capture) error {
	kind := rec.Type()
	known := kind == warc.Response || kind == warc.Revisit || kind == warc.Verbatim
	date := rec.Date()
	sameTime := date.IsZero() || date.Unix() == c.date
	u := a.names.of(c.url)
	if of, _, err := site.Parse(rec.URL()); known && err == nil && of == u && sameTime {
		return nil
	}
	return &warc.RecordError{Offset: c.at, Err: fmt.Errorf("%w: %s", errLies, u)}
}
