// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror/result"
	"mirrord/store/record"
)

// A first run in which the site refuses as much as it gives is not complete.
func TestBarred(t *testing.T) {
	for name, tc := range map[string]struct {
		given, refused, status int
		host                   string
		later                  bool
		want                   string
	}{
		"half": {
			10, 10, 403, "h", false,
			"refuses 10 URLs, such as http://h/10 (status 403), and gives 10 files",
		},
		"less than half":  {11, 10, 403, "h", false, ""},
		"few":             {1, 9, 403, "h", false, ""},
		"dead links":      {10, 10, 404, "h", false, ""},
		"errors":          {10, 10, 500, "h", false, ""},
		"of other sites":  {10, 10, 403, "cdn", false, ""},
		"not a first run": {10, 10, 403, "h", true, ""},
	} {
		var records []record.Resource
		for i := range tc.given {
			records = append(records, page(t, fmt.Sprintf("http://h/%d", i)))
		}
		for i := range tc.refused {
			rec := failed(page(t, fmt.Sprintf("http://%s/%d", tc.host, tc.given+i)), 1)
			rec.InSet, rec.Path, rec.Status = false, "", tc.status
			records = append(records, rec)
		}
		c := known(t, records...)
		if answered(c); !tc.later {
			c.Live, c.Run.Version = nil, 1
		}
		r, err := barred(c)
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(r.Reasons, "\n")
		if (r.Verdict == result.Gaps) != (tc.want != "") || !strings.Contains(said, tc.want) {
			t.Errorf("%s: %v, %q, want %q", name, r.Verdict, said, tc.want)
		}
	}
}
