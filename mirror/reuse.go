package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"mirrord/fetch"
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
	files         map[string]store.Resource // by what follows from; of mode reuseTakes
	docs          *store.Documents
	held          map[uint32]bool // resources of this mirror that were taken from it; guarded by the lock of the run's alternates
	taken         atomic.Int64
}

type reuseMode uint8

const (
	reuseNothing reuseMode = iota // everything is asked of the site
	reuseTakes
	reuseKeeps // the other mirror cannot be read now: what was taken of it stays as it is
)

// Of a verification: reuseFor is for how long it holds; reuseTried files are asked at most, reuseEnough with the same bytes are enough, and with less than
// reuseLeast, when there are so many, nothing is said.
const (
	reuseFor    = 7 * 24 * time.Hour
	reuseTried  = 24
	reuseEnough = 8
	reuseLeast  = 5
	reuseSample = 4 << 20 // bytes of the largest file that is compared
)

const reuseFact = "reuse"

// reuseRecord is the last verification.
type reuseRecord struct {
	Job      string    `json:"job"`
	From     string    `json:"from"`
	At       string    `json:"at"`
	Verified time.Time `json:"verified"`
	Same     int       `json:"same"`
	Differs  string    `json:"differs,omitempty"` // a URL whose bytes were others
}

// holds reports whether a resource of this mirror was taken from the other one.
func (x *reuse) holds(rec *store.Resource) bool {
	if x.job == "" || rec.Source == "" || !strings.HasPrefix(rec.Source, x.from) || !strings.HasPrefix(rec.URL.String(), x.at) {
		return false
	}
	return rec.InSet
}

// prepareReuse reads what the other mirror holds, and verifies it when it is time.
func (r *run) prepareReuse(ctx context.Context) error {
	x := &r.reuse
	if x.job == "" {
		return nil
	}
	x.mode = reuseKeeps
	files, err := r.readReused()
	if err != nil {
		r.notes.cap(fmt.Sprintf("reuse: the mirror of %s cannot be used in this run, what was taken of it stays as it is: %v", x.job, err))
		return nil
	}
	var last reuseRecord
	v, err := r.site.Fact(reuseFact)
	if err != nil {
		return err
	}
	if v != nil && json.Unmarshal(v, &last) != nil {
		last = reuseRecord{}
	}
	if last.Job != x.job || last.From != x.from || last.At != x.at || r.now().Sub(last.Verified) > reuseFor {
		var said bool
		if last, said, err = r.verifyReuse(ctx, files); err != nil {
			return nil // the run ends
		}
		if said {
			if v, err = json.Marshal(last); err == nil {
				err = r.site.SetFact(reuseFact, v)
			}
			if err != nil {
				return err
			}
		} else {
			r.notes.cap(fmt.Sprintf("reuse: only %d files of %s could be compared with the site's: nothing new is taken", last.Same, x.job))
			return nil
		}
	}
	if last.Differs != "" {
		x.mode = reuseNothing
		r.notes.cap(fmt.Sprintf("reuse: %s was another file than the mirror of %s has, on %s: everything is asked of the site", last.Differs, x.job, last.Verified.Format("2006-01-02")))
		return nil
	}
	if x.docs, err = r.o.State.Documents(x.job); err != nil {
		r.notes.cap(fmt.Sprintf("reuse: %v", err))
		return nil
	}
	x.mode, x.files = reuseTakes, files
	return nil
}

// readReused reads the records of the other mirror, which is locked only as long as that takes.
func (r *run) readReused() (files map[string]store.Resource, err error) {
	x := &r.reuse
	runs, err := r.o.State.Runs(x.job, 1)
	if err != nil {
		return nil, err
	}
	if len(runs) > 0 && runs[0].Verdict != Complete.String() {
		return nil, fmt.Errorf("its last run was %s", runs[0].Verdict)
	}
	s, err := r.o.State.ReadSite(x.job)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	files = map[string]store.Resource{}
	err = s.Resources(func(rec *store.Resource) error {
		rest, ok := strings.CutPrefix(rec.URL.String(), x.from)
		if ok && rec.InSet && rec.Body != store.NoBody && rec.Source == "" && !rec.NoFollow && !wasSitemap(rec) {
			files[rest] = store.Resource{URL: rec.URL, MIME: rec.MIME, Charset: rec.Charset, Modified: rec.Modified, Size: rec.Size, Digest: rec.Digest, Body: rec.Body, At: rec.At}
		}
		return nil
	})
	return files, err
}

