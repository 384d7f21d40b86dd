// SPDX-License-Identifier: Apache-2.0

package binread

import (
	"encoding/binary"
	"testing"
)

func TestReader(t *testing.T) {
	b := append([]byte{7}, binary.AppendUvarint(nil, 300)...)
	b = append(AppendString(b, "text"), 1, 2)
	d := Reader{Rest: b}
	if d.Byte() != 7 || d.Uvarint() != 300 || d.Text() != "text" || len(d.Take(2)) != 2 || d.Bad {
		t.Errorf("%+v", d)
	}
	for name, read := range map[string]func(d *Reader) bool{
		"byte":   func(d *Reader) bool { return d.Byte() == 0 },
		"varint": func(d *Reader) bool { return d.Uvarint() == 0 },
		"take":   func(d *Reader) bool { return d.Take(1) == nil },
		"string": func(d *Reader) bool { return d.Text() == "" },
	} {
		d := Reader{}
		if !read(&d) || !d.Bad {
			t.Errorf("%s of nothing: %+v", name, d)
		}
	}
	for _, b := range [][]byte{{5, 'a'}, {0x80}, binary.AppendUvarint(nil, 1<<63)} {
		if d := (Reader{Rest: b}); d.Text() != "" || !d.Bad || d.Rest != nil || d.Byte() != 0 {
			t.Errorf("%x: %+v", b, d)
		}
	}
	if d := (Reader{Rest: b}); d.Take(-1) != nil || !d.Bad {
		t.Errorf("a negative length: %+v", d)
	}
}

// Texts of a Reader that shares its bytes are those of one that does not, for any bytes.
func FuzzSharing(f *testing.F) {
	f.Add(AppendString(AppendString([]byte{3}, ""), "text"))
	f.Add([]byte{5, 'a'})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		one, all := Reader{Rest: b}, Sharing(b)
		for range len(b) + 2 {
			if x, y := one.Text(), all.Text(); x != y || one.Bad != all.Bad || len(one.Rest) != len(all.Rest) {
				t.Fatalf("%q and %q, %v and %v", x, y, one.Bad, all.Bad)
			}
		}
	})
}
