// SPDX-License-Identifier: Apache-2.0

package log

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mirrord/store/disk"
)

// begun makes a log of a checkpoint and some transactions and batches, and returns its segment.
func begun(t *testing.T) (l *Log, site *os.Root, path string) {
	t.Helper()
	dir := t.TempDir()
	site, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	l, segment, err := Open(site, false)
	if err != nil || segment != nil {
		t.Fatal(segment, err)
	}
	t.Cleanup(func() { l.Close() })
	l.Number(3)
	err = l.Begin(func(next *Next) ([]byte, error) {
		return []byte("last part"), next.Changes([]byte("first part"))
	})
	if err != nil {
		t.Fatal(err)
	}
	for tx, kind := range []byte{Transaction, Later, Batch, Unsynced, Unsynced} {
		if _, err := l.Append(kind, uint64(tx+4), fmt.Appendf(nil, "payload %d", tx+4)); err != nil {
			t.Fatal(err)
		}
	}
	return l, site, filepath.Join(dir, Folder, segmentName(1))
}

func readAt(t *testing.T, path string) *Readable {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	s, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What was written is read, and of a segment that was cut or changed anywhere all entries before that place.
func TestEntriesBeforeDamage(t *testing.T) {
	_, _, path := begun(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := readAt(t, path)
	if len(all.Entries) != 7 || all.End() != int64(len(data)) || all.Last() != 8 || all.Checkpoint().Tx != 3 {
		t.Fatalf("%+v", all.Entries)
	}
	if got := all.Uncertain(); !slices.Equal(got, all.Entries[5:]) {
		t.Errorf("uncertain: %+v", got)
	}
	err = Payloads(all.File, all.Entries[2:], func(e Entry, payload []byte) error {
		if want := fmt.Sprintf("payload %d", e.Tx); string(payload) != want {
			t.Errorf("%q, want %q", payload, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for at := range data {
		before := slices.IndexFunc(all.Entries, func(e Entry) bool { return int64(at) < e.Off+e.Size })
		changed := bytes.Clone(data)
		changed[at] ^= 4
		for what, data := range map[string][]byte{"cut": data[:at], "changed": changed} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := readAt(t, path); len(got.Entries) != before {
				t.Errorf("%s at %d: %d entries, want %d", what, at, len(got.Entries), before)
			}
		}
	}
}

// A log says that it is clean only as long as nothing follows, and one that lost what was synced is rotten.
func TestCheck(t *testing.T) {
	l, site, path := begun(t)
	read := func(int64) error { return nil }
	if tx, s, err := Check(site, read); tx != 8 || s != Whole || err != nil || IsClean(site) {
		t.Errorf("transaction %d, %d, %v", tx, s, err)
	}
	if err := l.Settle(func() error { return nil }); err != nil || !IsClean(site) {
		t.Errorf("it is not clean: %v", err)
	}
	if _, err := l.Append(Transaction, 9, nil); err != nil || IsClean(site) {
		t.Errorf("it is clean: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries := readAt(t, path).Entries
	data[entries[1].Off+headerSize] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if tx, s, err := Check(site, read); tx != 0 || s != Rotten || err != nil {
		t.Errorf("transaction %d, %d, %v", tx, s, err)
	}
	data[entries[1].Off+headerSize] ^= 1
	if err := os.WriteFile(path, data[:len(data)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	if tx, s, err := Check(site, read); tx != 8 || s != Torn || err != nil {
		t.Errorf("transaction %d, %d, %v", tx, s, err)
	}
}

// Changes come back as they were written; ones that are cut are damage.
func TestChanges(t *testing.T) {
	b := AppendChange(nil, Put, []byte("b"), []byte("key"), []byte("value"))
	b = AppendChange(b, Delete, []byte("b"), []byte("key"))
	b = AppendChange(b, Tally, []byte("b"), []byte("sum"))
	var got []string
	each := func(what byte, bucket, key, value []byte) error {
		got = append(got, fmt.Sprintf("%c %s %s %s", what, bucket, key, value))
		return nil
	}
	want := []string{"p b key value", "d b key ", "T b  sum"}
	if err := Changes(b, each); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if err := Changes(b[:len(b)-1], each); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("cut: %v", err)
	}
}
