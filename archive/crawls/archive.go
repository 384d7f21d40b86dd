// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"mirrord/archive/warc"
	"mirrord/internal/count"
	"mirrord/site"
)

// Recordings are the crawls and responses found in files. They are immutable, and safe for concurrent use.
type Recordings struct {
	Crawls  []Crawl
	Counted Counted

	files        []*file
	names        names
	captures     []capture
	marks        []recordMarks // of the captures, while the archive is read
	order        []int32       // of captures: by URL, then by date
	starts       []int32       // of the captures of a URL in order, by number; one more at the end
	infos        []info
	listed       []site.URL // pages that an archive names as those to begin with
	seeds        []site.URL // pages that it names as some that were asked for
	windows      []int64    // ends of the versions of an archive of mirrord; nil for others
	afters, ends []int64    // of each window: its captures are after one date, up to another
	newest       []int64    // with windows, of each capture: date of the last body of the URL up to it
	picks        []int32    // without windows: of each URL the capture of each crawl that has one, by crawl
	pickStarts   []int32    // those of a URL in picks, by number; one more at the end
	changes      []change   // of picks
}

// kind is how a capture was made.
type kind uint8

const (
	response kind = iota
	revisit       // the body is that of another one
	verbatim      // a body without a head
)

// The status codes that matter here (RFC 9110 §15).
const (
	statusOK              = 200
	statusPartialContent  = 206
	statusNotModified     = 304
	statusNotFound        = 404
	statusGone            = 410
	statusTooManyRequests = 429
)

const noURL = ^uint32(0)

// capture is one answer of a URL.
type capture struct {
	url, crawl       uint32
	file, info, body int32 // body: the capture that has it
	date, asked      int64 // Unix seconds; asked: when the request was made
	at, end          int64
	size             int64 // bytes of the body; of one that only an index describes, of its record
	status           int16
	kind             kind
	html             bool // it says that it is a page
}

// recordMarks are short forms of what names a record: its identifier, that of its request, and the digest of
// its body; 0 for none.
type recordMarks struct{ id, pair, payload uint64 }

// usable reports whether a capture is an answer that another one of the same crawl does not replace: one that
// requests a later retry is not.
func (c *capture) usable() bool { return c.status < 500 && c.status != statusTooManyRequests }

// settle finds bodies and crawls.
func (a *Recordings) settle(r *reading) error {
	kept := a.captures[:0]
	moved := make([]int32, len(a.captures))
	for i := range a.captures {
		c := a.captures[i]
		m := a.marks[i]
		if (m.id != 0 && r.posts[m.id]) || (m.pair != 0 && r.posts[m.pair]) {
			moved[i] = -1
			a.Counted.Other++
			a.Counted.Answers--
			continue
		}
		moved[i] = int32(len(kept))
		c.body = moved[i]
		a.marks[len(kept)] = m
		kept = append(kept, c)
	}
	a.captures = kept
	if len(kept) == 0 {
		return r.withoutAnswers()
	}
	a.sort()
	if err := a.bases(r); err != nil {
		return err
	}
	if a.resolve(r, moved); a.Counted.Elsewhere == len(kept) {
		return fmt.Errorf("%w: all %d are revisits of bodies in other files; give these, too", ErrEmpty, len(kept))
	}
	a.group()
	a.choose()
	a.marks = nil
	return nil
}

// sort orders the captures of each URL.
func (a *Recordings) sort() {
	a.order = make([]int32, len(a.captures))
	for i := range a.order {
		a.order[i] = int32(i)
	}
	slices.SortStableFunc(a.order, func(x, y int32) int {
		c, d := &a.captures[x], &a.captures[y]
		return cmp.Or(cmp.Compare(c.url, d.url), cmp.Compare(c.date, d.date))
	})
	a.starts = make([]int32, a.Len()+1)
	for _, i := range a.order {
		a.starts[a.captures[i].url+1]++
	}
	for u := range a.Len() {
		a.starts[u+1] += a.starts[u]
	}
}

// of returns the captures of a URL by date.
func (a *Recordings) of(url uint32) []int32 { return a.order[a.starts[url]:a.starts[url+1]] }

// withoutAnswers says what files hold that hold no answer.
func (r *reading) withoutAnswers() error {
	if r.Counted.Records == 0 {
		return ErrEmpty
	}
	var of []string
	for _, kind := range slices.Sorted(maps.Keys(r.kinds)) {
		of = append(of, fmt.Sprintf("%d %s", r.kinds[kind], kind))
	}
	held := strings.Join(of, ", ")
	if n := r.Counted.Other; n > 0 {
		held += fmt.Sprintf("; left out: %s to other requests than GET, of parts of bodies or of no web address",
			count.Of(n, "answer", "answers"))
	}
	return fmt.Errorf("%w: it holds %s", ErrEmpty, held)
}

