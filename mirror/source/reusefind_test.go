// SPDX-License-Identifier: Apache-2.0

package source

import (
	"testing"

	"mirrord/store"
)

// alone has the mirror of one job.
type alone struct{ OtherMirrors }

func (alone) Sites() ([]string, error) { return []string{"only"}, nil }

// Where there is no other mirror, the site's own records are not read: here it has none.
func TestFindReuseAlone(t *testing.T) {
	f := ReuseFinder{Site: &store.Site{Name: "only"}, Others: alone{}}
	names, err := f.Others.Sites()
	if err != nil {
		t.Fatal(err)
	}
	found, err := f.find(t.Context(), names)
	if err != nil || found.Job != "" {
		t.Errorf("%+v, %v", found, err)
	}
}
