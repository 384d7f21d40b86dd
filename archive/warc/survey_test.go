// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/internal/inorder"
)

func twoWorkers() inorder.Crew { return inorder.Crew{Go: func(f func()) { go f() }, Size: 2} }

// manyRecords is a file of records that do not shrink, some of which hold a whole file of records.
func manyRecords(t *testing.T) (packed, plain []byte) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{7})
	var inner, out bytes.Buffer
	to := NewWriter(&inner)
	write := func(w *Writer, n int, body []byte) {
		if _, err := w.Write(&RecordDraft{
			Type:   Response,
			URL:    fmt.Sprintf("http://h.test/%d", n),
			Date:   time.Unix(1e9, 0),
			Head:   []byte("HTTP/1.1 200 OK\r\n\r\n"),
			Body:   bytes.NewReader(body),
			Size:   int64(len(body)),
			Fields: []HeaderField{{Name: "Content-Type", Value: "application/http;msgtype=response"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 1000 {
		write(to, n, []byte("small"))
	}
	to = NewWriter(&out)
	for n := range 36 {
		body := make([]byte, 1<<20)
		random.Read(body)
		if n%3 == 0 {
			body = append(bytes.Clone(inner.Bytes()), body...)
		}
		write(to, n, body)
	}
	p, err := CompressionOf(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, _, err := p.Unpack(&text, bytes.NewReader(out.Bytes())); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), text.Bytes()
}

// A file that is read in parts holds what it holds, and one that is damaged is found to be.
func TestSurveyParts(t *testing.T) {
	packed, plain := manyRecords(t)
	for name, file := range map[string][]byte{"gzip": packed, "plain": plain} {
		var want, got []Entry
		one, err := Survey(bytes.NewReader(file), func(e Entry) error {
			want = append(want, e)
			return nil
		}, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		two, ok := SurveyParts(bytes.NewReader(file), int64(len(file)), twoWorkers(), func(e Entry) error {
			got = append(got, e)
			return nil
		})
		if !ok || one != two || one.Records != 36 || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v, want %+v; %d lines, want %d", name, two, ok, one, len(got), len(want))
		}
		for _, at := range map[string][]int{"gzip": {100, len(file) / 2, len(file) - 6}, "plain": {5}}[name] {
			bad := bytes.Clone(file)
			bad[at] ^= 0x10
			if _, ok := SurveyParts(bytes.NewReader(bad), int64(len(bad)), twoWorkers(),
				func(Entry) error { return nil }); ok {
				t.Errorf("%s: damage at %d is not found", name, at)
			}
		}
	}
}

// Records that do not end with two empty lines are counted.
func TestOddEnds(t *testing.T) {
	_, plain := manyRecords(t)
	head, _, _ := strings.Cut(string(plain), "HTTP/")
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
