// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"testing"

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

// No beginning of a word has the hash of another.
func TestWordHash(t *testing.T) {
	text := "abcdefghijklmnopqrstuvwxyz0123456789"
	seen := map[uint64]string{}
	for n := range len(text) {
		h := wordHash(text[:n])
		if other, ok := seen[h]; ok {
			t.Errorf("%q and %q have one hash", text[:n], other)
		}
		seen[h] = text[:n]
	}
}

func TestTags(t *testing.T) {
	for name, want := range map[string]tagKind{
		"td":         blank,
		"th":         blank,
		"pre":        preOpen,
		"script":     raw,
		"style":      raw,
		"b":          inline,
		"":           inline,
		"p":          boundary,
		"blockquote": boundary,
		"blockquot":  inline,
		"a":          inline,
	} {
		if got := kindOf([]byte(name)); got != want {
			t.Errorf("%q is %d, want %d", name, got, want)
		}
	}
}
