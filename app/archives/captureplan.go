// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/app/look"
	"mirrord/archive"
	"mirrord/archive/warc"
	"mirrord/fetch/heads"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// planned is a capture of an export whose body was not read yet.
type planned struct {
	URL     string
	Number  uint32 // of the URL within its site
	Date    int64  // Unix seconds
	Head    []byte
	Made    bool // the head is
	Added   bool // Content-Length was added to the head
	Size    int64
	Digest  [32]byte
	MIME    string
	Charset string
	Source  string // a replica that the body came from
	Again   int64  // for a revisit: the date of the capture that it refers to
	Kept    int64  // for a capture that stands for no request: when the URL was last requested
	Listed  int64  // the date of its entry in the list of pages; 0 if it is not a page
	Body    record.BodyKind
	At      record.Place
}

// captureCounts is what an export of captures holds.
type captureCounts struct {
	Captures int   // bodies and redirects
	Revisits int   // with the same content as an earlier capture
	Made     int   // whose head was made
	Bytes    int64 // of bodies
}

// capturePlanner finds the captures of versions in the records of a site. One that came in one version and
// stays to a later one has a record when it came, and one when it was last seen: a search for the capture
// nearest to a time finds what the mirror showed then.
type capturePlanner struct {
	site     *store.Site
	material render.Material
	cookies  bool
	seeds    map[string]bool
	emit     func(*planned) error
	counts   captureCounts

	date    int64 // of the version that is being read
	before  int64 // of the one before it
	history bool  // more than one version
	quiet   bool  // the version is one that the export builds on, and does not have
	targets map[uint32]string
	now     []seenCapture   // by number of the URL, with history
	changed map[uint32]bool // what pages may load, and the version has in another form than before
}

// seenCapture is what was last planned of a URL.
type seenCapture struct {
	state  [32]byte // of body or redirect; zero: has neither
	date   int64    // of its capture
	seen   int64    // when it was last known to be so
	upTo   int64    // date of the last version that has it
	asked  int64    // when it was last requested
	shown  int64    // of its last revisit
	head   record.HeadPlace
	digest [32]byte
	size   int64
	made   []byte // the head, when no stored one is used
	page   bool   // people read it
	unsent bool   // it came in no response
}

// until is when it was last known to be so, for a record that is written once the version of a date is read:
// of what that version does not have, no later than the last one that has it.
func (c *seenCapture) until(date int64) int64 {
	if c.upTo < date {
		return min(c.seen, c.upTo)
	}
	return c.seen
}

// plan reads the versions, the oldest first. What came with the first ones, which are in another archive, is
// not planned.
func (p *capturePlanner) plan(ctx context.Context, before, versions []record.Version) error {
	versions = slices.Concat(before, versions)
	p.history = len(versions) > 1
	known, err := p.material.Records.Known()
	if err != nil {
		return err
	}
	if p.history {
		p.now, p.changed = make([]seenCapture, known), map[uint32]bool{}
	}
	for i, v := range versions {
		p.quiet = i < len(before)
		if err := p.plan1(ctx, v, known); err != nil {
			return fmt.Errorf("version %d of %s: %w", v.Number, p.material.Name, err)
		}
	}
	if !p.history {
		return nil
	}
	return p.material.Records.Resources(func(rec *record.Resource) error {
		if rec.ID >= known {
			return nil
		}
		return p.revisit(rec, &p.now[rec.ID], p.now[rec.ID].until(p.date), 0)
	})
}

// plan1 reads one version.
func (p *capturePlanner) plan1(ctx context.Context, v record.Version, known uint32) error {
	p.before, p.date = p.date, versionDate(&v)
	past, err := p.material.Versions.Past(v.Number)
	if err != nil {
		return err
	}
	if err := p.findTargets(past); err != nil {
		return err
	}
	if err := past.Resources(func(rec *record.Resource, here bool) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if rec.ID >= known {
			return fmt.Errorf("record of %s: %w: number %d is not given yet", rec.URL, disk.ErrDamaged, rec.ID)
		}
		if !here || (!isCaptured(rec) && !files.IsRedirect(rec)) {
			return nil
		}
		return p.record(rec)
	}); err != nil {
		return err
	}
	return p.shownOtherwise(past)
}

