// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/serve"
)

func FrontsOf(all status.All, jobs scheduler.Config) (out []serve.Front) {
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
