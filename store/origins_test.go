// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"
	"testing"

	"mirrord/site"
	"mirrord/store/record"
)

// Each origin of which the mirror holds something is reported once, however many URLs it has; others are not.
func TestOrigins(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	var news []record.NewURL
	var done []*record.Done
	add := func(held bool, urls ...string) {
		for _, u := range urls {
			news = append(news, record.NewURL{URL: u})
			d := blobOf(t, s, len(done), "x")
			d.URL, d.InSet = site.Canonical(u), held
			if !held {
				d.Outcome, d.Reason = site.Failed, "x"
			}
			done = append(done, d)
		}
	}
	for i := range 30 {
		add(false, fmt.Sprintf("http://www.example.org/%02d", i))
	}
	add(true, "http://www.example.org/99", "https://www.example.org/", "https://www.example.org/a/b",
		"http://www.example.org:8080/", "http://10.0.0.1/x", "http://[::1]:81/", "http://intranet/")
	add(false, "http://gone.example/", "http://www.example.org:8081/")
	if err := s.Records.Commit(0, news, done); err != nil {
		t.Fatal(err)
	}
	if err := s.Records.Fold(Folding{
		Version: 1,
		Pending: func(uint32) bool { return true },
		Path:    func(*record.Resource) string { return "" },
	}); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := s.Records.Origins(func(u site.URL) error {
		got = append(got, u.Origin())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{"http://10.0.0.1", "http://[::1]:81", "http://intranet", "http://www.example.org",
		"http://www.example.org:8080", "https://www.example.org"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
