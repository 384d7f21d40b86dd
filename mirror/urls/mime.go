// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"mirrord/relocate"
	"mirrord/site"
)

// DocumentTypes reports which of some MIME types are those of documents, which have links. It goes with
// State.Type.
func DocumentTypes(mimes []string) []bool {
	out := make([]bool, len(mimes))
	for i, m := range mimes {
		out[i] = m != "" && relocate.Detect(m, site.URL{}, nil) != relocate.Unknown
	}
	return out
}
