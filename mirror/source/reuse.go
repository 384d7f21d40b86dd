// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"mirrord/fetch"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/shared"
)

// A job may reuse a collection that another job mirrors: a crawler that knows of a replicated collection need
// fetch it only once (Cho, Shivakumar, Garcia-Molina, section 5.1). What lies under one directory of this
// site is taken, file by file, from that mirror's records and bodies. URLs, links and mirror paths are this
// site's; blobs are the same on disk. Some files are requested of the site itself at the first run and every
// reuseFor: while they have the same bytes, the rest is taken to have them too. Robots rules of this site
// hold as ever.

// ReuseSourceOptions are what a ReuseSource works with.
type ReuseSourceOptions struct {
	Supplies
	Provenance *urls.Provenance                                    // says which job's mirror is reused for what
	Mirrors    *store.State                                        // of other jobs; nil: nothing is taken
	Runs       func(job string, n int) ([]shared.RunRecord, error) // the last n runs of a job, newest first
	OpenBody   func(digest [32]byte, n int64) (io.ReadCloser, error)
	Run        func() int // number of the run, by which the sample of a verification is drawn
	Nofollow   bool       // whether nofollow is obeyed
}

// ReuseSource gives what another job has mirrored. Prepare comes before Get; Get is safe for concurrent use.
type ReuseSource struct {
	ReuseSourceOptions
	mode    reuseMode
	files   map[string]reusedFile // by what follows From; of mode reuseTakes
	docs    *bodies.Packs
	readers sync.Pool // of *bodies.FrameReader
	taken   atomic.Int64
}

// reusedFile has the needed fields of a record of the other mirror: a collection may have a million.
type reusedFile struct {
	mime, charset string // each value is one string
	modified      int64
	checked       int64
	size          int64
	digest        [32]byte
	body          record.BodyKind
	at            record.Place
}

type reuseMode uint8

const (
	reuseNothing reuseMode = iota // everything is requested of the site
	reuseTakes
	reuseKeeps // the other mirror cannot be read now: what was taken of it stays as it is
)

// NewReuseSource returns a ReuseSource that gives nothing until Prepare.
func NewReuseSource(o ReuseSourceOptions) *ReuseSource {
	return &ReuseSource{
		ReuseSourceOptions: o,
		readers:            sync.Pool{New: func() any { return bodies.NewFrameReader() }},
	}
}

// Covers reports whether Get may have an answer for a URL.
func (x *ReuseSource) Covers(u site.URL) bool {
	return x.mode != reuseNothing && strings.HasPrefix(u.String(), x.Provenance.At)
}

// Taken is how many answers were given of the other mirror as it is now.
func (x *ReuseSource) Taken() int64 { return x.taken.Load() }

// Get gives a URL from the other mirror. The only error is that of our disk.
func (x *ReuseSource) Get(_ context.Context, ask *Ask) (Answer, error) {
	rec, from := ask.Record, x.Provenance
	rest, ok := strings.CutPrefix(rec.URL.String(), from.At)
	if x.mode == reuseNothing || !ok {
		return Answer{}, nil
	}
	if x.mode == reuseKeeps {
		return x.kept(rec), nil
	}
	f, ok := x.files[rest]
	tooLarge := x.MaxBody > 0 && f.size > x.MaxBody // that job may take larger ones than this
	if !ok || tooLarge {
		return Answer{}, nil
	}
	u, _, err := site.Parse(from.From + rest)
	if err != nil {
		return Answer{}, nil
	}
	a := Answer{
		From:    FromReuse,
		Source:  u.String(),
		Reason:  fmt.Sprintf("of the mirror of job %s, which has it as %s", from.Job, u),
		Checked: max(rec.Checked, f.checked), // it is as old as there
	}
	held := rec.InSet && rec.Body != record.NoBody
	if held && rec.Digest == f.digest && rec.MIME == f.mime && rec.Charset == f.charset {
		a.Same = true
		x.taken.Add(1)
		return a, nil
	}
	body := x.Bodies.New(u)
	if err := x.read(&f, body); err != nil {
		defer body.Close()
		if body.Err() != nil {
			return Answer{}, body.Err()
		}
		x.Log.Debug("not reused", "url", rec.URL.String(), "err", err)
		return Answer{}, nil
	}
	x.taken.Add(1)
	a.Status, a.body = http.StatusOK, body
	a.Content = &Received{
		Body:     body,
		MIME:     f.mime,
		Charset:  f.charset,
		Modified: f.modified,
	}
	return a, nil
}

// kept is the answer while the other mirror cannot be read: what was taken of it stays as it is.
func (x *ReuseSource) kept(rec *record.Resource) Answer {
	if !x.Provenance.Reused(rec) {
		return Answer{}
	}
	return Answer{
		From:    FromReuse,
		Source:  rec.Source,
		Same:    true,
		Status:  statusOfHeld(rec),
		Reason:  rec.Reason,
		Checked: rec.Checked,
	}
}

// statusOfHeld is the status in the record of a body that the mirror holds, when another than the origin says
// that it is as it was: that the origin says that it is gone is not forgotten.
func statusOfHeld(rec *record.Resource) int {
	if urls.IsGone(rec) {
		return rec.Status
	}
	return 0
}

// read puts a body of the other mirror into a sink, and checks it.
func (x *ReuseSource) read(f *reusedFile, body *BodySink) error {
	w, err := body.Begin(&fetch.Head{MIME: f.mime, Length: f.size})
	if err != nil {
		return err
	}
	if f.body == record.PackBody {
		fr := x.readers.Get().(*bodies.FrameReader)
		defer x.readers.Put(fr)
		frame, err := x.docs.ReadFrame(fr, f.at)
		if err != nil {
			return err
		}
		_, err = w.Write(frame.Body)
		return errors.Join(err, sameDigest(body, f))
	}
	in, err := x.OpenBody(f.digest, -1)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return errors.Join(err, sameDigest(body, f))
}

func sameDigest(body *BodySink, f *reusedFile) error {
	if body.Digest() != f.digest {
		return fmt.Errorf("body %x of another mirror: %w", f.digest[:8], disk.ErrDamaged)
	}
	return nil
}

// Close lets go of the other mirror. There is no Get after it.
func (x *ReuseSource) Close() {
	if x.docs != nil {
		if err := x.docs.Close(); err != nil {
			x.Log.Warn("packs of another mirror", "job", x.Provenance.Job, "err", err)
		}
	}
	x.docs, x.files = nil, nil
}
