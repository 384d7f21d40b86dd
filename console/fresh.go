// SPDX-License-Identifier: Apache-2.0

package console

import (
	"html/template"
	"maps"
	"slices"
	"sync"
	"time"

	"mirrord/app/daemon"
	"mirrord/app/nodes"
	"mirrord/scheduler/status"
)

// freshStatus keeps the status of all jobs for a moment, as many may look at the list. It is safe for
// concurrent use.
type freshStatus struct {
	daemon nodes.Shown
	keep   time.Duration

	mu  sync.Mutex
	at  time.Time // zero: nothing is kept
	all status.All

	titled   map[string]versionTitle // by job
	stripped map[string]runStrip     // by job
}

// versionTitle is what the published version of a mirror says of itself.
type versionTitle struct {
	version int
	title   daemon.MirrorTitle
}

// mostTitled is how many are kept.
const mostTitled = 10_000

// titles is what published mirrors say of themselves. It is read once for each version.
func (f *freshStatus) titles(jobs []status.Job) map[string]daemon.MirrorTitle {
	out := make(map[string]daemon.MirrorTitle, len(jobs))
	unknown := map[string]int{} // versions by job
	f.mu.Lock()
	for i := range jobs {
		j := &jobs[i]
		if k, ok := f.titled[j.Name]; ok && k.version == j.Version {
			out[j.Name] = k.title
		} else if j.Version > 0 {
			unknown[j.Name] = j.Version
		}
	}
	f.mu.Unlock()
	if len(unknown) == 0 {
		return out
	}
	read := f.daemon.Titles(slices.Collect(maps.Keys(unknown)))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.titled == nil || len(f.titled)+len(unknown) > mostTitled {
		f.titled = map[string]versionTitle{}
	}
	for name, version := range unknown {
		if title, ok := read[name]; ok {
			out[name] = title
			f.titled[name] = versionTitle{version, title}
		}
	}
	return out
}

// get returns the status, at most keep old. The jobs may be sorted, and what they point to only read.
func (f *freshStatus) get() status.All {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at.IsZero() || time.Since(f.at) >= f.keep {
		f.all, f.at = f.daemon.Glance(), time.Now()
	}
	out := f.all
	out.Jobs = slices.Clone(out.Jobs)
	return out
}

// drop forgets it after a change.
func (f *freshStatus) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = time.Time{}
}

// runStrip is the strip of a job's last runs.
type runStrip struct {
	ended time.Time // of the last of them
	fails time.Time // since when all of them failed; zero: the last did not
	drawn template.HTML
}

// strips draws the last runs of jobs. They are read once for each run.
func (f *freshStatus) strips(jobs []status.Job) map[string]runStrip {
	out := make(map[string]runStrip, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		if j.Last == nil {
			continue
		}
		f.mu.Lock()
		s, ok := f.stripped[j.Name]
		f.mu.Unlock()
		if !ok || !s.ended.Equal(j.Last.Ended) {
			runs, err := f.daemon.Runs(j.Name, runsShown)
			if err != nil {
				continue // the page of the job says why
			}
			s = runStrip{ended: j.Last.Ended, drawn: strip(runs)}
			for i := 0; i < len(runs) && runs[i].Verdict == status.VerdictError; i++ {
				s.fails = runs[i].Started
			}
			f.mu.Lock()
			if f.stripped == nil || len(f.stripped) >= mostTitled {
				f.stripped = map[string]runStrip{}
			}
			f.stripped[j.Name] = s
			f.mu.Unlock()
		}
		out[j.Name] = s
	}
	return out
}
