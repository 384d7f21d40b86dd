// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"bytes"
	"iter"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"mirrord/internal/texts"
	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Table is what a run knows of URLs while it retrieves. Safe for concurrent use. The functions that its
// methods call hold up all other users, and must not use the table themselves.
type Table struct {
	mu sync.Mutex
	urls
	recent foundURLs
}

// foundURLs are URLs that were found not long ago, by their hash: what most pages of a site name.
type foundURLs [2048]struct {
	id  uint32
	url []byte
}

// find is urls.find that remembers what it found. A number never gets another URL.
func (f *foundURLs) find(t *urls, u []byte) (id uint32, ok bool) {
	r := &f[xxh3.Hash(u)%uint64(len(f))]
	if len(u) > 0 && bytes.Equal(r.url, u) {
		return r.id, true
	}
	if id, ok = t.find(u); ok && len(u) <= usual && t.spelled == 0 {
		r.id, r.url = id, append(r.url[:0], u...)
	}
	return id, ok
}

// New returns an empty table.
func New() *Table { return &Table{urls: newURLs()} }

// UseFile lets an empty table have its URLs and mirror paths in a file once they take more than so many
// bytes. open makes it, and Close closes it.
func (t *Table) UseFile(above int, open func() (texts.File, error)) {
	t.texts.UseFile(above, open)
}

// Close lets go of the file. The table must no longer be used.
func (t *Table) Close() error { return t.texts.Close() }

// Err says why URLs or paths could not be read from the file. What the table has said since may be wrong, and
// nothing may be kept of it.
func (t *Table) Err() error {
	if err := t.texts.Err(); err != nil {
		return &disk.DiskError{Op: "read URLs from a scratch file", Err: err}
	}
	return nil
}

// Run is the run that the table is kept for.
type Run struct {
	Number  int
	Version int // that it works for
}

// Referral says how a URL came to be known.
type Referral struct {
	From      uint32 // the document's number plus one; 0: no document names it
	Depth     int    // links from an entry point
	Requisite bool
}

// Mark is the decision about a URL.
type Mark struct {
	Seen  Seen // is added to what was seen of it
	Queue bool // it enters the frontier: its State says so from now on
	// Requisite: a page needs it, which was not known when it was first seen.
	Requisite bool
	// Reopen takes its outcome back: it is requested once more.
	Reopen bool
}

// Len is how many numbers there are.
func (t *Table) Len() uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// URL returns the URL of a number.
func (t *Table) URL(id uint32) site.URL {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.urlOf(id)
}

// AppendURL appends the URL of a number.
func (t *Table) AppendURL(dst []byte, id uint32) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.texts.Append(dst, t.at(id).url)
}

// State returns the state of a number.
func (t *Table) State(id uint32) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return State{*t.at(id)}
}

// Get returns the URL of a number and its state.
func (t *Table) Get(id uint32) (site.URL, State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.urlOf(id), State{*t.at(id)}
}

// Leads follows redirects from a number as far as they are known: to what holds the content, or to what waits
// for its answer.
func (t *Table) Leads(id uint32) (final uint32, s State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range MaxHops {
		s = State{*t.at(id)}
		if to := s.Target(); t.at(id).waits() || to == 0 {
			return id, s
		}
		id = s.Target() - 1
	}
	return id, State{}
}

// InSet reports whether a number is given, and what it names is part of the mirror as far as is known.
func (t *Table) InSet(id uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return id < t.n && t.at(id).flags&fInSet != 0
}

// Standing returns the number of the URL that stands for a number, if that is another one: the URLs of both
// are equivalent (site.URL.Normal), and were requested as two by runs that took them for such.
func (t *Table) Standing(id uint32) (other uint32, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	other = t.standing(id)
	return other, other != id
}

// Find returns the number of a URL, or of an equivalent one.
func (t *Table) Find(u []byte) (uint32, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.recent.find(&t.urls, u)
}

// FindURL is Find for a URL that was parsed.
func (t *Table) FindURL(u site.URL) (uint32, bool) { return t.Find([]byte(u.String())) }

// Knows reports whether a URL has a number.
func (t *Table) Knows(u site.URL) bool {
	_, ok := t.FindURL(u)
	return ok
}

// MIME returns the MIME type of a number, "" when none is known.
func (t *Table) MIME(id uint32) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mimes[t.at(id).mime]
}

// MIMEs lists the MIME types that are known so far, by State.Type. The list is not to be changed.
func (t *Table) MIMEs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clip(t.mimes)
}

// Each calls look for each of ids that is a number, in order.
func (t *Table) Each(ids iter.Seq[uint32], look func(id uint32, s State, u site.URL)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range ids {
		if id < t.n {
			look(id, State{*t.at(id)}, t.urlOf(id))
		}
	}
}

// NotQueued returns those of ids that did not enter the frontier, ascending.
func (t *Table) NotQueued(ids []uint32) (out []uint32) {
	t.mu.Lock()
	for _, id := range ids {
		if t.at(id).flags&fQueued == 0 {
			out = append(out, id)
		}
	}
	t.mu.Unlock()
	slices.Sort(out)
	return out
}

