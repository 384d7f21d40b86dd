// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/site"
	"mirrord/store"
)

// A job may reuse a collection that another job mirrors: a crawler that knows of a replicated collection need fetch it only once (Cho, Shivakumar,
// Garcia-Molina, section 5.1). What lies under one directory of this site is taken, file by file, from that mirror's records and bodies. URLs, links and
// mirror paths are this site's; blobs are the same on disk. The site itself is asked for some files at the first run and every reuseFor: as long as they have
// the same bytes, the rest is believed to. Robots rules of this site hold as ever.

// reuse is what a run takes from another job's mirror. The zero value takes nothing.
type reuse struct {
	job, from, at string
	mode          reuseMode
	files         map[string]reusedFile // by what follows from; of mode reuseTakes
	docs          *store.Documents
	readers       sync.Pool // of *store.FrameReader
	taken         atomic.Int64
}

// reusedFile is what is needed of a record of the other mirror: a collection may have a million.
type reusedFile struct {
	mime, charset string // each value is one string
	modified      int64
	checked       int64
	size          int64
	digest        [32]byte
	body          store.BodyKind
	at            store.Place
}

type reuseMode uint8

const (
	reuseNothing reuseMode = iota // everything is asked of the site
	reuseTakes
	reuseKeeps // the other mirror cannot be read now: what was taken of it stays as it is
)

// reuseKept is how old the last run of the other mirror may be, and for how long what was taken stays as it is while that mirror cannot be used; then the
// site is asked.
const reuseKept = 30 * 24 * time.Hour

// prepareReuse reads what the other mirror holds, and verifies it when it is time.
func (r *run) prepareReuse(ctx context.Context) error {
	x := &r.reuse
	if x.job == "" {
		return nil
	}
	last, err := lastReuse(r.site)
	if err != nil {
		return err
	}
	known := last.Job == x.job && last.From == x.from && last.At == x.at
	tooLong := !last.used().IsZero() && r.now().Sub(last.used()) > reuseKept
	x.mode = reuseKeeps
	files, err := r.readReused()
	switch {
	case errors.Is(err, store.ErrNoSite):
		x.mode = reuseNothing
		r.notes.Cap(fmt.Sprintf("reuse: there is no mirror of %s: everything is asked of the site", x.job))
		return nil
	case err != nil && tooLong:
		x.mode = reuseNothing
		r.notes.Cap(fmt.Sprintf("reuse: the mirror of %s could not be used since %s: everything is asked of the site: %v", x.job, last.used().Format(time.DateOnly), err))
		return nil
	case err != nil:
		r.notes.Cap(fmt.Sprintf("reuse: the mirror of %s cannot be used in this run, what was taken of it stays as it is: %v", x.job, err))
		return nil
	case len(files) == 0:
		x.mode = reuseNothing
		r.notes.Cap(fmt.Sprintf("reuse: the mirror of %s has nothing under %s: reuse.from must begin as the addresses of its files do", x.job, x.from))
		return nil
	}
	if !known || r.now().Sub(last.Verified) > reuseFor {
		v, said, why, err := r.verifyReuse(ctx, files)
		switch {
		case err != nil:
			return nil // the run ends
		case !said && tooLong: // the site may have it no more
			x.mode = reuseNothing
			r.notes.Cap(fmt.Sprintf("reuse: only %d files of %s could be compared with the site's, and none were taken since %s: everything is asked of the site%s", v.Same, x.job, last.used().Format(time.DateOnly), why))
			return nil
		case !said:
			r.notes.Cap(fmt.Sprintf("reuse: only %d files of %s could be compared with the site's: nothing new is taken%s", v.Same, x.job, why))
			return nil
		}
		last = v
	}
	if now := r.now(); last.Differs == "" && now.Sub(last.Used) >= 24*time.Hour {
		last.Used = now.UTC()
	}
	v, err := json.Marshal(last)
	if err == nil {
		err = r.site.Notes.SetFact(reuseFact, v)
	}
	if err != nil {
		return err
	}
	if last.Differs != "" {
		x.mode = reuseNothing
		why := cmp.Or(last.Why, "was another file than the mirror of "+x.job+" has")
		r.notes.Cap(fmt.Sprintf("reuse: %s %s, on %s: everything is asked of the site", last.Differs, why, last.Verified.Format(time.DateOnly)))
		return nil
	}
	if x.docs, err = r.o.State.Documents(x.job); err != nil {
		r.notes.Cap(fmt.Sprintf("reuse: %v", err))
		return nil
	}
	x.readers.New = func() any { return store.NewFrameReader() }
	x.mode, x.files = reuseTakes, files
	return nil
}

