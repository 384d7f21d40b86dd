// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"mirrord/mirror/render"
)

// MirrorTitle is what a published mirror says of itself.
type MirrorTitle struct {
	Title   string
	Primary string // origin of the site, without a slash at its end
	Entry   string // mirror path of the entry page
}

// Titles reads what the mirrors of these names say of themselves. A mirror that cannot be read has no entry:
// its status says why. No database is opened for it.
func (d *Daemon) Titles(names []string) map[string]MirrorTitle {
	out := make(map[string]MirrorTitle, len(names))
	for _, name := range names {
		meta, err := render.PublishedMeta(d.State, name)
		if err != nil {
			continue
		}
		out[name] = MirrorTitle{
			Title:   meta.Title,
			Primary: meta.Primary,
			Entry:   meta.Entry,
		}
	}
	return out
}