// News appends the URLs from a number on, as the journal of the site has them.
func (t *Table) News(from uint32, news []record.NewURL) []record.NewURL {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := from; id < t.n; id++ {
		e := t.at(id)
		news = append(news, record.NewURL{
			URL:      t.urlOf(id).String(),
			Referrer: e.ref,
			Depth:    int(e.depth),
			Requis:   e.flags&fRequis != 0,
		})
	}
	return news
}

// LessPath orders two numbers by directory and name, and the files of a directory before those below it.
func (t *Table) LessPath(a, b uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, v := t.urlOf(a), t.urlOf(b)
	if du, dv := u.Dir(), v.Dir(); du != dv {
		return du < dv
	}
	return u.String() < v.String()
}

// LessRate orders two numbers by how often they change, and those that change as often as LessPath does.
func (t *Table) LessRate(a, b uint32) bool {
	t.mu.Lock()
	x, y := t.at(a).rate, t.at(b).rate
	t.mu.Unlock()
	if x != y {
		return x > y
	}
	return t.LessPath(a, b)
}

// Mark asks decide about each of ids that is a number, in order, and does what it says before it continues
// with the next. All of it is one step. decide gets the URL itself if it has not entered the frontier: of the
// others, most of what a page names, there is less to decide.
func (t *Table) Mark(ids iter.Seq[uint32], decide func(id uint32, s State, u site.URL) Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range ids {
		if id < t.n {
			e := t.at(id)
			e.mark(decide(id, State{*e}, t.unqueued(id, e)))
		}
	}
}

// Mentions are the URLs that a document names, by their places in it, and what becomes of them. Decide and
// Unknown are called while the table waits: Decide is that of Table.Mark, Unknown takes the place of a URL
// without a number.
type Mentions struct {
	N       int
	URL     func(i int) []byte
	Decide  func(i int, id uint32, s State, u site.URL) Mark
	Unknown func(i int)
}

// MarkNamed is Mark for URLs of which the numbers are not known.
func (t *Table) MarkNamed(by Mentions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range by.N {
		id, ok := t.recent.find(&t.urls, by.URL(i))
		if !ok {
			by.Unknown(i)
			continue
		}
		e := t.at(id)
		e.mark(by.Decide(i, id, State{*e}, t.unqueued(id, e)))
	}
}

// Admit gives a URL the next number, unless another worker was faster, and does in the same step what decide
// says of it. It returns the number, and its state now.
func (t *Table) Admit(
	u []byte, how Referral, decide func(id uint32, s State, added bool) Mark,
) (uint32, State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, ok := t.recent.find(&t.urls, u)
	if !ok {
		id = t.add(u)
		t.at(id).refer(how)
	}
	e := t.at(id)
	e.mark(decide(id, State{*e}, !ok))
	return id, State{*e}
}

// Enter lets a URL that no document names enter the frontier, and gives it a number when it has none. first
// is false when it has entered before.
func Enter(t *Table, u []byte, s Seen) (id uint32, first bool) {
	id, _ = t.Admit(u, Referral{}, func(_ uint32, was State, _ bool) Mark {
		first = !was.Queued()
		return Mark{Seen: s, Queue: true}
	})
	return id, first
}

// Reopen takes the outcome of a URL back, unless another worker was faster.
func (t *Table) Reopen(id uint32) (done bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.at(id)
	done = e.flags&fAnswered != 0
	e.mark(Mark{Reopen: true})
	return done
}

// Queue lets a number enter the frontier. first is false when it has entered before, or has no URL.
func (t *Table) Queue(id uint32) (u site.URL, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.at(id)
	first = e.flags&fQueued == 0 && e.url > 0
	e.flags |= fQueued
	return t.urlOf(id), first
}

// See adds to what this run has found out about a number.
func (t *Table) See(id uint32, s Seen) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at(id).seen |= s
}

// Unsee takes back what this run took for found out about a number.
func Unsee(t *Table, id uint32, s Seen) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at(id).seen &^= s
}

// BringBack makes a URL one that was in the mirror before this run, regardless of the records of runs that
// were not published.
func (t *Table) BringBack(id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at(id).flags |= fInSet
}

// Record writes what became of a URL in a run. It returns its states before and now.
func (t *Table) Record(rec *record.Resource, run Run) (was, now State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.at(rec.ID)
	was = State{*e}
	e.outcome = rec.Outcome
	t.setTarget(rec.ID, rec.Target)
	t.setFragment(rec)
	e.seen |= SeenOf(rec, was.InSet())
	e.mime = t.mime(rec.MIME)
	e.flags |= fAnswered
	e.set(fInSet, rec.InSet)
	e.set(fDirty, rec.Changed >= run.Version)
	e.set(fMoved, rec.Moved >= run.Version)
	if rec.Path == "" && was.HasPath() {
		t.dropPath(rec.ID)
	}
	return was, State{*e}
}

// Settled is the table without its lock. It may be called, and what it returns used, while no worker runs.
func (t *Table) Settled() Settled { return Settled{&t.urls} }
