// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
)

// ProblemKind says which part of a site is not as it must be.
type ProblemKind string

// The kinds of a Problem.
const (
	BadDatabase ProblemKind = "database" // pages or buckets of site.db
	BadRecord   ProblemKind = "record"   // a record, its number or its key
	BadFrame    ProblemKind = "frame"    // a document in the packs
	BadBlob     ProblemKind = "blob"
	BadHead     ProblemKind = "head"    // the head of an answer
	BadLinks    ProblemKind = "links"   // the list of what a document links to
	BadJournal  ProblemKind = "journal" // a batch of the unfinished run
	BadHistory  ProblemKind = "history"
	BadVersion  ProblemKind = "version" // the list of versions, or the record of one
	BadCurrent  ProblemKind = "current" // the link to the published tree
	BadTree     ProblemKind = "tree"    // the published tree itself
	BadLog      ProblemKind = "log"     // what a damaged database is made of again
	BadShared   ProblemKind = "shared"  // mirror.db, which belongs to no site
)

// Problem is one thing that Verify found.
type Problem struct {
	Kind    ProblemKind `json:"kind"`
	Subject string      `json:"subject,omitempty"` // URL, file or number
	Detail  string      `json:"detail"`
}

func (p Problem) String() string {
	if p.Subject == "" {
		return fmt.Sprintf("%s: %s", p.Kind, p.Detail)
	}
	return fmt.Sprintf("%s: %s: %s", p.Kind, p.Subject, p.Detail)
}

// Stats say how much Verify looked at.
type Stats struct {
	Records  int   `json:"records"`
	Journal  int   `json:"journal"` // records of the unfinished run
	Frames   int   `json:"frames"`
	Blobs    int   `json:"blobs"`
	Heads    int   `json:"heads"` // of answers, each time that a record refers to one
	Bytes    int64 `json:"bytes"` // of bodies that were read
	Versions int   `json:"versions"`
	Away     int   `json:"away,omitempty"` // frames and blobs that were not looked at: a depot has them
	Problems int   `json:"problems"`

	// what the power cost of the log; no problem, because the database is whole
	TornLog string `json:"torn_log,omitempty"`
}

// Verify checks everything that this package keeps of a site and reports every problem. The site may be open
// for reading or writing, but no run may be under way. An error reports that Verify could not continue (ctx
// ended), not that something was found. report may be nil.
func (s *Site) Verify(ctx context.Context, report func(Problem)) (st Stats, err error) {
	return s.Sample(ctx, Sampling{}, report)
}

// Sample is Verify for some of the stored bodies: the database and its log are checked as a whole.
func (s *Site) Sample(ctx context.Context, o Sampling, report func(Problem)) (st Stats, err error) {
	v := &verifier{
		s:        s,
		ctx:      ctx,
		sampling: o,
		report:   report,
		frames:   bodies.NewFrameReader(),
		blobs:    map[[32]byte]bool{},
	}
	s.Frames.Forget()
	err = v.run(v.database, v.log, v.meta, v.records, v.journal, v.linkLists, v.looks, v.history,
		v.observations, v.versions, v.current)
	return v.st, err
}

// Unreadable reports whether only Redo or Rebuild helps the database: its pages or values are damaged. The
// error is that ctx ended.
func (s *Site) Unreadable(ctx context.Context) (bad bool, err error) {
	v := &verifier{
		s:        s,
		ctx:      ctx,
		bodiless: true,
	}
	listed := func() error { // without which no run begins
		_, err := s.Versions.List()
		return err
	}
	err = v.run(v.database, v.meta, v.records, v.journal, v.linkLists, v.looks, v.observations, listed)
	return (err == nil) && (v.st.Problems > 0), err
}

type verifier struct {
	s        *Site
	ctx      context.Context
	sampling Sampling
	bodiless bool // bodies and their records are not checked
	report   func(Problem)
	st       Stats
	frames   *bodies.FrameReader
	known    uint32            // numbers given
	seen     record.Bits       // numbers of records
	blobs    map[[32]byte]bool // already looked at
	live     int               // number of the published version
	waiting  []stored          // documents that are read in the order of the packs
	late     error             // of sampling.Spend
}

func (v *verifier) problem(k ProblemKind, subject, format string, args ...any) {
	v.st.Problems++
	if v.report != nil {
		v.report(Problem{k, subject, fmt.Sprintf(format, args...)})
	}
}

