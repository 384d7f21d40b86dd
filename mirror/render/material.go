// SPDX-License-Identifier: Apache-2.0

package render

import (
	"mirrord/store"
	"mirrord/store/blobs"
)

// Material is what the versions of a site are made of.
type Material struct {
	*store.Site
	Bodies *blobs.Blobs
}

// MaterialOf returns the material of an open site.
func MaterialOf(st *store.State, s *store.Site) Material { return Material{Site: s, Bodies: st.Bodies} }
