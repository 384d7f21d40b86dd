// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/spare"
)

// startAdvice begins what decides which requests are not needed, before the records are loaded.
func (r *run) startAdvice() {
	r.advice = spare.NewAdvice(spare.AdviceOptions{
		Job:      r.job,
		Policies: r.o.Policies,
		Run:      r.state.Number,
		Started:  r.started,
		Now:      r.now,
		Table:    r.table,
		Records:  r.site.Records,
		Facts:    r.site.Notes,
	})
}

// endAdvice takes what earlier runs found unreliable, when the records are loaded.
func (r *run) endAdvice() error {
	damaged, err := r.advice.Recall()
	if damaged != nil {
		r.log.Warn("what earlier runs found unreliable cannot be decoded; starting without", "err", damaged)
	}
	return err
}
