// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"crypto/sha256"
	"fmt"
	"io"

	"mirrord/archive/warc"
)

// change says how what a URL shows in a crawl compares with what it showed before.
type change uint8

const (
	unknown change = iota // the answers must be read
	same
	other
)

// changeSearch finds changes.
type changeSearch struct{ *Recordings }

// compare adds the changes of the picks of a URL, as far as status and digest tell.
func (a changeSearch) compare(picks []int32) {
	for n, i := range picks {
		body, before, showed := a.captures[i].body, int32(-1), false
		if n > 0 {
			before = a.captures[picks[n-1]].body
			showed = a.captures[before].shows()
		}
		shows, what := a.captures[body].shows(), unknown
		switch {
		case shows != showed:
			what = other
		case !shows, body == before:
			what = same
		case a.captures[body].status != a.captures[before].status:
			what = other
		case a.captures[body].status >= 300 || a.marks[body].payload == 0 || a.marks[before].payload == 0:
		case a.marks[body].payload == a.marks[before].payload:
			what = same
		}
		a.changes = append(a.changes, what)
	}
}

// shows reports whether an answer is a page, a file or a redirect.
func (c *capture) shows() bool { return c.status >= 200 && c.status < 400 }

// Changed says of each crawl whether some URL shows something else in it than before: the first one does, and
// all versions of an archive of mirrord. Answers are read where records have no digests. stopped is called
// now and then; an error ends the work.
func (a *Recordings) Changed(stopped func() error) (changed []bool, err error) {
	changed = make([]bool, len(a.Crawls))
	changed[0] = true
	if a.windows != nil {
		for k := range changed {
			changed[k] = true
		}
		return changed, nil
	}
	for n, i := range a.picks {
		k := a.captures[i].crawl
		changed[k] = changed[k] || a.changes[n] == other
	}
	s := changeSearch{a}
	for url := range a.Len() {
		read, last := -1, [32]byte{} // the place in picks that was read last
		for n := int(a.pickStarts[url]); n < int(a.pickStarts[url+1]); n++ {
			k := a.captures[a.picks[n]].crawl
			if changed[k] || a.changes[n] != unknown {
				continue
			}
			if err := stopped(); err != nil {
				return nil, err
			}
			if read != n-1 {
				last = s.sumOf(a.picks[n-1])
			}
			now := s.sumOf(a.picks[n])
			changed[k] = now != last
			read, last = n, now
		}
	}
	return changed, nil
}

// sumOf is a digest of what an answer shows. Of one that cannot be read it is like no other.
func (a changeSearch) sumOf(i int32) (sum [32]byte) {
	x := new(Recording)
	defer x.Close()
	h := sha256.New()
	err := x.read(a.Recordings, &a.captures[i])
	if err == nil {
		m := warc.ParseMessage(x.Head)
		fmt.Fprintf(h, "%d %s\n", m.Status(), m.Header.Get("Location"))
		_, err = io.Copy(h, x.Body)
	}
	if err != nil {
		fmt.Fprintf(h, "%d %v", i, err)
	}
	h.Sum(sum[:0])
	return sum
}