// resolve finds the bodies of revisits: by the record that they name, by URL and date, by the digest. The
// body of one may be in another day's file: then its URL is not in the archive.
func (a *Recordings) resolve(r *reading, moved []int32) {
	b := bodiesFor(a, r.refs)
	for i := range r.refs {
		ref := &r.refs[i]
		at := moved[ref.capture]
		if at < 0 {
			continue
		}
		c := &a.captures[at]
		if c.body = b.target(ref, c); c.body < 0 {
			a.Counted.Elsewhere++
		}
	}
}

// Recording is what a URL answered.
type Recording struct {
	At     time.Time // when
	Seen   time.Time // when the URL was last known to answer so; of a revisit the time of that
	Head   []byte    // status line and fields, with the empty line
	Made   bool      // the head is not that of the answer
	Added  bool      // its Content-Length is not
	Cut    bool      // the record lacks a part of the body
	Body   io.Reader // without chunks
	Length int64     // of Body; -1 when it is not known

	from []*warc.Reader
}

// Close lets go of the body.
func (x *Recording) Close() {
	for _, r := range x.from {
		r.Close()
	}
	x.from = nil
}

// Len is how many URLs the archive names. They have numbers from 0.
func (a *Recordings) Len() int { return len(a.names.places) }

// Number returns the number of a URL, or of an equivalent one.
func (a *Recordings) Number(u site.URL) (n int, ok bool) {
	id, ok := a.names.find(u)
	return int(id), ok
}

// URL returns the URL of a number.
func (a *Recordings) URL(n int) site.URL { return a.names.of(uint32(n)) }

// Answer returns what a URL answered in a crawl, by its place in Crawls: the last answer of that crawl, else
// the last one before it. nil: missing. Gone says that the archive shows that the URL was not part of
// the site then.
func (a *Recordings) Answer(crawl int, u site.URL) (x *Recording, gone bool, err error) {
	id, ok := a.names.find(u)
	if !ok {
		return nil, a.windows != nil, nil
	}
	i, asked := a.pick(uint32(crawl), id)
	if i < 0 {
		return nil, a.windows != nil, nil
	}
	c := &a.captures[i]
	x = &Recording{
		At:     time.Unix(min(c.date, c.asked), 0).UTC(),
		Seen:   time.Unix(asked, 0).UTC(),
		Length: -1,
	}
	if err := x.read(a, c); err != nil {
		x.Close()
		return nil, false, &FileError{a.files[c.file].name, err}
	}
	return x, false, nil
}

// Shows reports whether a URL answered with a page, a file or a redirect in a crawl.
func (a *Recordings) Shows(crawl int, u site.URL) bool {
	c := answered(a, crawl, u)
	return c != nil && a.captures[c.body].shows()
}

// answered is the capture of a URL in a crawl; nil for none.
func answered(a *Recordings, crawl int, u site.URL) *capture {
	id, ok := a.names.find(u)
	if !ok {
		return nil
	}
	i, _ := a.pick(uint32(crawl), id)
	if i < 0 {
		return nil
	}
	return &a.captures[i]
}

// good reports whether a capture has a page or a file.
func (c *capture) good() bool { return c.status >= 200 && c.status < 300 }

// Page stands for the page that a URL shows in a crawl; 0 when it shows none.
func (a *Recordings) Page(crawl int, u site.URL) uint64 {
	c := answered(a, crawl, u)
	if c == nil || !a.captures[c.body].html || !a.captures[c.body].good() {
		return 0
	}
	return uint64(c.body) + 1
}

// pick chooses the capture of a URL for a crawl, and says when the URL was looked at; -1 for none.
func (a *Recordings) pick(crawl, url uint32) (best int32, asked int64) {
	if a.windows != nil {
		return a.shown(crawl, url)
	}
	picks := a.picks[a.pickStarts[url]:a.pickStarts[url+1]]
	i, _ := slices.BinarySearchFunc(picks, crawl, func(i int32, crawl uint32) int {
		return cmp.Or(cmp.Compare(a.captures[i].crawl, crawl), -1)
	})
	if i == 0 {
		return -1, 0
	}
	return picks[i-1], a.captures[picks[i-1]].asked
}

