// SPDX-License-Identifier: Apache-2.0

package process

import (
	"runtime"
	"sync/atomic"

	"mirrord/mirror/parse"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// reading turns the body of an answer into a finding: it has the body read, lets the URLs that it links to
// enter the frontier, and has it stored. It is safe for concurrent use, for one URL at a time.
type reading struct {
	Options
	procs   chan *documentReader
	codings *encodings
	large   inMemory
	news    atomic.Bool // a body was stored, for which this run makes a version
}

func newReading(o Options) *reading {
	return &reading{
		Options: o,
		procs:   newProcessors(&o),
		codings: &encodings{Options: o},
	}
}

// documentReader is what one worker needs to read and encode a document. There are as many as CPUs, because
// each has buffers.
type documentReader struct {
	read  *parse.Reader
	in    parse.Body // what it reads
	w     *bodies.FrameWriter
	r     *bodies.FrameReader
	links []byte
}

// newProcessors returns as many processors as there are CPUs.
func newProcessors(o *Options) chan *documentReader {
	how := parse.Options{
		Rules:        o.Rules,
		MaxLinks:     int(o.Job.Limits.MaxLinks),
		Scripts:      o.Job.Scripts,
		ObeyRobots:   o.Job.ObeyRobots,
		ObeyNofollow: o.Job.ObeyNofollow.Obeyed,
		ByProfile:    o.Job.ObeyNofollow.ByProfile,
		Tired:        o.Admission.Tired,
	}
	n := runtime.GOMAXPROCS(0)
	procs := make(chan *documentReader, n)
	for range n {
		procs <- &documentReader{
			read: parse.NewReader(how),
			w:    o.Frames.NewFrameWriter(),
			r:    bodies.NewFrameReader(),
		}
	}
	return procs
}

// giveTo gives a processor back, which does not refer to the body that it read.
func (p *documentReader) giveTo(procs chan<- *documentReader) {
	p.in = parse.Body{}
	procs <- p
}

// forget gives up the memory of the last document.
func (p *documentReader) forget() {
	p.read.Forget()
	p.links = nil
}

// record returns the stored record of a URL, or a new one.
func (r *reading) record(id uint32, u site.URL) (record.Resource, error) {
	s := r.Table.State(id)
	if s.Known() && !r.Traits.Is(id, urls.IsReopened) {
		rec, ok, err := r.Records.Get(u)
		if err != nil {
			return rec, err
		}
		if ok {
			rec.Requis = rec.Requis || s.Requisite()
			return rec, nil
		}
	}
	return record.Resource{
		ID:       id,
		URL:      u,
		Referrer: s.Referrer(),
		Depth:    s.Depth(),
		Requis:   s.Requisite(),
	}, nil
}

// isGuess reports whether only strings in scripts name a URL.
func (r *reading) isGuess(id uint32) bool { return r.Table.State(id).Guessed() }

// misled reports whether a guess of an image or the like was answered with a page: many a site has one for
// every path.
func (r *reading) misled(rec *record.Resource, mime string) bool {
	return !rec.InSet && parse.Misleads(rec.URL, mime) && r.isGuess(rec.ID)
}
