// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"maps"
	"slices"

	"mirrord/mirror/render"
	"mirrord/store"
)

// markRepairs marks the documents whose repaired links are not those of the published version.
func (r *run) markRepairs(ctx context.Context, published map[string][]render.RepairedLink) error {
	t := r.table.Settled()
	dirty := func(id uint32) bool { return t.State(id).Dirty() }
	ids, err := r.renderer().OtherRepairs(ctx, r.site.Records.Resources, published, dirty)
	for _, id := range ids {
		t.Touch(id)
	}
	return err
}

// explainRepair says where the links of the published version to a URL of another site lead, when they are repaired.
func explainRepair(s *store.Site, u string, say func(format string, args ...any)) error {
	published, err := render.PublishedRepairs(s)
	if err != nil {
		return err
	}
	pages, example := 0, render.RepairedLink{}
	for _, path := range slices.Sorted(maps.Keys(published)) {
		if i := slices.IndexFunc(published[path], func(l render.RepairedLink) bool { return l.Was == u }); i >= 0 {
			pages, example = pages+1, published[path][i]
		}
	}
	if pages > 0 {
		say("repair: links to it on %s lead to %s, because it is broken: %s", plural(pages, "page", "pages"), example.To, example.Why)
	}
	return nil
}
