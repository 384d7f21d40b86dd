// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"time"

	"mirrord/evolution/policy"
)

// Result is what a policy requested and found.
type Result struct {
	Site   string        `json:"site"`
	Policy policy.Name   `json:"policy"`
	Train  int           `json:"train"` // full syncs before the first step
	Steps  []VersionStep `json:"steps"`
	Total  Total         `json:"total"`
}

// VersionStep is one version, as the policy met it.
type VersionStep struct {
	Version  int       `json:"version"`
	Time     time.Time `json:"time"`
	Files    int       `json:"files"`    // of the site
	Requests int       `json:"requests"` // of pages and listings
	Full     int       `json:"full"`     // what a full sync would have requested: files and directories
	Bytes    int64     `json:"bytes"`    // of the answers
	AllBytes int64     `json:"full_bytes"`
	Changes  int       `json:"changes"` // pages inserted, deleted and updated since the version before
	Found    int       `json:"found"`   // of them, on how many the mirror equals the site after the step

	BR    float64  `json:"br"`    // files of the site that were not requested / files of the site
	OP    *float64 `json:"op"`    // |M & S| / |M| over (path, content); null when the mirror is empty
	OR    *float64 `json:"or"`    // |M & S| / |S|; null when the site is empty
	CR    *float64 `json:"cr"`    // Found / Changes; null when nothing changed
	Stale float64  `json:"stale"` // pages on which mirror and site differ / pages in either
}

// Total sums up the steps. The names are those of the measures that the steps give one by one.
type Total struct {
	Requests int   `json:"requests"`
	Full     int   `json:"full"`
	Changes  int   `json:"changes"`
	Found    int   `json:"found"`
	Bytes    int64 `json:"bytes"`
	AllBytes int64 `json:"full_bytes"`

	Req     float64  `json:"req"`      // Requests / Full
	Moved   float64  `json:"moved"`    // Bytes / AllBytes
	BR      float64  `json:"br"`       // mean over the steps, as are OP, OR and Stale
	OP      *float64 `json:"op"`       //
	OR      *float64 `json:"or"`       //
	CR      *float64 `json:"cr"`       // macro: mean over the steps in which something changed
	CRMicro *float64 `json:"cr_micro"` // pooled: Found / Changes
	Stale   float64  `json:"stale"`
	Quiet   *float64 `json:"quiet"` // Requests / Full of the steps in which nothing changed
}

// ratio is a/b; nil when b is 0.
func ratio(a, b int) *float64 {
	if b == 0 {
		return nil
	}
	r := float64(a) / float64(b)
	return &r
}

// share is a/b; 0 when b is 0.
func share(a, b int) float64 {
	if r := ratio(a, b); r != nil {
		return *r
	}
	return 0
}

func (r *Result) add(w *World) {
	m := w.Measure()
	r.Steps = append(r.Steps, VersionStep{
		Version:  w.Now(),
		Time:     w.h.Versions[w.Now()].Time,
		Files:    m.Files,
		Requests: m.Requests,
		Full:     m.Full,
		Bytes:    m.Bytes,
		AllBytes: m.FullBytes,
		Changes:  m.Changes,
		Found:    m.Found,
		BR:       share(m.Files-m.Asked, m.Files),
		OP:       ratio(m.Same, m.Held),
		OR:       ratio(m.Same, m.Files),
		CR:       ratio(m.Found, m.Changes),
		Stale:    share(m.Stale, m.Union),
	})
}

// mean gathers values, those that are undefined left out.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

func (m *mean) addIf(v *float64) {
	if v != nil {
		m.add(*v)
	}
}

func (m *mean) value() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / float64(m.n)
}

func (m *mean) defined() *float64 {
	if m.n == 0 {
		return nil
	}
	v := m.value()
	return &v
}

// add adds sums.
func (t *Total) add(requests, full, changes, found int, bytes, allBytes int64) {
	t.Requests, t.Full, t.Changes, t.Found = t.Requests+requests, t.Full+full, t.Changes+changes, t.Found+found
	t.Bytes, t.AllBytes = t.Bytes+bytes, t.AllBytes+allBytes
}

func (r *Result) total() {
	t := &r.Total
	var br, op, or, cr, stale mean
	var quiet VersionStep
	for _, s := range r.Steps {
		if s.Changes == 0 {
			quiet.Requests, quiet.Full = quiet.Requests+s.Requests, quiet.Full+s.Full
		}
		t.add(s.Requests, s.Full, s.Changes, s.Found, s.Bytes, s.AllBytes)
		br.add(s.BR)
		op.addIf(s.OP)
		or.addIf(s.OR)
		cr.addIf(s.CR)
		stale.add(s.Stale)
	}
	t.Req, t.CRMicro = share(t.Requests, t.Full), ratio(t.Found, t.Changes)
	t.Moved = float64(t.Bytes) / float64(max(1, t.AllBytes))
	t.Quiet = ratio(quiet.Requests, quiet.Full)
	t.BR, t.OP, t.OR, t.CR, t.Stale = br.value(), op.defined(), or.defined(), cr.defined(), stale.value()
}

// Mean is the mean over sites: each counts the same. Values that are undefined on a site are left out there.
func Mean(results []*Result) Total {
	var t Total
	var req, moved, br, op, or, cr, micro, stale, quiet mean
	for _, r := range results {
		s := r.Total
		t.add(s.Requests, s.Full, s.Changes, s.Found, s.Bytes, s.AllBytes)
		req.add(s.Req)
		moved.add(s.Moved)
		br.add(s.BR)
		op.addIf(s.OP)
		or.addIf(s.OR)
		cr.addIf(s.CR)
		micro.addIf(s.CRMicro)
		stale.add(s.Stale)
		quiet.addIf(s.Quiet)
	}
	t.Quiet, t.Moved = quiet.defined(), moved.value()
	t.Req, t.BR, t.OP, t.OR, t.CR, t.CRMicro, t.Stale = req.value(), br.value(), op.defined(), or.defined(),
		cr.defined(), micro.defined(), stale.value()
	return t
}
