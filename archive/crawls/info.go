// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"io"
	"strconv"
	"strings"
	"time"

	"mirrord/site"
	"mirrord/warc"
)

// info is a warcinfo record.
type info struct {
	versions []version // of an archive of mirrord, by date
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
	var in info
	for line := range strings.Lines(string(block)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case warc.FieldVersion:
			number, date, _ := strings.Cut(value, " ")
			n, err := strconv.Atoi(number)
			if d := dateOf(strings.TrimSpace(date)); err == nil && d != 0 {
				in.versions = append(in.versions, version{n, d})
			}
		case warc.FieldEntry:
			if u, _, err := site.Parse(value); err == nil {
				r.a.listed = append(r.a.listed, u)
			}
		}
	}
	r.info = int32(len(r.a.infos))
	r.a.infos = append(r.a.infos, in)
	if id := idOf(rec.Header.Get("WARC-Record-ID")); id != 0 {
		r.infos[id] = r.info
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

// readFields reads the fields of records that are ours.
func (c *capture) readFields(h warc.Header) {
	head := h.Get(warc.FieldHead)
	c.made, c.lengthAdded = head == warc.HeadMade, head == warc.HeadLength
	if at := dateOf(h.Get(warc.FieldKept)); at != 0 {
		c.asked = at
	}
}

// dateOf reads a date, in Unix seconds; 0 for none.
func dateOf(s string) int64 {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0
	}
	return t.Unix()
}
