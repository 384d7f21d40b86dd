// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"mirrord/site"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Heads of versions that are dropped are collected: the files stay in proportion to the kept heads, which
// stay right. A kill during it costs nothing.
func TestHeadsAreCollected(t *testing.T) {
	dir := t.TempDir()
	_, s := openHeads(t, dir)
	s.Records.FoldItems = sized(200, 70)
	const pages, keep = 300, 3
	runs := sized(12, 20)
	text := func(id, run int) string {
		return strings.Replace(plainHead, "Server: s",
			fmt.Sprintf("Server: s\nETag: \"%x\"", random(20, byte(id*7+run))), 1)
	}
	var copies []string
	var most int64
	for run := 1; run <= runs; run++ {
		var done []*record.Done
		for id := range pages {
			done = append(done, answered(id, run, headOf(t, text(id, run))))
		}
		var news []record.NewURL
		if run == 1 {
			news = newURLs(0, pages)
		}
		commit(t, s, min(0, known(t, s)), news, done...)
		foldAll(t, s, run)
		for v := 2; v <= run-keep; v++ { // what Thin does to the history of dropped versions
			prefix := binary.BigEndian.AppendUint64(nil, uint64(v))
			err := s.Update("drop", func(tx *db.Tx) error {
				c := tx.Bucket(home.History).Cursor()
				for k, _ := c.Seek(prefix); k != nil && string(k[:8]) == string(prefix); k, _ = c.Next() {
					if err := c.Delete(); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if run == runs-4 {
			s.Step = func(string) { copies = append(copies, copyState(t, dir)) }
		}
		would := compact(t, s, true).Heads
		c, err := s.Compact(t.Context(), false)
		freed := c.Heads
		if err != nil || (would > 0) != (freed > 0) {
			t.Fatalf("%d would be freed, %d were: %v", would, freed, err)
		}
		if freed > 0 && run >= runs-4 && len(copies) > 4 {
			s.Step = nil
		}
		most = max(most, headBytes(t, s))
	}
	check := func(s *Site) {
		t.Helper()
		n := 0
		look := func(u site.URL, r *record.Resource) {
			h, err := s.Records.ReadHead(u, r.Head)
			if err != nil || h.String() != text(int(r.ID), r.Run) {
				t.Errorf("%s of run %d: %v\n%v", u, r.Run, err, h)
			}
			n++
		}
		for _, r := range resources(t, s) {
			look(r.URL, &r)
		}
		var r record.Resource
		if err := s.Each(home.History, func(k, v []byte) error {
			u, err := record.URLOfKey(k[8:])
			if err == nil {
				err = r.Decode(u, v)
			}
			look(u, &r)
			return err
		}); err != nil {
			t.Error(err)
		}
		if n < pages*keep {
			t.Errorf("only %d heads", n)
		}
	}
	check(s)
	if most > 160<<10 { // 300 pages of 4 versions, 50 bytes each, and holes
		t.Errorf("the heads grew to %d bytes", most)
	}
	if len(copies) < 5 {
		t.Fatalf("only %d places to be killed at", len(copies))
	}
	for _, dir := range copies[:min(len(copies), sized(6, 100))] {
		_, s := openHeads(t, dir)
		check(s)
		if _, err := s.Compact(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		check(s)
	}
}