// verifyReuse asks the site for some of the files. said is false when too few answers came to say something. The only error is that ctx ended.
func (r *run) verifyReuse(ctx context.Context, files map[string]store.Resource) (rec reuseRecord, said bool, err error) {
	x := &r.reuse
	rec = reuseRecord{Job: x.job, From: x.from, At: x.at, Verified: r.now().UTC()}
	k := r.newAsker()
	rests := leastPaths(fmt.Sprintf("%s %d", x.at, r.state.Number), func(yield func(string) bool) {
		for rest, f := range files {
			if f.Size <= reuseSample && !yield(rest) {
				return
			}
		}
	}, reuseTried)
	for _, rest := range rests {
		if rec.Same >= reuseEnough {
			break
		}
		u, _, err := site.Parse(x.at + rest)
		if err != nil || !r.scope.Covers(u) {
			continue
		}
		ok, _, err := k.allowed(ctx, u)
		if err != nil {
			return rec, false, err
		}
		if !ok {
			continue
		}
		var body pageSink
		res, err := k.exchange(ctx, fetch.Request{URL: u, MaxBody: 2 * reuseSample}, &body)
		switch {
		case ctx.Err() != nil:
			return rec, false, ctx.Err()
		case err != nil || !res.Kept || res.Status != http.StatusOK:
		case sha256.Sum256(body.Bytes()) == files[rest].Digest:
			rec.Same++
		default:
			rec.Differs = u.String()
			return rec, true, nil
		}
	}
	return rec, rec.Same > 0 && rec.Same >= min(reuseLeast, len(files)), nil
}

// takeReused takes a URL from the other mirror, and reports whether an outcome is recorded. down says that its host is not asked in this run.
func (r *run) takeReused(ctx context.Context, rec *store.Resource, down bool) bool {
	x := &r.reuse
	rest, ok := strings.CutPrefix(rec.URL.String(), x.at)
	if x.mode == reuseNothing || !ok || r.isSitemap(rec.ID) {
		return false
	}
	if _, known := r.rulesOf(rec.URL); !known && !down || r.forbids(rec.URL) {
		return false
	}
	if x.mode == reuseKeeps {
		if !x.holds(rec) {
			return false
		}
		r.sameBody(rec, rec)
		r.unchanged(ctx, rec)
		return true
	}
	f, ok := x.files[rest]
	if !ok {
		return false
	}
	now := *rec
	now.Reason = fmt.Sprintf("of the mirror of job %s, which has it as %s", x.job, f.URL)
	now.Status = http.StatusOK
	x.taken.Add(1)
	if rec.InSet && rec.Body != store.NoBody && rec.Digest == f.Digest && rec.MIME == f.MIME && rec.Charset == f.Charset {
		r.sameBody(&now, &store.Resource{Source: f.URL.String()})
		r.unchanged(ctx, &now)
		return true
	}
	sink := r.newSink(f.URL)
	sink.source = f.URL.String()
	defer sink.close()
	if err := r.readReusedBody(&f, sink); err != nil {
		x.taken.Add(-1)
		if sink.err != nil {
			r.stop(sink.err)
			return true
		}
		r.log.Debug("not reused", "url", rec.URL.String(), "err", err)
		return false
	}
	res := &fetch.Result{Kept: true, Head: fetch.Head{Status: http.StatusOK, MIME: f.MIME, Charset: f.Charset, Length: f.Size, Header: http.Header{}}}
	if f.Modified > 0 {
		res.LastModified = time.Unix(f.Modified, 0).UTC().Format(http.TimeFormat)
	}
	r.body(ctx, &now, res, sink)
	return true
}

// readReusedBody puts a body of the other mirror into a sink, and checks it.
func (r *run) readReusedBody(f *store.Resource, sink *bodySink) error {
	w, err := sink.Begin(&fetch.Head{MIME: f.MIME, Length: f.Size})
	if err != nil {
		return err
	}
	if f.Body == store.PackBody {
		fr, err := r.reuse.docs.ReadFrame(store.NewFrameReader(), f.At)
		if err != nil {
			return err
		}
		_, err = w.Write(fr.Body)
		return errors.Join(err, sameDigest(sink, f))
	}
	in, err := r.o.State.Blobs.Open(f.Digest)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return errors.Join(err, sameDigest(sink, f))
}

func sameDigest(sink *bodySink, f *store.Resource) error {
	if sink.digest() != f.Digest {
		return fmt.Errorf("body of %s: %w", f.URL, store.ErrDamaged)
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

// owesForeign reports whether the run looks at a resource whatever the plan thinks: its body is not of the site itself. What is reused costs no request.
func (r *run) owesForeign(id uint32) bool {
	r.alt.mu.Lock()
	defer r.alt.mu.Unlock()
	_, foreign := r.alt.foreign[id]
	return foreign || r.reuse.held[id]
}
