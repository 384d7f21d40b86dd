// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"slices"
	"sync"

	"mirrord/mirror/render"
	"mirrord/site"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// BodiesError says that a version cannot be made because stored bodies are damaged. It is a store.ErrDamaged.
type BodiesError struct {
	IDs   []uint32 // of the resources, ascending
	First error    // that was found
}

func (e *BodiesError) Error() string { return e.First.Error() }
func (e *BodiesError) Unwrap() error { return e.First }

// damagedBodies gathers the resources whose stored bodies turn out to be damaged. Safe for concurrent use;
// the zero value is ready.
type damagedBodies struct {
	mu    sync.Mutex
	ids   []uint32
	first error
}

func (d *damagedBodies) note(id uint32, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first == nil {
		d.first = err
	}
	d.ids = append(d.ids, id)
}

// explain returns the error of a build: a *BodiesError when damaged bodies are why.
func (d *damagedBodies) explain(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ids) == 0 || !errors.Is(err, disk.ErrDamaged) {
		return err
	}
	slices.Sort(d.ids)
	return &BodiesError{IDs: d.ids, First: d.first}
}

// LoseBody changes a record whose stored body is damaged, so that the next run requests it. Without
// validators and digest the answer is a body, and is stored even if it is the one that was lost.
func LoseBody(rec *record.Resource) {
	rec.ETag, rec.LastModified, rec.Digest = "", "", [32]byte{}
	rec.Outcome, rec.Reason = site.Failed, lostReason
}

const lostReason = "its stored body is damaged"

// IsRefused reports whether a run requested a URL whose stored body is damaged, and did not get it.
func IsRefused(rec *record.Resource, run int) bool {
	return rec.Outcome == site.Failed && rec.Run == run && rec.Reason != lostReason
}

// SiteBodies reads the stored bodies of a site.
type SiteBodies struct {
	Records Records
	Frames  render.FrameSource
	Blobs   *blobs.Blobs
}

// Lost looks at the bodies that a check noted as damaged. It returns the records of those whose body is
// damaged now, as LoseBody changes them. Blobs of wrong bytes are discarded, so that those that come can take
// their place.
func (b *SiteBodies) Lost(noted []string) (lost []record.Resource, err error) {
	err = b.each(noted, func(rec *record.Resource) error {
		if rec.Body == record.NoBody {
			return nil
		}
		bad, err := b.damaged(rec)
		if bad { // if not, an older body is, or another site has stored this one again
			LoseBody(rec)
			rec.Expires, rec.Evidence = 0, [len(rec.Evidence)]uint64{} // so that nothing saves the request
			lost = append(lost, *rec)
		}
		return err
	})
	return lost, err
}

func (b *SiteBodies) each(noted []string, f func(rec *record.Resource) error) error {
	for _, raw := range noted {
		u, _, err := site.Parse(raw)
		if err != nil { // no check notes such a one
			continue
		}
		rec, ok, err := b.Records.Get(u)
		if err == nil && ok {
			err = f(&rec)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// damaged looks at the body of a record. A damaged blob is discarded.
func (b *SiteBodies) damaged(rec *record.Resource) (bool, error) {
	if rec.Body == record.BlobBody {
		return b.Blobs.Discard(rec.Digest)
	}
	f, err := b.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
	if errors.Is(err, blobs.ErrAway) {
		return false, err
	}
	return err != nil || !record.IsDigestOf(rec.Digest, f.Body), nil
}

// Returned says what became of the requests for URLs whose bodies were damaged: came are those whose bodies
// came and are published as they are, so that the published files can be replaced by them; left are to be
// requested again by the next run.
func (b *SiteBodies) Returned(noted []string) (came []record.Resource, left []string, err error) {
	err = b.each(noted, func(rec *record.Resource) error {
		switch {
		case !rec.InSet || rec.Path == "":
		case rec.Digest == [32]byte{}:
			left = append(left, rec.URL.String())
		case rec.Body == record.BlobBody:
			came = append(came, *rec)
		}
		return nil
	})
	return came, left, err
}
