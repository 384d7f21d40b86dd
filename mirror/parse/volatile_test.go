// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"testing"

	"mirrord/site"
	"mirrord/store/record"
)

// The footer of a listing may tell the time of its answer; its entries are what it says.
func TestListingThatTellsTheTime(t *testing.T) {
	u, _, err := site.Parse("http://site.test/files/")
	if err != nil {
		t.Fatal(err)
	}
	const noon = 1798372800 // 2026-12-27 12:00 UTC
	listing := func(date, footer string) []byte {
		return fmt.Appendf(nil, "<html><head><title>Index of /files/</title></head><body><h1>Index of /files/</h1>"+
			"<hr><pre><a href=\"../\">../</a>\n<a href=\"a.tar\">a.tar</a>        %s    %d\n</pre><hr>\n"+
			"<p>generated at %s</p></body></html>", date, 1234, footer)
	}
	was := listing("27-Nov-2026 10:00", "2026-12-27 12:00:00")
	for name, c := range map[string]struct {
		now  []byte
		want bool
	}{
		"the time of the answer": {listing("27-Nov-2026 10:00", "2026-12-28 12:00:00"), true},
		"a newer file":           {listing("28-Nov-2026 10:00", "2026-12-28 12:00:00"), false},
		"another time":           {listing("27-Nov-2026 10:00", "2026-12-28 15:03:20"), false},
	} {
		old := &record.Resource{
			URL:     u,
			Listing: true,
			Body:    record.PackBody,
			Fetched: noon,
		}
		now := &record.Resource{URL: u, Fetched: noon + 24*3600}
		if _, kept, _ := Compare(now, old, c.now, was, nil, false, nil); kept != c.want {
			t.Errorf("%s: kept %v, want %v: %s", name, kept, c.want, old.Reason)
		}
	}
}
