// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"

	"mirrord/fetch/heads"
	"mirrord/mirror/frontier"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/site"
	"mirrord/store/record"
)

// Options are what a Processor is made from. All are needed; the run is planned.
type Options struct {
	*run.Terms
	*urls.KnownURLs
	*frontier.Dispatcher
	Stores

	Sources   AnswerSources
	Chain     *source.Chain // for requests beside those of the run
	Admission *frontier.Admission
	SkipPlan  *revisit.SkipPlan
	Shapes    *verdict.Shapes
}

// Stores are where records are read, and bodies are read and written.
type Stores struct {
	Records Records
	Frames  Frames
	Bodies  StoredBodies
	Saver   *Saver
}

// Records is what the store has of URLs. *facts.Records is one. It is safe for concurrent use.
type Records interface {
	Get(u site.URL) (r record.Resource, ok bool, err error)
	Resources(f func(r *record.Resource) error) error
	Links(f func(id uint32, targets []byte) error) error
	TargetsOf(id uint32) ([]byte, error)
	Replay(
		newURL func(id uint32, u record.NewURL) error,
		done func(r *record.Resource, targets []byte, linked bool) error,
	) error
	ReadHead(u site.URL, at record.HeadPlace) (*heads.Head, error)
}

// AnswerSources give answers, in the order that source.Chain has. *source.Chain is one. It is safe for
// concurrent use.
type AnswerSources interface {
	Get(ctx context.Context, ask *source.Ask) (source.Answer, error)
	Offers(of source.Provider, u site.URL) bool // whether Get may have an answer of a source
	IsWell() bool                               // whether some replica is trusted and answers
	Took(a *source.Answer)                      // that became an outcome
}

// Processor finds the outcome of one URL: without a request, from the origin, or from a replica. It is safe
// for concurrent use, for one URL at a time.
type Processor struct {
	Options
	read *reading
}

// New returns the Processor of a run.
func New(o Options) *Processor { return &Processor{Options: o, read: newReading(o)} }

// Found is what one turn of a URL came to. Without an outcome and without another turn the URL is left for
// the next run.
type Found struct {
	Finding *urls.Finding // the outcome; nil for none
	Turn    urls.Turn     // another request of this run
	Spent   urls.Again    // for these reasons there is no other turn
}

// outcome wraps a finding that ends what this run has to do with a URL.
func outcome(f *urls.Finding, err error) (Found, error) { return Found{Finding: f}, err }

// Record returns the stored record of a URL, or a new one.
func (x *Processor) Record(id uint32, u site.URL) (record.Resource, error) {
	return x.read.record(id, u)
}

// HearStored takes the stored body of a source that has not changed as evidence.
func (x *Processor) HearStored(rec *record.Resource) error { return x.read.hearStored(rec) }

// ResumeLinks puts into the frontier what the documents that were answered before an interruption link to.
func (x *Processor) ResumeLinks() error { return x.read.resumeLinks() }
