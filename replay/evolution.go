package replay

import (
	"fmt"

	"mirrord/evolution"
)

// Evolution is how the site's directories changed: version 0 as the base, each later version as a step in which everything was observed.
// Its directories have the numbers that they have in h.
func (h *History) Evolution() (*evolution.History, error) {
	var out evolution.History
	content := make([]Content, len(h.pages))
	entered := 0
	for i, v := range h.Versions {
		r := out.Record(v.Time.Unix())
		for ; entered < len(h.dirs) && h.dirs[entered].born <= i; entered++ {
			r.Dir(h.dirs[entered].path)
		}
		for _, c := range v.Changes {
			d := evolution.Dir(h.pages[c.Page].dir)
			switch was := content[c.Page]; {
			case was == c.Content:
			case was == Gone:
				r.Insert(d, 1)
			case c.Content == Gone:
				r.Delete(d, 1)
			default:
				r.Update(d, 1)
			}
			content[c.Page] = c.Content
		}
		if err := r.Commit(); err != nil {
			return nil, fmt.Errorf("version %d: %w", i, err)
		}
	}
	return &out, nil
}
