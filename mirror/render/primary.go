// SPDX-License-Identifier: Apache-2.0

package render

import (
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// Primary returns the origin whose files lie at the root of the tree: that of the published version, as it
// is kept for ever; before there is one, the origin to which the first entry point leads, so that a site
// that is named without https or www has its pages at the root. live is nil when nothing is published. No
// worker may run.
func Primary(tree *trees.SiteTrees, live *record.Version, t urls.Settled, seeds []site.URL) string {
	first := seeds[0].Origin()
	if live == nil {
		if id, ok := t.FindURL(seeds[0]); ok {
			if f, in := t.Final(id); in {
				return t.URL(f).Origin()
			}
		}
		return first
	}
	m := MetaOf(live)
	if m == nil {
		m = publishedMeta(tree)
	}
	if (m == nil) || m.Primary == "" {
		return first
	}
	return m.Primary
}

// publishedMeta reads phm.json of the published tree, nil when it cannot be read.
func publishedMeta(tree *trees.SiteTrees) *phm.Meta {
	root, err := tree.Current()
	if err != nil {
		return nil
	}
	defer root.Close()
	m, err := phm.OpenMeta(root.FS())
	if err != nil {
		return nil
	}
	return m
}
