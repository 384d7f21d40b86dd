// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"strings"
	"sync"
	"time"

	"mirrord/store/record"
)

// Provenance knows which bodies of the mirror the site itself did not send, as records say and as the run
// continues. A body from the mirror of another job (reuse) was verified and counts as the site's; a body
// from a replica is fetched again as soon as the origin answers. It is safe for concurrent use.
type Provenance struct {
	// What lies under At may be what the mirror of Job has under From. Job "": nothing is reused.
	Job, From, At string

	mu       sync.Mutex
	replicas map[uint32]int64 // bodies from replicas, with the Unix seconds at which they came
	reused   IDSet
	hearsay  IDSet // of which in this run not the origin said that they are as they were
}

// Reused reports whether the body of a record was taken from the other mirror.
func (p *Provenance) Reused(rec *record.Resource) bool {
	return p.Job != "" && rec.InSet && TakenFrom(rec, p.From, p.At)
}

// TakenFrom reports whether the body of a resource below at came from below from.
func TakenFrom(rec *record.Resource, from, at string) bool {
	return rec.Source != "" && strings.HasPrefix(rec.Source, from) && strings.HasPrefix(rec.URL.String(), at)
}

// LastingFailures is how many runs in a row a URL must fail to count as broken: it no longer makes a run
// partial.
const LastingFailures = 3

// IsGone reports whether the origin's last word on a resource was that it is gone.
func IsGone(rec *record.Resource) bool { return rec.Status == 404 || rec.Status == 410 }

// Note takes what a record says. A body from a replica of what the origin says is gone is not waited for.
func (p *Provenance) Note(rec *record.Resource) {
	reused := p.Reused(rec)
	p.mu.Lock()
	defer p.mu.Unlock()
	if reused {
		p.reused.Put(rec.ID, true)
	}
	if reused || rec.Source == "" || !rec.InSet || IsGone(rec) {
		delete(p.replicas, rec.ID)
		return
	}
	if p.replicas == nil {
		p.replicas = map[uint32]int64{}
	}
	p.replicas[rec.ID] = rec.Fetched
}

// FromReplica reports whether the body of a resource is a replica's.
func (p *Provenance) FromReplica(id uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, is := p.replicas[id]
	return is
}

// FromReplicas counts the bodies from replicas, and those of them that came after since.
func (p *Provenance) FromReplicas(since time.Time) (all, recent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.replicas {
		if !time.Unix(at, 0).Before(since) {
			recent++
		}
	}
	return len(p.replicas), recent
}

// Owed reports whether the run looks at a resource regardless of the plan: its body is not from the site
// itself. Reuse costs no request.
func (p *Provenance) Owed(id uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, is := p.replicas[id]
	return is || p.reused.Has(id)
}

// SetHearsay notes that not the origin said in this run that a resource is as it was.
func (p *Provenance) SetHearsay(id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hearsay.Put(id, true)
}

// Hearsay reports whether not the origin said in this run that a resource is as it was.
func (p *Provenance) Hearsay(id uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hearsay.Has(id)
}
