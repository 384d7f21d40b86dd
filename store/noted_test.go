// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
)

// notedSite makes a site with a batch that is committed, three notes behind it, and a frame without a record.
func notedSite(t *testing.T, dir string, volatile bool) *Site {
	t.Helper()
	_, s := openTest(t, dir, Options{Volatile: volatile})
	commit(t, s, 0, newURLs(0, 2), document(t, s, 0, "page zero", 1))
	gone := documentRecord(3, "", nil)
	gone.Outcome, gone.Status, gone.Body, gone.InSet = site.Gone, 404, record.NoBody, false
	for i, x := range []struct {
		news []record.NewURL
		done []*record.Done
	}{
		{newURLs(2, 4), []*record.Done{gathered(t, s, 1, "page one", 2, 3), gone}},
		{newURLs(4, 5), []*record.Done{blobOf(t, s, 2, "picture")}},
		{nil, []*record.Done{gathered(t, s, 4, "page four", 0)}},
	} {
		if err := s.Records.Note([]uint32{2, 4, 5}[i], x.news, x.done); err != nil {
			t.Fatal(err)
		}
	}
	document(t, s, 9, "on its way")
	return s
}

// journalOf lists what the journal has: "new 1", "done 1".
func journalOf(t *testing.T, s *Site) (log []string) {
	t.Helper()
	err := s.Records.Replay(func(id uint32, u record.NewURL) error {
		if u != newURLs(int(id), int(id)+1)[0] {
			t.Errorf("url %d: %+v", id, u)
		}
		log = append(log, fmt.Sprint("new ", id))
		return nil
	}, func(r *record.Resource, _ []byte, _ bool) error {
		if r.Body == record.PackBody {
			if _, err := s.Frames.ReadFrame(bodies.NewFrameReader(), r.At); err != nil {
				t.Errorf("document %d: %v", r.ID, err)
			}
		}
		log = append(log, fmt.Sprint("done ", r.ID))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Records.Known(); err != nil || int(n) < len(log)/3 {
		t.Error(n, err)
	}
	return log
}

// What the journal has after a kill behind each note, the first for that behind the commit.
var afterNotes = [][]string{
	{"new 0", "new 1", "done 0"},
	{"new 0", "new 1", "done 0", "new 2", "new 3", "done 1", "done 3"},
	{"new 0", "new 1", "done 0", "new 2", "new 3", "done 1", "done 3", "new 4", "done 2"},
	{"new 0", "new 1", "done 0", "new 2", "new 3", "done 1", "done 3", "new 4", "done 2", "done 4"},
}

// Results that were noted are there after a kill, regardless of what it interrupted; a commit has them too,
// and they count once.
func TestNotesOutliveKill(t *testing.T) {
	for _, volatile := range []bool{true, false} {
		dir := t.TempDir()
		opt := Options{Volatile: volatile}
		s := notedSite(t, dir, volatile)
		killed := copyState(t, dir)
		st, k := openTest(t, killed, opt)
		if got := journalOf(t, k); !slices.Equal(got, afterNotes[3]) {
			t.Errorf("volatile %v: after a kill %q", volatile, got)
		}
		commit(t, k, 5, newURLs(5, 6), document(t, k, 5, "page five"))
		closeTest(t, st, k)
		_, k = openTest(t, killed, opt)
		if got := journalOf(t, k); !slices.Equal(got, append(slices.Clone(afterNotes[3]), "new 5", "done 5")) {
			t.Errorf("volatile %v: and after a commit %q", volatile, got)
		}
		foldAll(t, k, 1)
		if got := resources(t, k); len(got) != 6 || got[testURL(2).String()].Size != int64(len("picture")) {
			t.Errorf("volatile %v: %+v", volatile, got)
		}

		commit(t, s, 5, nil, gathered(t, s, 1, "page one again"))
		_, k = openTest(t, copyState(t, dir), opt)
		want := append(slices.Clone(afterNotes[3]), "done 1")
		if got := journalOf(t, k); !slices.Equal(got, want) {
			t.Errorf("volatile %v: after the commit %q", volatile, got)
		}
		if err := s.Records.Note(5, nil, []*record.Done{gathered(t, s, 2, "shorter")}); err != nil {
			t.Fatal(err)
		}
		_, k = openTest(t, copyState(t, dir), opt)
		if got := journalOf(t, k); !slices.Equal(got, append(want, "done 2")) {
			t.Errorf("volatile %v: after another note %q", volatile, got)
		}
	}
}

// Of a log that was cut anywhere in what was noted, or changed anywhere there, the entries before that count.
func TestNotesDamaged(t *testing.T) {
	dir := t.TempDir()
	s := notedSite(t, dir, false)
	segment := segmentsOf(t, filepath.Join(s.Dir, home.SiteDB))[0]
	raw, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(segment)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	whole, err := log.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	first := 0
	for _, e := range whole.Entries {
		if e.Kind != 'n' {
			first = int(e.Off + e.Size)
		}
	}
	try := func(what string, data []byte) {
		killed := copyState(t, dir)
		site := filepath.Join(killed, "sites/x")
		err := errors.Join(os.Remove(filepath.Join(site, home.SiteDB)),
			os.WriteFile(filepath.Join(site, log.Folder, filepath.Base(segment)), data, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		st, k := openTest(t, killed, Options{})
		got := journalOf(t, k)
		if !slices.ContainsFunc(afterNotes[:3], func(want []string) bool { return slices.Equal(got, want) }) {
			t.Errorf("%s: %q", what, got)
		}
		closeTest(t, st, k)
	}
	for n := first; n < len(raw); n += sized(31, 1) {
		try(fmt.Sprintf("cut to %d bytes", n), raw[:n])
		changed := slices.Clone(raw)
		changed[n] ^= 0x40
		try(fmt.Sprintf("byte %d changed", n), changed)
	}
}

// A note does not count when a body that came with it is not there, as after a loss of power.
func TestNotesWithoutBodies(t *testing.T) {
	for _, x := range []struct {
		what string
		lose func(site string) error
		want int // of afterNotes
	}{
		{"the blob", func(site string) error {
			names, err := filepath.Glob(filepath.Join(site, "../../blobs/[0-9a-f][0-9a-f]/*"))
			if err != nil || len(names) != 1 {
				return fmt.Errorf("%q, %v", names, err)
			}
			return os.WriteFile(names[0], make([]byte, len("picture")), 0o600)
		}, 1},
		{"the packs", func(site string) error {
			pack := filepath.Join(site, "packs", bodies.PackName(1))
			fi, err := os.Stat(pack)
			if err != nil {
				return err
			}
			return os.Truncate(pack, fi.Size()/3)
		}, 0},
	} {
		dir := t.TempDir()
		notedSite(t, dir, false)
		killed := copyState(t, dir)
		if err := x.lose(filepath.Join(killed, "sites/x")); err != nil {
			t.Fatal(err)
		}
		_, k := openTest(t, killed, Options{})
		if got := journalOf(t, k); !slices.Equal(got, afterNotes[x.want]) {
			t.Errorf("without %s: %q", x.what, got)
		}
	}
}

// A disk that takes no note, or none of what was noted, takes nothing away.
func TestNotesOnFullDisk(t *testing.T) {
	dir, ok := mountTmpfs(t, "20m")
	if !ok {
		return
	}
	st, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 2), document(t, s, 0, "page zero", 1))
	if err := s.Records.Note(2, newURLs(2, 3), []*record.Done{document(t, s, 1, "page one")}); err != nil {
		t.Fatal(err)
	}
	killed, crowded := copyState(t, dir), filepath.Join(dir, "crowded")
	if err := os.CopyFS(crowded, os.DirFS(killed)); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(dir, "full")
	f, err := os.Create(full)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 64<<10); err == nil; {
		if _, err = f.Write(chunk); err != nil && len(chunk) > 1 {
			chunk, err = chunk[:len(chunk)/2], nil
		}
	}
	err = s.Records.Note(3, newURLs(3, 2000), []*record.Done{documentRecord(2, "", nil)})
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	stf, sf := openTest(t, crowded, Options{}) // what was noted is taken, or left; both open
	if got := journalOf(t, sf); !slices.Equal(got[:3], afterNotes[0]) {
		t.Errorf("on the full disk %q", got)
	}
	closeTest(t, stf, sf)
	closeTest(t, st, s)
	if err := os.Truncate(full, 0); err != nil {
		t.Fatal(err)
	}
	_, s = openTest(t, dir, Options{})
	if got := journalOf(t, s); !slices.Equal(got[:3], afterNotes[0]) {
		t.Errorf("%q", got)
	}
	_, s = openTest(t, killed, Options{})
	if got := journalOf(t, s); len(got) != 5 {
		t.Errorf("%q", got)
	}
}
