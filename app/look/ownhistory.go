// SPDX-License-Identifier: Apache-2.0

package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/mirror/report"
	"mirrord/relocate"
	"mirrord/replay"
	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/record"
)

// History reads a recorded history: a file's, or that of a job's own runs.
func History(ctx context.Context, a *env.App, arg string) (*replay.History, error) {
	name := strings.TrimSuffix(arg, scheduler.Suffix)
	if job.ValidName(name) && !env.IsFile(a, arg) {
		return OwnHistory(a, name, nil)
	}
	file, err := regular.Open(arg)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if st, err := file.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Errorf("history %s: a directory: want a file, or the name of a job", arg)
	}
	text := regular.UntilReader(ctx, file)
	defer text.Close()
	h, err := replay.Read(text)
	if err != nil {
		return nil, fmt.Errorf("history %s: %w", arg, err)
	}
	if h.Site == "" {
		h.Site = arg
	}
	return h, nil
}

// Replays replays the histories that args name, and hands each to take. o is as it was for the last one.
func Replays(
	ctx context.Context, a *env.App, args []string, o *replay.Options, take func(*replay.History),
) (all []*replay.Result, err error) {
	for _, arg := range args {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := History(ctx, a, arg)
		if err != nil {
			return nil, err
		}
		o.Relearn = h.Linked() // it is a job's own
		r, err := replay.Run(h, *o)
		if errors.Is(err, replay.ErrTooShort) && len(h.Versions) > 1 {
			return nil, fmt.Errorf("%s: %w: train on %d versions or less", arg, err, len(h.Versions)-1)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		all = append(all, r)
		take(h)
	}
	return all, nil
}

// OwnHistory makes a history of what a job's runs have observed: one version for each complete run, quiet
// ones too. What a run did not observe is taken as unchanged until one did; a partial run counts with the
// next complete one. With a job, runs that are one look at its site are one version.
func OwnHistory(a *env.App, name string, looks *job.Job) (h *replay.History, err error) {
	if !job.ValidName(name) {
		return nil, env.Usagef("%q is no file and cannot name a job", name)
	}
	st, err := a.MustState()
	if err != nil {
		return nil, fmt.Errorf("%s is no file, and for a mirror: %w", name, err)
	}
	defer env.Close(&err, st)
	err = env.View(st, name, func(s *store.Site) error {
		h, err = ownHistory(a, name, s, looks)
		return err
	})
	return h, err
}

// ownHistory makes a history of what a view has.
func ownHistory(a *env.App, name string, s *store.Site, looks *job.Job) (*replay.History, error) {
	o := newObserved()
	if err := s.Records.Resources(o.resource); err != nil {
		return nil, err
	}
	// What was there before anything was observed: its first mention is not that it entered, or nothing ever was
	// said of it.
	var times []int64
	if err := s.Records.Observations(func(x *record.Observation) error {
		o.mentions(x)
		times = append(times, x.Time)
		return nil
	}); err != nil {
		return nil, err
	}
	if looks != nil {
		o.gap = report.LookGap(looks, times)
	}
	o.begin()
	if err := s.Records.Observations(o.run); err != nil {
		return nil, fmt.Errorf("history of %s: %w", name, err)
	}
	h := o.b.History()
	h.Site = name
	if len(h.Versions) == 0 {
		return nil, fmt.Errorf("history of %s: no run was complete yet", name)
	}
	if o.pairs > 0 && o.seen < o.pairs {
		a.Warning(fmt.Sprintf(
			"%s: its runs observed %.1f%% of what was there; the rest is taken as unchanged", name,
			100*float64(o.seen)/float64(o.pairs)))
	}
	return h, nil
}

// observed gathers what runs have said of a site's URLs.
type observed struct {
	b        replay.Builder
	files    map[uint32]observedFile
	taken    map[string]bool // names
	last     int64           // Unix seconds of the last version
	versions int
	gap      int64 // seconds between versions, at least

	pending map[uint32]byte   // since the last version
	named   map[string]uint32 // by name: the URL that was the first to name it

	here  int // files of the site
	seen  int // of them, in all complete runs, how many were observed
	pairs int
}

func newObserved() *observed {
	return &observed{
		last:  -1,
		files: map[uint32]observedFile{},
		taken: map[string]bool{},
		named: map[string]uint32{},
	}
}

type observedFile struct {
	name      string
	size      int64
	in        bool // now, in the pass over the runs
	mentioned bool
	old       bool // there before anything was observed
}

// resource takes in the record of a URL.
func (o *observed) resource(r *record.Resource) error {
	if !r.InSet && r.Path == "" {
		return nil // never was part of the mirror
	}
	f := observedFile{
		name: o.free(cmp.Or(r.Path, "@"+strconv.Itoa(int(r.ID)))),
		size: r.Size,
		old:  r.InSet,
	}
	o.files[r.ID] = f
	if r.ComesWhole() {
		o.b.Whole(f.name)
	}
	if r.Referrer > 0 {
		o.named[f.name] = r.Referrer - 1
	}
	if r.Referrer == 0 || relocate.Format(r.Format) == relocate.Sitemap {
		o.b.First(f.name)
	}
	return nil
}

// link says which URL named which: a job's runs find URLs by links, and request the listing of a directory
// only where the site has one, as any other page.
func (o *observed) link() {
	by := make(map[string]string, len(o.named))
	for name, id := range o.named {
		if f, ok := o.files[id]; ok {
			by[name] = f.name
		}
	}
	o.b.Linked(by)
}

// free makes a unique name from one that another file may have.
func (o *observed) free(name string) string {
	for o.taken[name] {
		name += "~"
	}
	o.taken[name] = true
	return name
}

func (o *observed) file(id uint32) observedFile {
	f, ok := o.files[id]
	if !ok { // its record is gone
		f = observedFile{name: o.free("@" + strconv.Itoa(int(id))), size: -1}
	}
	return f
}

// mentions takes in, before the pass over the runs, what a run says of URLs for the first time.
func (o *observed) mentions(x *record.Observation) {
	for id := range x.Entered.All() {
		o.mention(id, false)
	}
	for _, set := range []record.IDs{x.Changed, x.Left} {
		for id := range set.All() {
			o.mention(id, true)
		}
	}
}

func (o *observed) mention(id uint32, old bool) {
	f := o.file(id)
	if !f.mentioned {
		f.mentioned, f.old = true, old
	}
	o.files[id] = f
}

func (o *observed) begin() {
	o.link()
	o.pending = map[uint32]byte{}
	for id, f := range o.files {
		if f.old {
			o.pending[id] = 'A'
		}
	}
}

// run takes in what one run has observed.
func (o *observed) run(x *record.Observation) error {
	for id := range x.Changed.All() {
		if o.pending[id] == 0 {
			o.pending[id] = 'M'
		}
	}
	for id := range x.Entered.All() {
		o.pending[id] = 'A'
	}
	for id := range x.Left.All() {
		o.pending[id] = 'D'
	}
	if !x.Complete || (o.versions > 0 && x.Time >= o.last && x.Time-o.last < o.gap) {
		return nil
	}
	var records []replay.Record
	for id, what := range o.pending {
		f := o.file(id)
		switch {
		case what != 'D':
			if !f.in {
				o.here++
			}
			f.in = true
			records = append(records, replay.Record{
				Path: f.name,
				Blob: fmt.Sprintf("%d in run %d", id, x.Run),
				Size: f.size,
			})
		case f.in:
			f.in = false
			o.here--
			records = append(records, replay.Record{Path: f.name})
		}
		o.files[id] = f
	}
	clear(o.pending)
	slices.SortFunc(records, func(a, b replay.Record) int { return strings.Compare(a.Path, b.Path) })
	o.last = max(o.last, x.Time)
	if o.versions++; o.versions > 1 {
		o.pairs += o.here
		o.seen += o.observedBy(x)
	}
	return o.b.Add(time.Unix(o.last, 0).UTC(), "run "+strconv.Itoa(x.Run), records)
}

// observedBy counts the files of the site that a run requested or skipped by evidence.
func (o *observed) observedBy(x *record.Observation) (n int) {
	for _, set := range []record.IDs{x.Asked, x.Spared, x.Joined} {
		for id := range set.All() {
			if o.files[id].in {
				n++
			}
		}
	}
	return n
}
