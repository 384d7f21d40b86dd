// SPDX-License-Identifier: Apache-2.0

package app

import "mirrord/web"

// Fronts is what front pages of mirror sites show, by name.
func (d *Daemon) Fronts() []web.Front {
	jobs := d.sched.Config()
	var out []web.Front
	for _, j := range d.Status().Jobs {
		f := web.Front{Job: j}
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
