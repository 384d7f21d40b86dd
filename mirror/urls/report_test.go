// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"reflect"
	"testing"

	"mirrord/mirror/result"
)

func TestReport(t *testing.T) {
	var c Counts
	c.Count(AsFetched)
	c.Count(AsUnchanged)
	c.Count(AsFailed)
	c.Count(AsSpared << BySitemap)
	c.Count(AsSpared << BySitemap)
	c.Requests.Add(3)
	c.Wire.Add(100)
	var got result.Summary
	c.Report(&got)
	want := result.Summary{
		Requests:  3,
		Fetched:   1,
		Unchanged: 3, // two by the sitemap
		Failed:    1,
		Wire:      100,
		Spared:    map[string]int64{"sitemap": 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
