// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mirrord/archive/warc"
	"mirrord/site"
)

// kept is what a test keeps of records that are checked late.
type kept struct {
	good  map[int]bool
	wrong error
}

func (k *kept) Checked(record int) bool { return k.good[record] }

func (k *kept) Note(record int, wrong error) {
	k.good[record] = wrong == nil
	k.wrong = cmp.Or(k.wrong, wrong)
}

func (k *kept) Take() *warc.Memory { return warc.NewMemory() }

func (k *kept) Give(m *warc.Memory) { m.Shrink() }

// A late check of bodies finds what an immediate one does, and its error names record and offset: that of
// the answer with the body, or of the check of the bodies that no answer had.
func TestLate(t *testing.T) {
	var recs []rec
	for i := range 20 {
		p := page(fmt.Sprintf("http://h.test/%d", i), "2024-05-01T10:00:00Z",
			strings.Repeat(fmt.Sprintf("page %d ", i*7), 2000))
		sum := sha1.Sum([]byte(p.block))
		p.fields = "WARC-Block-Digest: sha1:" + hex.EncodeToString(sum[:]) + "\r\n"
		recs = append(recs, p)
	}
	late := options()
	var known *kept
	read := func(file string) (*Recordings, error) {
		t.Helper()
		known = &kept{good: map[int]bool{}}
		late.Late = known
		return Read(inputs(file), late)
	}
	whole := members(recs...)
	a, err := read(whole)
	if err != nil || len(a.late.records) != len(recs) {
		t.Fatalf("%d are checked late, %v", len(a.late.records), err)
	}
	now, err := Read(inputs(whole), options())
	if err != nil || strings.Join(bodies(t, a), "\n") != strings.Join(bodies(t, now), "\n") {
		t.Errorf("other bodies: %v", err)
	}
	asked := 0
	if err := a.CheckRest(func() error { asked++; return nil }); err != nil || asked != 0 {
		t.Errorf("%d are left to check: %v", asked, err)
	}
	stop := errors.New("stopped")
	if a, err = read(whole); err != nil || !errors.Is(a.CheckRest(func() error { return stop }), stop) {
		t.Error("the check of the rest is not stopped")
	}
	bad := recs[7]
	bad.block = strings.Replace(bad.block, "page 49 page", "page 94 page", 1)
	wrong := members(recs[:7]...) + members(bad) + members(recs[8:]...)
	_, want := Read(inputs(wrong), options())
	if !errors.Is(want, warc.ErrDigest) {
		t.Fatalf("%v", want)
	}
	if a, err = read(wrong); err != nil || known.wrong != nil {
		t.Fatalf("%v", err)
	}
	if _, _, err := a.Answer(0, site.Canonical("http://h.test/6")); err != nil || known.wrong != nil {
		t.Errorf("a good record: %v, %v", err, known.wrong)
	}
	for range 2 {
		if _, _, err = a.Answer(0, site.Canonical("http://h.test/7")); err == nil {
			t.Error("a damaged record is answered")
		}
	}
	if got := fmt.Sprint(known.wrong); got != want.Error() {
		t.Errorf("%s, not %v", got, want)
	}
	if a, err = read(wrong); err != nil {
		t.Fatal(err)
	}
	err = a.CheckRest(func() error { return nil })
	if fmt.Sprint(err) != want.Error() {
		t.Errorf("%v, not %v", err, want)
	}
	for n := range 60 { // a flipped bit is found, or is in no record
		flipped := []byte(whole)
		flipped[n*len(whole)/60] ^= 1 << (n % 8)
		_, want := Read(inputs(string(flipped)), options())
		a, err := read(string(flipped))
		if err == nil {
			err = a.CheckRest(func() error { return nil })
		}
		if (err == nil) != (want == nil) {
			t.Errorf("byte %d: %v, checked at once: %v", n*len(whole)/60, err, want)
		}
	}
	lenient := late
	lenient.Lenient = true
	if a, err = Read(inputs(wrong), lenient); err != nil || len(a.late.records) != 0 || a.Counted.Damaged != 1 {
		t.Errorf("damage is not left out: %v", err)
	}
}