// run runs steps. An error of reading is a finding: only the end of ctx ends the work.
func (v *verifier) run(steps ...func() error) error {
	for _, step := range steps {
		if err := v.ended(); err != nil {
			return err
		}
		err := step()
		v.documents()
		if err == nil {
			continue
		}
		if err := v.ended(); err != nil {
			return err
		}
		v.problem(BadDatabase, "", "%v", err)
	}
	return nil
}

// database checks all pages of site.db, also when it was opened a moment ago.
func (v *verifier) database() error {
	if err := v.s.DB.Recheck(); err != nil {
		v.problem(BadDatabase, home.SiteDB, "%v", err)
		return nil
	}
	if err := v.s.DB.View((*db.Tx).CheckSums); err != nil {
		v.problem(BadDatabase, home.SiteDB, "%v", err)
	}
	return nil
}

// log reads the log up to the last transaction that this view has.
func (v *verifier) log() error {
	last, _, err := db.Last(v.s.DB)
	if err != nil {
		return err
	}
	got, state, err := log.Check(v.s.Root, func(n int64) error {
		v.spend(n)
		return v.ended()
	})
	switch {
	case err != nil, state == log.Whole, got >= last && (state == log.Torn || v.s.DB.Busy):
	case got >= last:
		v.problem(BadLog, log.Folder,
			"it is damaged after transaction %d: what the unfinished run had behind that "+
				"is lost, and the next run asks for it again", got)
	case state == log.Torn && v.st.Problems == 0:
		v.st.TornLog = fmt.Sprintf("its log ends with transaction %d of %d, because the power went: nothing is "+
			"lost, and the next run begins it again", got, last)
	default:
		v.problem(BadLog, log.Folder, "it is damaged after transaction %d of %d; nothing is lost as long as the "+
			"database is whole, and the next run begins it again", got, last)
	}
	return err
}

func (v *verifier) meta() (err error) {
	if v.known, err = v.s.Records.Known(); err != nil {
		return err
	}
	return v.s.DB.View(func(tx *db.Tx) error {
		if _, err := record.ReadRun(tx.Meta().Get(home.KeyRun)); err != nil {
			v.problem(BadDatabase, "run", "%v", err)
		}
		for _, b := range [][]byte{home.Resources, home.Links, home.History, home.Versions, home.Scripts} {
			if tx.Bucket(b) == nil {
				v.problem(BadDatabase, string(b), "the bucket is missing")
			}
		}
		return nil
	})
}

// records checks every record and the body that it refers to.
func (v *verifier) records() error {
	var r record.Resource
	return v.s.Each(home.Resources, func(k, val []byte) error {
		if err := v.ended(); err != nil {
			return err
		}
		v.st.Records++
		if err := r.DecodeKeyed(k, val); err != nil {
			v.problem(BadRecord, fmt.Sprintf("%q", k), "%v", err)
			return nil
		}
		if v.seen.Has(r.ID) {
			v.problem(BadRecord, r.URL.String(), "its number %d is also that of another URL", r.ID)
		}
		v.given(r.ID)
		v.record(BadRecord, &r)
		return nil
	})
}

func (v *verifier) given(id uint32) {
	if id < v.known {
		v.seen.Add(id)
	}
}

// record checks what holds for a record wherever it stands.
func (v *verifier) record(k ProblemKind, r *record.Resource) {
	name := r.URL.String()
	if r.ID >= v.known {
		v.problem(k, name, "its number is %d, but only %d are given", r.ID, v.known)
	}
	if r.Target > v.known || r.Referrer > v.known || r.Like > v.known {
		v.problem(k, name, "it refers to a number that is not given")
	}
	if r.Outcome > site.Program {
		v.problem(k, name, "its outcome %d is unknown", r.Outcome)
	}
	if pick := v.sampling.Pick; v.bodiless || (pick != nil && !pick(name)) {
		return
	}
	v.heads(r)
	switch r.Body {
	case record.NoBody:
		if r.InSet {
			v.problem(k, name, "it is in the mirror and has no body")
		}
	case record.PackBody:
		v.later(r)
	case record.BlobBody:
		v.blob(r)
	default:
		v.problem(k, name, "its body is of the unknown kind %d", r.Body)
	}
}

func (v *verifier) heads(r *record.Resource) {
	for _, at := range [...]record.HeadPlace{r.Head, r.LastHead} {
		if at.IsZero() {
			continue
		}
		v.st.Heads++
		if _, err := v.s.Records.ReadHead(r.URL, at); err != nil {
			v.problem(BadHead, r.URL.String(),
				"%v; it is lost, and nothing else: mirrord gc forgets it, and a run that fetches the page keeps the "+
					"new one", err)
		}
	}
}

