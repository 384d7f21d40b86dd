// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mirrord/archive/warc"
	"mirrord/site"
)

// info is a warcinfo record.
type info struct {
	versions []version // of an archive of mirrord, by date
	since    version   // that they build on, of a delta; zero for none
	date     time.Time // of the record
	file     int32     // number of its file
	record   int
	at       int64
}

// version is one that an archive of mirrord holds.
type version struct {
	number int
	date   int64 // at which it was complete
}

// warcinfo takes in a warcinfo record, which is in force from here on.
func (r *reading) warcinfo(rec *warc.Record) error {
	block, err := io.ReadAll(io.LimitReader(rec, maxInfo))
	if err != nil {
		return err
	}
	in := info{
		date:   rec.Date(),
		file:   int32(len(r.files) - 1),
		record: r.before + rec.Number,
		at:     r.from + rec.Offset,
	}
	for line := range strings.Lines(string(block)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case warc.FieldVersion:
			if v, ok := readVersion(value); ok {
				in.versions = append(in.versions, v)
			}
		case warc.FieldSince:
			in.since, _ = readVersion(value)
		case warc.FieldEntry:
			if u, _, err := site.Parse(value); err == nil {
				r.listed = append(r.listed, u)
			}
		default:
			r.seeds = append(r.seeds, seedsIn(name, value)...)
		}
	}
	r.info = int32(len(r.Recordings.infos))
	r.Recordings.infos = append(r.Recordings.infos, in)
	if id := idOf(rec.Header.Get("WARC-Record-ID")); id != 0 {
		r.infos[id] = r.info
	}
	return nil
}

// seedsIn returns the URLs that a crawler was given, as a field of a warcinfo has them: its arguments, or a
// list of seeds. Other addresses of such a field, as that of a proxy, are in no archive.
func seedsIn(name, value string) (urls []site.URL) {
	name = strings.ToLower(name)
	if !strings.Contains(name, "arg") && !strings.Contains(name, "seed") {
		return nil
	}
	for _, word := range strings.FieldsFunc(value,
		func(c rune) bool { return strings.ContainsRune(" \t\"',[]", c) }) {
		if u, _, err := site.Parse(word); err == nil && strings.HasPrefix(word, "http") {
			urls = append(urls, u)
		}
	}
	return urls
}

// readVersion reads a number and a date.
func readVersion(value string) (v version, ok bool) {
	number, date, _ := strings.Cut(value, " ")
	n, err := strconv.Atoi(number)
	v = version{n, dateOf(strings.TrimSpace(date))}
	return v, (err == nil) && v.date != 0
}

// bases returns an error for a delta that builds on a version of which no file is an archive.
func (a *Recordings) bases(r *reading) error {
	held := map[int64]bool{}
	for _, in := range a.infos {
		for _, v := range in.versions {
			held[v.date] = true
		}
	}
	for i := range a.infos {
		in := &a.infos[i]
		if in.since.date == 0 || held[in.since.date] {
			continue
		}
		err := &FileError{a.files[in.file].name, &warc.RecordError{
			Record: in.record,
			Offset: in.at,
			Err: fmt.Errorf("%w: version %d of %s", errNoBase, in.since.number,
				time.Unix(in.since.date, 0).UTC().Format(time.DateTime)),
		}}
		if !r.Lenient {
			return err
		}
		r.wrong(err)
	}
	return nil
}

// infoOf returns the warcinfo that a record belongs to; -1 for none.
func (r *reading) infoOf(rec *warc.Record) int32 {
	if id := idOf(rec.Header.Get("WARC-Warcinfo-ID")); id != 0 {
		if i, ok := r.infos[id]; ok {
			return i
		}
	}
	return r.info
}

// dateOf reads a date, in Unix seconds; 0 for none.
func dateOf(s string) int64 {
	t := warc.ParseDate(s)
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