func isCaptured(rec *record.Resource) bool { return rec.InSet && rec.Body != record.NoBody }

// findTargets notes where redirects lead.
func (p *capturePlanner) findTargets(past *facts.Past) error {
	p.targets = map[uint32]string{}
	if err := past.Resources(func(rec *record.Resource, here bool) error {
		if here && files.IsRedirect(rec) {
			p.targets[rec.Target-1] = ""
		}
		return nil
	}); err != nil || len(p.targets) == 0 {
		return err
	}
	return past.Resources(func(rec *record.Resource, _ bool) error {
		if _, wanted := p.targets[rec.ID]; wanted {
			p.targets[rec.ID] = rec.URL.String()
		}
		return nil
	})
}

// leadsTo returns the address to which a redirect leads.
func (p *capturePlanner) leadsTo(rec *record.Resource) string {
	to := p.targets[rec.Target-1]
	if rec.Fragment != "" {
		to += "#" + rec.Fragment
	}
	return to
}

// record plans the new captures of a URL in the version.
func (p *capturePlanner) record(rec *record.Resource) error {
	c := planned{
		URL:     rec.URL.String(),
		Number:  rec.ID,
		Date:    rec.Fetched,
		Size:    rec.Size,
		Digest:  rec.Digest,
		MIME:    rec.MIME,
		Charset: rec.Charset,
		Source:  rec.Source,
		Body:    rec.Body,
		At:      rec.At,
	}
	head, state := rec.Head, rec.Digest
	if files.IsRedirect(rec) {
		c = planned{
			URL:    c.URL,
			Number: rec.ID,
			Date:   min(rec.Checked, p.date),
			Digest: sha256.Sum256(nil),
		}
		head = rec.LastHead
		state = sha256.Sum256(fmt.Appendf(nil, "%d %s", rec.Status, p.leadsTo(rec)))
	}
	if c.Date == 0 {
		c.Date = p.date
	}
	came := c.Date
	if p.before != 0 && c.Date <= p.before && p.before < p.date {
		// in the second in which the version before was complete, or earlier; a reader takes it for that version's
		c.Kept, c.Date = c.Date, p.before+1
	}
	unsent := !files.IsRedirect(rec) && (rec.Fetched == 0) // it is as it was imported
	if p.history {
		old := &p.now[rec.ID]
		if old.state == state && old.upTo == p.before {
			if old.unsent {
				old.upTo = p.date
				return nil
			}
			return p.again(rec, old)
		}
		if err := p.revisit(rec, old, old.until(p.date), 0); err != nil {
			return err
		}
		if old.state != [32]byte{} && !isPage(c.MIME) {
			p.changed[rec.ID] = true
		}
		asked := max(rec.Checked, came)
		*old = seenCapture{
			state:  state,
			date:   c.Date,
			asked:  asked,
			seen:   max(asked, c.Date),
			upTo:   p.date,
			head:   head,
			digest: c.Digest,
			size:   c.Size,
			page:   isPage(c.MIME),
			unsent: unsent,
		}
	}
	if !unsent {
		if err := p.head(&c, rec, head, c.Size); err != nil {
			return err
		}
	}
	if p.history && c.Made {
		p.now[rec.ID].made = c.Head
	}
	if p.quiet {
		return nil
	}
	if c.Listed = 0; isPage(c.MIME) {
		c.Listed = c.Date
	}
	if p.seeds[c.URL] {
		c.Listed = p.date
	}
	p.counts.Captures++
	p.counts.Bytes += c.Size
	return p.add(&c)
}

func (p *capturePlanner) add(c *planned) error {
	if c.Made {
		p.counts.Made++
	}
	return p.emit(c)
}

// again is called for a URL that is as it was in the version before. A record of a version says when it was
// last found to be so, which may be after that version; one that was not requested for a version was shown by
// it all the same. An entry point has a record for each version.
func (p *capturePlanner) again(rec *record.Resource, c *seenCapture) error {
	c.asked, c.upTo = max(rec.Checked, rec.Fetched), p.date
	if c.seen = c.asked; c.asked <= p.before {
		c.seen = p.date
	}
	if !p.seeds[rec.URL.String()] {
		return nil
	}
	return p.revisit(rec, c, min(c.seen, p.date), p.date)
}