// readReused reads the records of the other mirror, which is locked only as long as that takes.
func (r *run) readReused() (files map[string]reusedFile, err error) {
	x := &r.reuse
	runs, err := r.o.Facts.Runs(x.job, 1)
	if err != nil {
		return nil, err
	}
	s, err := r.o.State.ReadSite(x.job)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if len(runs) > 0 && runs[0].Verdict != Complete.String() {
		return nil, fmt.Errorf("its last run was %s", runs[0].Verdict)
	}
	if len(runs) > 0 && r.now().Sub(runs[0].Ended) > reuseKept { // its job was removed, or renamed, and the mirror is left
		return nil, fmt.Errorf("its last run was on %s", runs[0].Ended.Format(time.DateOnly))
	}
	// What that mirror reuses itself is its own, as far as its verification says so. What a replica sent it is not.
	chain, err := lastReuse(s)
	if err != nil {
		return nil, err
	}
	own := func(rec *store.Resource) bool {
		return rec.Source == "" || chain.Job != "" && chain.Differs == "" && ledger.TakenFrom(rec, chain.From, chain.At)
	}
	files = map[string]reusedFile{}
	once := map[string]string{}
	intern := func(s string) string {
		if v, ok := once[s]; ok {
			return v
		}
		s = strings.Clone(s)
		once[s] = s
		return s
	}
	from, _, err := site.Parse(x.from)
	if err != nil {
		return nil, err
	}
	err = s.Records.ResourcesUnder(from, func(rec *store.Resource) error {
		rest, ok := strings.CutPrefix(rec.URL.String(), x.from)
		if ok && rec.InSet && rec.Body != store.NoBody && own(rec) && !rec.NoFollow && !ledger.IsSitemap(rec) {
			files[strings.Clone(rest)] = reusedFile{mime: intern(rec.MIME), charset: intern(rec.Charset), modified: rec.Modified, checked: rec.Checked, size: rec.Size, digest: rec.Digest, body: rec.Body, at: rec.At}
		}
		return nil
	})
	return files, err
}

// takeReused takes a URL from the other mirror; nil when it does not. down says that its host is not asked in this run.
func (r *run) takeReused(rec *store.Resource, down bool) (*ledger.Finding, error) {
	x := &r.reuse
	rest, ok := strings.CutPrefix(rec.URL.String(), x.at)
	if x.mode == reuseNothing || !ok || r.traits.Sitemap(rec.ID) {
		return nil, nil
	}
	if _, known := r.origins.Rules(rec.URL); !known && !down || r.origins.Forbids(rec.URL) {
		return nil, nil
	}
	if x.mode == reuseKeeps {
		if !r.provenance.Reused(rec) {
			return nil, nil
		}
		r.sameBody(rec, rec)
		return r.unchanged(rec, ledger.Account{})
	}
	f, ok := x.files[rest]
	if most := int64(r.job.Limits.MaxBody); !ok || most > 0 && f.size > most { // that job may take larger ones than this
		return nil, nil
	}
	from, _, err := site.Parse(x.from + rest)
	if err != nil {
		return nil, nil
	}
	now := *rec
	now.Reason = fmt.Sprintf("of the mirror of job %s, which has it as %s", x.job, from)
	now.Status, now.Checked = http.StatusOK, max(rec.Checked, f.checked) // it is as old as there
	if rec.InSet && rec.Body != store.NoBody && rec.Digest == f.digest && rec.MIME == f.mime && rec.Charset == f.charset {
		x.taken.Add(1)
		r.sameBody(&now, &store.Resource{Source: from.String()})
		return r.unchanged(&now, ledger.Account{})
	}
	sink := r.bodies.New(from)
	sink.From = from.String()
	defer sink.Close()
	if err := r.readReusedBody(&f, sink); err != nil {
		if sink.Err() != nil {
			return nil, sink.Err()
		}
		r.log.Debug("not reused", "url", rec.URL.String(), "err", err)
		return nil, nil
	}
	x.taken.Add(1)
	return r.body(&now, f.result(), sink, ledger.Account{})
}

// result is the answer that would have brought a file of the other mirror.
func (f *reusedFile) result() *fetch.Result {
	res := &fetch.Result{Kept: true, Head: fetch.Head{
		Status:  http.StatusOK,
		MIME:    f.mime,
		Charset: f.charset,
		Length:  f.size,
		Header:  http.Header{},
	}}
	if f.modified > 0 {
		res.LastModified = time.Unix(f.modified, 0).UTC().Format(http.TimeFormat)
	}
	return res
}

// readReusedBody puts a body of the other mirror into a sink, and checks it.
func (r *run) readReusedBody(f *reusedFile, sink *source.Body) error {
	w, err := sink.Begin(&fetch.Head{MIME: f.mime, Length: f.size})
	if err != nil {
		return err
	}
	if f.body == store.PackBody {
		fr := r.reuse.readers.Get().(*store.FrameReader)
		defer r.reuse.readers.Put(fr)
		frame, err := r.reuse.docs.ReadFrame(fr, f.at)
		if err != nil {
			return err
		}
		_, err = w.Write(frame.Body)
		return errors.Join(err, sameDigest(sink, f))
	}
	in, err := r.o.State.Bodies.Open(f.digest, 0, -1)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return errors.Join(err, sameDigest(sink, f))
}

func sameDigest(sink *source.Body, f *reusedFile) error {
	if sink.Digest() != f.digest {
		return fmt.Errorf("body %x of another mirror: %w", f.digest[:8], store.ErrDamaged)
	}
	return nil
}

// endReuse lets go of the other mirror.
func (r *run) endReuse() {
	if r.reuse.docs != nil {
		if err := r.reuse.docs.Close(); err != nil {
			r.log.Warn("packs of another mirror", "job", r.reuse.job, "err", err)
		}
	}
	r.reuse.docs, r.reuse.files = nil, nil
}
