// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"testing"

	"mirrord/internal/numbered"
	"mirrord/phm"
	"mirrord/store"
)

// scratchFile is a file without a name.
func scratchFile(t *testing.T) *os.File {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Lines come back as they were added, at any length.
func TestWrittenLines(t *testing.T) {
	l := writtenLines{file: scratchFile(t)}
	var want []writtenLine
	var is numbered.Values[writtenIs]
	for i := range 3000 {
		w := writtenLine{
			id:    uint32(2999-i) * 3,
			when:  uint32(i) << 20,
			at:    store.Place{Pack: uint32(i), Off: int64(i) << 33, Len: uint32(i)},
			path:  uint32(i) << 7,
			size:  int64(i) << 40,
			mtime: -int64(i),
			extra: bytes.Repeat([]byte("x"), i%7*i%1000),
		}
		w.body[3], w.digest[31] = byte(i), byte(i+1)
		for k := range i % mostWrittenEdits {
			w.edits = append(w.edits, phm.DeclaredEdit{Kind: "base"[:k%4+1], At: int64(k) << (k % 50)})
		}
		if err := l.add(&w); err != nil {
			t.Fatal(err)
		}
		is.Put(w.id, isWritten|writtenIs(i%2)*isVoid)
		want = append(want, w)
	}
	if err := l.flush(); err != nil {
		t.Fatal(err)
	}
	all, err := l.documents(&is)
	if err != nil {
		t.Fatal(err)
	}
	var room []byte
	n := 0
	for range all.All() {
		n++
	}
	if n != len(want) {
		t.Errorf("%d documents have lines, want %d", n, len(want))
	}
	for i := range want {
		d := all.Of(want[i].id)
		if !d.some() || d.is(isVoid) != (i%2 == 1) || d.when != want[i].when {
			t.Errorf("%d: %+v", i, d)
		}
		got, err := l.read(d.line(), &room)
		if err != nil || !bytes.Equal(got.extra, want[i].extra) {
			t.Fatalf("%d: %v", i, err)
		}
		got.extra = want[i].extra // empty or nil
		if !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("%d: %+v, want %+v", i, got, want[i])
		}
	}
	if _, err := l.read(l.end, &room); err == nil {
		t.Error("a line behind the end was read")
	}
	if err := l.file.Truncate(l.end - 1); err != nil {
		t.Fatal(err)
	}
	if _, err := l.documents(&is); !errors.As(err, new(*store.DiskError)) {
		t.Errorf("of a file that is cut off: %v", err)
	}
	l.file.Close()
	l.b = []byte("x")
	if err := l.flush(); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}
