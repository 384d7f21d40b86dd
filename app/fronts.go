// SPDX-License-Identifier: Apache-2.0

package app

import (
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/serve"
)

// Fronts is what front pages of mirror sites show, by name.
func (d *Daemon) Fronts() []serve.Front { return frontsOf(d.Status(), d.sched.Config()) }

func frontsOf(all status.All, jobs scheduler.Config) (out []serve.Front) {
	for _, j := range all.Jobs {
		f := serve.Front{Job: j}
		if e := jobs[j.Name]; e != nil && e.Job != nil {
			f.Title = e.Job.Title
			if seeds := e.Job.Seeds(); len(seeds) > 0 {
				f.Upstream = seeds[0].String()
			}
		}
		out = append(out, f)
	}
	return out
}
