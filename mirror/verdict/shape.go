// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"maps"
	"slices"
	"sync"

	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// The shape of a page is a hash of its title and links. A site that is in trouble may answer many URLs with
// one page and status 200: then many pages take one shape in one run.

// newShape reports whether a page took another shape since the published version.
func newShape(rec *record.Resource, run urls.Run) bool {
	return rec.ShapeNew && (rec.Changed >= run.Version) && (rec.Run == run.Number)
}

// becameOther reports whether a page that readers can see has another shape in the version to come.
func becameOther(rec *record.Resource, run urls.Run) bool {
	return isPage(rec) && (rec.Moved < run.Version) && newShape(rec, run)
}

// hasChanged reports whether a page that readers can see changed in this run.
func hasChanged(rec *record.Resource, run urls.Run) bool {
	return isPage(rec) && (rec.Moved < run.Version) && (rec.Changed >= run.Version) && (rec.Run == run.Number)
}

// isPage reports whether a resource of the mirror has a shape.
func isPage(rec *record.Resource) bool { return rec.InSet && (rec.Shape != 0) }

// Pages of one shape have about one size:
const (
	sizeSpread = 20  // they differ by at most a twentieth of it,
	sizeSlack  = 100 // and some bytes that say where the reader wanted to go
)

// alike reports whether a page of one shape has about the usual size, in bytes, of the pages of that shape.
func alike(size, usual int64) bool {
	d := size - usual
	return max(d, -d) <= usual/sizeSpread+sizeSlack
}

// Shapes is what a run learns of the shapes of pages while it retrieves. The zero value is ready. Note may be
// called by several goroutines at once.
type Shapes struct {
	entries map[site.URL]bool
	shells  []uint32 // shapes that the entry pages had before this run

	mu      sync.Mutex
	changed sections // published pages that became other pages
}

// LearnEntries notes what the entry pages look like before the run; get reads records. A site of one program
// answers its entry page everywhere, and a new release of it changes all pages to the same page again; that
// they were one before says that it is no error.
func (s *Shapes) LearnEntries(
	t urls.Settled, seeds []site.URL, get func(site.URL) (record.Resource, bool, error),
) error {
	s.entries = map[site.URL]bool{}
	for _, u := range seeds {
		s.entries[u] = true
		id, ok := t.FindURL(u)
		if !ok {
			continue
		}
		id, _ = t.Final(id)
		rec, ok, err := get(t.URL(id))
		if err != nil {
			return err
		}
		if ok && isPage(&rec) {
			s.shells = append(s.shells, rec.Shape)
		}
	}
	return nil
}

// IsNew reports whether a page looks other than in the published version: by its shape, or because it came to
// say what another page says.
func (s *Shapes) IsNew(now, old *record.Resource, run urls.Run) bool {
	switch {
	case old.Body == record.NoBody:
		return true
	case old.ShapeNew && (old.Changed >= run.Version):
		return true // of a run that was not published: an error page with other bytes is an error page still
	case (old.Shape == now.Shape) && (likeness(now) <= likeness(old)):
		return false
	}
	return !slices.Contains(s.shells, old.Shape) || s.entries[now.URL]
}

// likeness says how much a page is like another one: 0 for not, 2 for the same words.
func likeness(rec *record.Resource) int {
	switch {
	case rec.Like == 0:
		return 0
	case rec.SameText:
		return 2
	}
	return 1
}

// Note counts pages that became other pages. It is called for every result of a run; a first run has no such
// pages.
func (s *Shapes) Note(rec *record.Resource, run urls.Run) {
	if (run.Version == 1) || !becameOther(rec, run) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = sections{}
	}
	s.changed.add(rec.URL)
}

// Doubtful returns the URLs of directories in which so many pages became other pages that it matters what
// their error page looks like, sorted by origin.
func (s *Shapes) Doubtful() (dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	origins := s.changed.byOrigin()
	for _, origin := range slices.Sorted(maps.Keys(origins)) {
		dirs = append(dirs, origins[origin].doubtful()...)
	}
	return dirs
}
