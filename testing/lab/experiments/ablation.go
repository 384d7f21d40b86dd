// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"fmt"

	"mirrord/evolution/policy"
	"mirrord/replay"
)

// IdeaRow is the result of adaptive without one of its ideas: the mean over sites.
type IdeaRow struct {
	Without policy.Idea  `json:"without"` // "": with all
	Total   replay.Total `json:"total"`
}

// Ablation replays histories under adaptive with all its ideas, then without each one of them. goOn is called
// before each row; its error ends it.
func Ablation(
	hs []*replay.History, o replay.Options, goOn func(policy.Idea) error,
) (out []IdeaRow, err error) {
	o.Policy = policy.Adaptive
	for _, idea := range append([]policy.Idea{""}, policy.Ideas()...) {
		if err := goOn(idea); err != nil {
			return nil, err
		}
		o.Without = idea
		var rs []*replay.Result
		for _, h := range hs {
			r, err := replay.Run(h, o)
			if err != nil {
				return nil, fmt.Errorf("%s without %q: %w", h.Site, idea, err)
			}
			rs = append(rs, r)
		}
		out = append(out, IdeaRow{idea, replay.Mean(rs)})
	}
	return out, nil
}