func (v *verifier) linkLists() error {
	return v.s.Each(home.Links, func(k, val []byte) error {
		if err := v.ended(); err != nil {
			return err
		}
		if len(k) != 4 {
			v.problem(BadLinks, fmt.Sprintf("%x", k), "the key is no number")
			return nil
		}
		id := binary.BigEndian.Uint32(k)
		if !v.seen.Has(id) {
			v.problem(BadLinks, fmt.Sprint(id), "there is no record with this number")
		}
		v.targets(BadLinks, fmt.Sprint(id), val)
		return nil
	})
}

func (v *verifier) targets(k ProblemKind, subject string, list []byte) {
	last, first := uint32(0), true
	end := record.Targets(list, func(id uint32) bool {
		if (id != record.Unnumbered && id&^(record.Mention|record.Guess) >= v.known) || (!first && id <= last) {
			v.problem(k, subject, "it links to number %d, of %d, after %d", id, v.known, last)
			return false
		}
		last, first = id, false
		return true
	})
	if !end {
		v.problem(k, subject, "the list is cut short or has a bad number")
	}
}

func (v *verifier) journal() error {
	var r record.Resource
	err := v.s.Batches(func(tx uint64, b *record.LogBatch) error {
		if err := v.ended(); err != nil {
			return err
		}
		name := fmt.Sprintf("batch %d", tx)
		if n := uint64(b.First) + uint64(len(b.News)); n > uint64(v.known) {
			v.problem(BadJournal, name, "it gives numbers up to %d, of %d", n, v.known)
		}
		for i := range b.News {
			if _, err := record.StoredURL(b.News[i].URL); err != nil {
				v.problem(BadJournal, name, "%v", err)
			}
		}
		for i := range b.Done {
			d := &b.Done[i]
			v.st.Journal++
			if err := d.Decode(&r); err != nil {
				v.problem(BadJournal, name, "%v", err)
				continue
			}
			r.Head, r.LastHead = record.HeadPlace{}, record.HeadPlace{} // not those that it will have
			v.record(BadJournal, &r)
			v.given(r.ID) // a kill may have ended Fold when it had written the links and not yet the record
			if d.Linked {
				v.targets(BadJournal, r.URL.String(), d.Targets)
			}
		}
		return nil
	})
	if errors.Is(err, record.ErrValue) {
		v.problem(BadJournal, "", "%v", err)
		err = nil
	}
	return err
}

func (v *verifier) looks() error {
	list, err := v.s.Records.Looks()
	if err != nil {
		v.problem(BadDatabase, "looks", "%v", err)
		return nil
	}
	for _, l := range list {
		if n := len(l.IDs); n > 0 && l.IDs[n-1].Last >= v.known {
			v.problem(BadDatabase, fmt.Sprintf("looks of run %d", l.Run), "URL number %d of %d",
				l.IDs[n-1].Last, v.known)
		}
	}
	return v.ctx.Err()
}

// observations checks what runs have observed: numbers that were given, and no change of what was not
// requested.
func (v *verifier) observations() error {
	return v.s.Records.Observations(func(o *record.Observation) error {
		subject := fmt.Sprintf("observations of run %d", o.Run)
		for _, s := range [...]record.IDs{o.Asked, o.Spared, o.Changed, o.Entered, o.Left, o.Audited, o.Joined} {
			if n := len(s); n > 0 && s[n-1].Last >= v.known {
				v.problem(BadDatabase, subject, "URL number %d of %d", s[n-1].Last, v.known)
				return v.ctx.Err() // sets that are wrong may have four billion numbers
			}
		}
		for id := range o.Changed.All() {
			if !o.Asked.Has(id) {
				v.problem(BadDatabase, subject, "URL number %d changed without a request", id)
				break
			}
		}
		return v.ctx.Err()
	})
}

// Sampling says which stored bodies a check reads, and how fast. The zero value reads all, as fast as it can.
type Sampling struct {
	Pick func(url string) bool // the resources whose bodies are read; nil: all
	// Spend is called before n bytes are read, and may wait; an error ends the check. nil: nothing waits
	Spend func(n int64) error
}

func (v *verifier) spend(n int64) {
	if (v.sampling.Spend != nil) && (v.late == nil) {
		v.late = v.sampling.Spend(n)
	}
}

func (v *verifier) ended() error {
	if v.late != nil {
		return v.late
	}
	return v.ctx.Err()
}

type pacedReader struct {
	r io.Reader
	v *verifier
}

func (p pacedReader) Read(b []byte) (int, error) {
	if p.v.spend(int64(len(b))); p.v.late != nil {
		return 0, p.v.late
	}
	return p.r.Read(b)
}
