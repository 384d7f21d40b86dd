// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Records that do not end with two empty lines are counted.
func TestOddEnds(t *testing.T) {
	var packed, plain bytes.Buffer
	draft := &RecordDraft{Type: Response, URL: "http://h.test/", Date: time.Unix(1e9, 0)}
	if _, err := NewWriter(&packed).Write(draft); err != nil {
		t.Fatal(err)
	}
	p, err := CompressionOf(bytes.NewReader(packed.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Unpack(&plain, &packed); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSuffix(plain.String(), "\r\n\r\n")
	one := strings.Replace(head, "Content-Length: ", "X: ", 1)
	one = strings.TrimSuffix(one, "\r\n") + "Content-Length: 4\r\n\r\nHTTP"
	for file, want := range map[string]int{
		one + "\r\n\r\n" + one + "\r\n\r\n": 0, one + "\r\n\r\n\r\n" + one + "\n\n": 0,
		one + "\r\n" + one: 2, one + one + "\r\n\r\n": 1, one + "\r\n\r\n" + one + "\x00\x00": 1,
	} {
		got, err := Survey(strings.NewReader(file), func(Entry) error { return nil },
			func(err error) { t.Error(err) })
		if err != nil || got.Odd != want || got.Records != 2 {
			t.Errorf("%q: %+v, %v, want %d", file, got, err, want)
		}
	}
}