// read opens head and body of a capture.
func (x *Recording) read(a *Recordings, c *capture) error {
	rec, err := x.open(a, c)
	if err != nil {
		return err
	}
	m, err := rec.Message()
	if err != nil {
		return err
	}
	status := 0
	if m != nil {
		x.Head, status = m.Raw, m.Status()
		x.readFields(rec.Header)
	}
	if c.kind == revisit {
		d := &a.captures[c.body]
		if rec, err = x.open(a, d); err != nil {
			return err
		}
		if m, err = rec.Message(); err != nil {
			return err
		}
		if m != nil && (status == 0 || status == statusNotModified) {
			x.Head = m.Raw
			x.readFields(rec.Header)
		}
	}
	x.Cut = rec.Cut()
	if x.Head == nil {
		x.Head, x.Made = madeHead(rec), true
	}
	if m == nil {
		x.Body, x.Length = rec, rec.Length
		return nil
	}
	if x.Body, err = rec.Payload(); err == nil && x.Body == io.Reader(rec) {
		x.Length = rec.Length - int64(len(m.Raw))
	}
	return err
}

// readFields reads the fields of a record that are ours.
func (x *Recording) readFields(h warc.Header) {
	head := h.Get(warc.FieldHead)
	x.Made, x.Added = head == warc.HeadMade, head == warc.HeadLength
}

// madeHead is the head of a record that is a body alone.
func madeHead(rec *warc.Record) []byte {
	if mime := rec.Header.Get("Content-Type"); mime != "" {
		return warc.WriteHead(warc.Good, warc.HeaderField{Name: "Content-Type", Value: mime})
	}
	return warc.WriteHead(warc.Good)
}

func (x *Recording) open(a *Recordings, c *capture) (*warc.Record, error) {
	f := a.files[c.file]
	if f.indexed {
		if err := f.check(c.at, c.end); err != nil {
			return nil, err
		}
	}
	rec, r, err := f.record(c.at, c.end)
	if err != nil {
		return nil, err
	}
	x.from = append(x.from, r)
	if f.indexed {
		err = leads(a, rec, c)
	}
	return rec, err
}

// URLs gives each URL that gave a page or a file in a crawl, and not only redirects and errors.
func (a *Recordings) URLs(crawl int) iter.Seq[site.URL] {
	return func(yield func(site.URL) bool) {
		for n := range a.Len() {
			i, _ := a.pick(uint32(crawl), uint32(n))
			if i < 0 {
				continue
			}
			c := &a.captures[i]
			if a.windows == nil && c.crawl != uint32(crawl) {
				continue
			}
			if a.captures[c.body].good() && !yield(a.URL(n)) {
				return
			}
		}
	}
}

// Size says how many URLs give a page or a file in a crawl, also those that an earlier one has, and of how
// many bytes.
func (a *Recordings) Size(crawl int) (files int, bytes int64) {
	for id := range a.Len() {
		i, _ := a.pick(uint32(crawl), uint32(id))
		if i < 0 {
			continue
		}
		if d := &a.captures[a.captures[i].body]; d.good() {
			files++
			bytes += d.size
		}
	}
	return files, bytes
}

// Each gives each URL that gave a page, a file or a redirect in some crawl, with its number.
func (a *Recordings) Each() iter.Seq2[int, site.URL] {
	return func(yield func(int, site.URL) bool) {
		for n := range a.Len() {
			if slices.ContainsFunc(a.of(uint32(n)), func(i int32) bool {
				c := &a.captures[i]
				return c.body >= 0 && a.captures[c.body].shows()
			}) && !yield(n, a.URL(n)) {
				return
			}
		}
	}
}

// Entry returns where the archive begins: what it names as the page to begin with, else of the pages that it
// names as seeds, or the first ones of their hosts, the one with most links from and to others. Redirects in
// the archive are followed within one registered domain.
func (a *Recordings) Entry() site.URL {
	for _, u := range a.listed {
		if _, ok := a.Number(u); ok {
			return a.Leads(u)
		}
	}
	s := entrySearch{a}
	noPage := func(u site.URL) bool { return !s.isPage(u) }
	if seeds := slices.DeleteFunc(s.pagesOf(a.seeds), noPage); len(seeds) > 0 {
		return s.hub(seeds)
	}
	first := s.firsts()
	if pages := slices.DeleteFunc(slices.Clone(first), noPage); len(pages) > 0 {
		return s.hub(pages)
	}
	return first[0]
}

// Leads returns where redirects of the archive lead from a URL, within its registered domain.
func (a *Recordings) Leads(u site.URL) site.URL {
	s, from := entrySearch{a}, u
	for range mostHops {
		c := s.firstOf(u)
		if c == nil || c.status < 300 || c.status >= 400 {
			return u
		}
		x := new(Recording)
		err := x.read(a, c)
		x.Close()
		if err != nil {
			return u
		}
		to, _, err := u.ResolveLocation(warc.ParseMessage(x.Head).Header.Get("Location"))
		if err != nil || to == u || to.RegistrableDomain() != from.RegistrableDomain() || s.firstOf(to) == nil {
			return u
		}
		u = to
	}
	return u
}
