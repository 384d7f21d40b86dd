// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store/record"
)

// listed are records in the order of their URLs.
type listed struct {
	all  []record.Resource
	read int
}

func (l *listed) ResourcesUnder(dir site.URL, f func(*record.Resource) error) error {
	for i := range l.all {
		if !strings.HasPrefix(l.all[i].URL.String(), dir.String()) {
			continue
		}
		l.read++
		if err := f(&l.all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *listed) add(u string, change func(*record.Resource)) {
	r := record.Resource{
		URL:   site.Canonical(u),
		InSet: true,
		Body:  record.BlobBody,
		MIME:  "text/html",
	}
	if change != nil {
		change(&r)
	}
	l.all = append(l.all, r)
}

// The pages around one are texts that the mirror holds, of its directory first, and none outside of the site.
func TestAround(t *testing.T) {
	var l listed
	const base = "http://h.example/site/"
	l.add("http://h.example/other", nil)
	l.add(base, nil)
	l.add(base+"a/gone", func(r *record.Resource) { r.InSet = false })
	l.add(base+"a/large", func(r *record.Resource) { r.Size = hosts.MaxCompared + 1 })
	l.add(base+"a/lost", func(r *record.Resource) { r.Body = record.NoBody })
	l.add(base+"a/page", nil)
	l.add(base+"a/picture", func(r *record.Resource) { r.MIME = "image/png" })
	l.add(base+"a/z", nil)
	l.add(base+"b", nil)
	for n, want := range map[int]string{0: "", 1: "a/z", 2: "a/z ", 8: "a/z  b"} {
		var got []string
		for _, r := range Around(&l, site.Canonical(base+"a/page"), base, n) {
			got = append(got, strings.TrimPrefix(r.URL.String(), base))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%d: %q, want %q", n, s, want)
		}
	}
}

// A page in a directory of very many pictures does not cost a reading of all of them.
func TestAroundPictures(t *testing.T) {
	var l listed
	for i := range 3 * mostAround {
		l.add(fmt.Sprintf("http://h.example/a/%06d.png", i), func(r *record.Resource) { r.MIME = "image/png" })
	}
	if Around(&l, site.Canonical("http://h.example/a/b/page"), "http://h.example/", 8); l.read > mostAround+2 {
		t.Errorf("%d records were read", l.read)
	}
}
