// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"mirrord/replica/hash"
)

// Stored digests depend on their form: when one of these is another, raise DigestForm and write a line
// of its history.
func TestDigestForm(t *testing.T) {
	s := NewSketcher(SketchOptions{})
	for body, want := range map[string]string{
		"<title>A rose</title><p>is a <b>rose</b> is a rose, International&shy;ization is an extraordinarily " +
			"long word; 1999&ndash;2026": "form 5: 17 words, a7988375db573849, sketch 11682313e4793fcb",
		"<meta charset=iso-8859-1><p>Caf\xe9 cr&egrave;me, d&#233;j\xe0 vu <br>MA\xcfS": "form 5: 5 words, " +
			"b1099809be6e3a65, sketch f024afea643eca55",
		"<p>Le c\x9cur de sa s\x9cur, \x8cuvres compl\xe8tes": "form 5: 7 words, " +
			"34cbd196b6e37e7f, sketch c62278ae1479850",
		"\xef\xbb\xbf<p>日本語のページ、テスト 2026 Привет мир": "form 5: 13 words, " +
			"4a5c7a99120cc867, sketch 6aee48510c99b84c",
	} {
		d := s.HTML([]byte(body))
		if got := fmt.Sprintf("form %d: %d words, %x, sketch %x", DigestForm, d.Words, d.Text,
			hash.H(d.Sketch[:])); got != want {
			t.Errorf("the digest of %q is\n%s, want\n%s; if that is meant, raise DigestForm", body, got, want)
		}
	}
}

// Each byte at each of eight places is what it is alone.
func TestMarks(t *testing.T) {
	for c := range 256 {
		b := byte(c)
		word := IsLetter(b) || ('0' <= b && b <= '9')
		odd := b >= utf8.RuneSelf || b == '<' || b == '&'
		for _, others := range []byte{0, ' ', 'a', '<', 0xff, b} {
			for at := range 8 {
				body := bytes.Repeat([]byte{others}, 8)
				body[at] = b
				x, mark := load(body, 0), uint64(0x80)<<(8*at)
				if got := alnum(x)&mark != 0; got != word {
					t.Fatalf("byte %#x at %d among %#x: a letter or digit is %v", b, at, others, got)
				}
				if got := special(x)&mark != 0; got != odd {
					t.Fatalf("byte %#x at %d among %#x: special is %v", b, at, others, got)
				}
				if first := has(x, b); first&-first != uint64(0x80)<<(8*bytes.IndexByte(body, b)) {
					t.Fatalf("byte %#x at %d among %#x: first found by mark %x", b, at, others, first)
				}
			}
		}
	}
	if got := load([]byte("abc"), 1); got != 'b'|'c'<<8 {
		t.Errorf("load at the end: %x", got)
	}
}

// A word has one hash, regardless of the pieces in which it is read.
func TestWordHash(t *testing.T) {
	text := "abcdefghijklmnopqrstuvwxyz0123456789"
	seen := map[uint64]string{}
	for n := range len(text) {
		want := wordHash(text[:n])
		if other, ok := seen[want]; ok {
			t.Errorf("%q and %q have one hash", text[:n], other)
		}
		seen[want] = text[:n]
		for step := 1; step <= 8; step++ {
			var w word
			for i := 0; i < n; i += step {
				piece := []byte(text[i:min(i+step, n)])
				w.add(load(piece, 0), uint(len(piece))*8)
			}
			if got := w.end(); got != want || w.some != (n > 0) {
				t.Errorf("%q in pieces of %d: %x, want %x", text[:n], step, got, want)
			}
		}
	}
}

// The table of elements has all of them: none has the slot of another.
func TestTags(t *testing.T) {
	table, n := newTagTable(), 0
	for name := range strings.FieldsSeq(blocks) {
		n++
		if got := table.kind([]byte(name)); got != boundary {
			t.Errorf("%s is %d", name, got)
		}
	}
	for name, want := range map[string]tagKind{
		"td":         blank,
		"th":         blank,
		"pre":        preOpen,
		"script":     raw,
		"style":      raw,
		"b":          inline,
		"":           inline,
		"blockquote": boundary,
		"blockquot":  inline,
		"a":          inline,
	} {
		if got := table.kind([]byte(name)); got != want {
			t.Errorf("%q is %d, want %d", name, got, want)
		}
	}
	full := 0
	for _, e := range table {
		if e.name != 0 {
			full++
		}
	}
	if full != n+5 {
		t.Errorf("%d of %d names have a slot", full, n+5)
	}
}

// Every character means the same from the table as it does when it is looked at.
func TestLetters(t *testing.T) {
	var l letters
	for r := rune(0); r <= 0x20fff; r++ {
		x, bits, alone := l.of(r)
		if wantX, wantBits, wantAlone := letterOf(r); x != wantX || bits != wantBits || alone != wantAlone {
			t.Fatalf("%U: %x of %d bits, alone %v; want %x, %d, %v", r, x, bits, alone, wantX, wantBits, wantAlone)
		}
	}
}

func TestFromUTF16(t *testing.T) {
	for _, body := range []string{
		"", "a", "ab", "a\x00b\x00c\x00d\x00e\x00", "a\x00b\x00c\x00\xe9\x00e\x00f\x00g\x00h\x00",
		"\x00a\x00b\x00c\x00d", "\x3d\xd8\x00\xde", "\x3d\xd8a\x00", "\x00\xdea\x00b", "\x3d\xd8",
		"\x3d\xd8\x3d\xd8\x00\xde",
	} {
		for _, little := range []bool{true, false} {
			end, order := unicode.BigEndian, binary.ByteOrder(binary.BigEndian)
			if little {
				end, order = unicode.LittleEndian, binary.LittleEndian
			}
			want, err := unicode.UTF16(end, unicode.IgnoreBOM).NewDecoder().Bytes([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if got := fromUTF16(nil, []byte(body), order); string(got) != string(want) {
				t.Errorf("%q (little end first: %v): %q, want %q", body, little, got, want)
			}
		}
	}
}
