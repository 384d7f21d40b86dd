// SPDX-License-Identifier: Apache-2.0

package source

import (
	"net/http"
	"testing"
	"time"

	"mirrord/job"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/record"
)

// facts are facts of a site in memory.
type facts map[string][]byte

func (f facts) Fact(name string) ([]byte, error) { return f[name], nil }

func (f facts) SetFact(name string, v []byte) error {
	f[name] = v
	return nil
}

func TestMannerFits(t *testing.T) {
	plain := job.Default("http://a.example/")
	now := time.Unix(1000, 0)
	for _, tc := range []struct {
		key, value string
		fits       bool
	}{
		{"title", "x", true},
		{"polite.user_agent", "other/1.0", true}, // as long as the answer does not vary by it
		{"auth.user", "u", false},
		{"auth.cookies_file", "c", false},
		{"auth.cookies", "true", false},
		{"auth.headers", `{ "Accept-Language" = "de" }`, false},
		{"proxy", "http://127.0.0.1:3128", false},
		{"tls.insecure", "true", false},
		{"tls.ca_file", "/etc/ca.pem", false},
		{"polite.allow_private", "true", false},
		{"polite.allow_private", `["10.0.0.0/8"]`, false},
	} {
		j := job.Default("http://b.example/")
		if err := j.Set(tc.key, tc.value); err != nil {
			t.Fatalf("%s: %v", tc.key, err)
		}
		a, b := mannerOf(plain, now), mannerOf(j, now)
		if a.fits(b) != tc.fits || b.fits(a) != tc.fits {
			t.Errorf("%s = %s: fits is %t", tc.key, tc.value, a.fits(b))
		}
	}
}

func TestMannerVaries(t *testing.T) {
	one, other := manner{Agent: "a"}, manner{Agent: "b"}
	for _, tc := range []struct {
		vary         string
		same, differ bool // whether it varies for one agent, for two
	}{
		{"", false, false},
		{"Accept-Encoding, Cookie,Accept-Language", false, false},
		{"accept, USER-AGENT", false, true},
		{"Referer", true, true},
		{" * ", true, true},
	} {
		h := http.Header{"Vary": {tc.vary}}
		if one.varies(h, one) != tc.same || one.varies(h, other) != tc.differ {
			t.Errorf("%q: %t, %t", tc.vary, one.varies(h, one), one.varies(h, other))
		}
	}
	if two := (http.Header{"Vary": {"Accept", "*"}}); !one.varies(two, one) {
		t.Error("the second field is not read")
	}
}

// What came by a login stays where it is when the job no longer has one, until it comes again.
func TestMannerSince(t *testing.T) {
	f := facts{}
	j := job.Default("http://a.example/")
	if _, ok, err := readManner(f); ok || err != nil {
		t.Errorf("nothing was kept: %t, %v", ok, err)
	}
	since := func(at int64) int64 {
		t.Helper()
		if err := mannerOf(j, time.Unix(at, 0)).keep(f); err != nil {
			t.Fatal(err)
		}
		m, ok, err := readManner(f)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return m.Since
	}
	for _, tc := range []struct {
		user string
		at   int64
		want int64
	}{{"", 100, 100}, {"", 200, 100}, {"u", 300, 300}, {"", 400, 400}, {"", 500, 400}} {
		if j.Auth.User = tc.user; since(tc.at) != tc.want {
			t.Errorf("at %d: not since %d", tc.at, tc.want)
		}
	}
	f[mannerFact] = []byte("{")
	if since(600) != 600 {
		t.Error("a damaged fact is not known")
	}
}

func TestNeighbourGives(t *testing.T) {
	n := &neighbour{live: 3, manner: manner{Since: 100}}
	good := record.Resource{
		InSet:   true,
		Outcome: site.Fetched,
		Status:  http.StatusOK,
		Body:    record.BlobBody,
		Fetched: 100,
		Changed: 3,
		Head:    record.HeadPlace{File: 1, Off: 8},
	}
	if !n.gives(&good) {
		t.Fatal("what the site sent is not given")
	}
	for name, change := range map[string]func(r *record.Resource){
		"unchanged by evidence":  func(r *record.Resource) { r.Outcome, r.Status = site.Unchanged, 0 },
		"not in the mirror":      func(r *record.Resource) { r.InSet = false },
		"failed":                 func(r *record.Resource) { r.Outcome = site.Failed },
		"error":                  func(r *record.Resource) { r.Status = 500 },
		"from a replica":         func(r *record.Resource) { r.Source = "http://c.example/" },
		"listing":                func(r *record.Resource) { r.Listing = true },
		"sitemap":                func(r *record.Resource) { r.Format = uint8(relocate.Sitemap) },
		"not published":          func(r *record.Resource) { r.Changed = 4 },
		"before":                 func(r *record.Resource) { r.Fetched = 99 },
		"without head":           func(r *record.Resource) { r.Head = record.HeadPlace{} },
		"without body":           func(r *record.Resource) { r.Body = record.NoBody },
		"its links are not ours": func(r *record.Resource) { r.NoFollow = true },
	} {
		r := good
		if change(&r); n.gives(&r) {
			t.Errorf("%s: it is given", name)
		}
	}
}
