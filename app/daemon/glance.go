// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"slices"
	"sync"
	"time"

	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/scheduler/status"
	"mirrord/store/trees"
)

// How published trees are looked at for lists.
const (
	glanceLooks = 50               // trees of which each file is looked at, for one list
	glanceFor   = 30 * time.Second // so long such a look holds
)

// treeLooks remembers what was found at published trees. The zero value is ready. It is safe for concurrent
// use.
type treeLooks struct {
	mu    sync.Mutex
	known map[string]treeLook // by job
}

type treeLook struct {
	at  time.Time
	bad bool
}

func (t *treeLooks) note(name string, at time.Time, p trees.TreeProblem) trees.TreeProblem {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[string]treeLook{}
	}
	t.known[name] = treeLook{at: at, bad: p.Text != ""}
	return p
}

// due are the jobs whose trees are looked at as a whole now: those that are known to be damaged, and of the
// others some that were not looked at for the longest time. Results for other jobs are dropped.
func (t *treeLooks) due(jobs []status.Job, now time.Time) map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := map[string]treeLook{}
	out := map[string]bool{}
	var old []string
	for i := range jobs {
		name := jobs[i].Name
		k, known := t.known[name]
		if known {
			kept[name] = k
		}
		switch age := now.Sub(k.at); {
		case jobs[i].Version == 0:
		case k.bad:
			out[name] = true
		case age >= glanceFor || age < 0:
			old = append(old, name)
		}
	}
	t.known = kept
	slices.SortStableFunc(old, func(a, b string) int { return kept[a].at.Compare(kept[b].at) })
	for _, name := range old[:min(len(old), glanceLooks)] {
		out[name] = true
	}
	return out
}

// Glance is Status for a list that many look at. Of most published trees it looks only whether they are there
// and not at each file: with a thousand jobs that would take a third of a second. The rest has its turn in
// the next lists, and those known to be damaged are checked each time.
func (d *Daemon) Glance() status.All {
	all := d.Scheduler.Status()
	if last, err := d.State.Shared.LastRuns(); err == nil {
		noted := false
		for i := range all.Jobs {
			j := &all.Jobs[i]
			r, ran := last[j.Name]
			if ran && (j.Last == nil || !j.Last.Ended.Equal(r.Ended)) { // made beside the daemon
				note(d.Scheduler, r)
				noted = true
			}
		}
		if noted {
			all = d.Scheduler.Status()
		}
	}
	d.aboutItself(&all)
	now := d.State.Now()
	due := d.trees.due(all.Jobs, now)
	for i := range all.Jobs {
		look.JudgeTree(&all.Jobs[i], d.State, now, func(name string) trees.TreeProblem {
			if due[name] {
				return d.lookAtTree(name)
			}
			return trees.LookAt(d.State.Dir, name, false)
		})
	}
	return all
}

// lookAtTree looks at each file of a published tree.
func (d *Daemon) lookAtTree(name string) trees.TreeProblem {
	return d.trees.note(name, d.State.Now(), trees.LookAt(d.State.Dir, name, true))
}

// DiskRoom is what all mirrors together may take, 0 for no limit, and what they take.
func (d *Daemon) DiskRoom() (most, taken int64, err error) {
	most = d.most.Load()
	if most <= 0 {
		return 0, 0, nil
	}
	names, err := d.State.Sites()
	for _, name := range names {
		if z := jobs.DiskOf(d.State, name); z != nil {
			taken += z.Total
		}
	}
	return most, taken, err
}