// revisit plans the record that says that a URL was as it was at a time; listed is its date among the pages.
func (p *capturePlanner) revisit(rec *record.Resource, c *seenCapture, at, listed int64) error {
	if c.state == [32]byte{} || c.unsent || at <= max(c.date, c.shown) {
		return nil
	}
	if c.shown = at; p.quiet {
		return nil
	}
	out := planned{
		URL:    rec.URL.String(),
		Number: rec.ID,
		Date:   at,
		Again:  c.date,
		Digest: c.digest,
		Listed: listed,
	}
	if c.asked < at {
		out.Kept = c.asked
	}
	if out.Head, out.Made = c.made, c.made != nil; !out.Made {
		if err := p.head(&out, rec, c.head, c.size); err != nil {
			return err
		}
	}
	p.counts.Revisits++
	return p.add(&out)
}

// head sets the head of a capture, and whether it was made.
func (p *capturePlanner) head(c *planned, rec *record.Resource, at record.HeadPlace, size int64) error {
	var h *heads.Head
	if !at.IsZero() {
		var err error
		if h, err = p.site.Records.ReadHead(rec.URL, at); err != nil && p.site.DB.Stale() {
			return err // it may only have been moved
		}
	}
	if h != nil {
		c.Head, c.Added = capturedHead(h, size, p.cookies)
		return nil
	}
	c.Head, c.Made = madeHead(rec), true
	if files.IsRedirect(rec) {
		c.Head = madeRedirect(rec.Status, p.leadsTo(rec))
	}
	return nil
}

// isPage reports whether content of a type is a page for people.
func isPage(mime string) bool {
	return strings.HasPrefix(mime, "text/html") || strings.HasPrefix(mime, "application/xhtml+xml")
}

// versionDate is the time at which a version was complete.
func versionDate(v *record.Version) int64 { return look.WebVersion(v).Time.Unix() }

// errNoOriginals says that a version has nothing to make an archive of captures of.
func errNoOriginals(name string, v record.Version) error {
	return fmt.Errorf("version %d of %s has no stored originals: it was imported or rebuilt; export it as %s, "+
		"or run the job first", v.Number, name, archive.PHM)
}

// aboutVersion is what an archive says of itself, from the phm.json of a version.
func aboutVersion(s *store.Site, v record.Version) (a archive.About, seeds map[string]bool) {
	a.Title, a.Software, a.Created = s.Name, "mirrord", time.Unix(versionDate(&v), 0)
	seeds = map[string]bool{}
	m, err := phm.ReadMeta(strings.NewReader(string(v.Meta)))
	if err != nil {
		return a, seeds
	}
	if m.Title != "" {
		a.Title = m.Title
	}
	a.Description = m.Abstract
	for i, o := range m.Origins {
		seeds[o] = true
		a.Fields = append(a.Fields, warc.HeaderField{Name: warc.FieldEntry, Value: o})
		if i == 0 {
			a.MainURL, a.MainDate = o, a.Created
		}
	}
	return a, seeds
}

// pickVersions returns the versions that an export is of, the oldest first, and those before that it builds
// on.
func pickVersions(s *store.Site, o *ExportRequest) (before, versions []record.Version, err error) {
	vs, err := s.Versions.List()
	if err != nil {
		return nil, nil, err
	}
	if len(vs) == 0 {
		return nil, nil, fmt.Errorf("site %s: %w", s.Name, record.ErrNoVersion)
	}
	last := len(vs) - 1
	if o.Version != 0 {
		if last, err = files.Numbered(s, vs, o.Version); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case o.Since == "" && o.AllVersions:
		return nil, vs[:last+1], nil
	case o.Since == "":
		return nil, vs[last : last+1], nil
	}
	number, err := strconv.Atoi(o.Since)
	if err != nil {
		return nil, nil, env.Fieldf(env.FieldSince, "since %s: a web archive builds on a version, by its number",
			o.Since)
	}
	base, err := files.Numbered(s, vs, number)
	if err != nil {
		return nil, nil, err
	}
	if base >= last {
		return nil, nil, env.Fieldf(env.FieldSince, "since %d: %s has no later version", number, s.Name)
	}
	return vs[:base+1], vs[base+1 : last+1], nil
}
