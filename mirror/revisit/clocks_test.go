// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"bytes"
	"testing"

	"mirrord/store/record"
)

// An image whose address holds the time stays when the site is known to make another one in each answer.
func TestImagesWithTheTimeInTheirAddressStay(t *testing.T) {
	pixel := func(time string) []byte {
		return bytes.ReplaceAll(boxed("a", tokenA), []byte("end"), []byte("<img src=/run?id=a&amp;"+time+">"))
	}
	stays := func(p *Noise, rec record.Resource) (n int) {
		for run := range sampleClocks {
			p.run = run + 10
			if f, ok := p.Stays(&rec, noon); ok {
				if n++; f.Done.ID != rec.ID {
					t.Error("another record")
				}
			}
		}
		return n
	}
	rec := record.Resource{
		ID:    3,
		URL:   addressOf(t, "run?id=a&1795835295"),
		InSet: true,
		Body:  record.BlobBody,
	}
	p := NewNoise(1)
	if n := stays(p, rec); n != 0 {
		t.Errorf("of a site that is not known to do so it stays in %d runs", n)
	}
	for _, name := range []string{"1.html", "2.html"} {
		twice(t, p, name, pixel("1795835295"), pixel("1795835297"))
	}
	if n := stays(p, rec); n != sampleClocks-1 {
		t.Errorf("it stays in %d runs, want %d", n, sampleClocks-1)
	}
	for name, change := range map[string]func(*record.Resource){
		"no time":  func(r *record.Resource) { r.URL = addressOf(t, "run?id=a&17958352951") },
		"a page":   func(r *record.Resource) { r.Body = record.PackBody },
		"it fails": func(r *record.Resource) { r.Gone = 1 },
		"unknown":  func(r *record.Resource) { r.InSet = false },
	} {
		other := rec
		change(&other)
		if n := stays(p, other); n != 0 {
			t.Errorf("%s: it stays in %d runs", name, n)
		}
	}
}
