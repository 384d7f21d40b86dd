// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"mirrord/store/record"
)

// A capture is read from its line unchanged, with any bytes; a changed line is refused or gives another
// capture, without a panic.
func TestPlannedLine(t *testing.T) {
	text := func() string {
		b := make([]byte, rand.N(40))
		for i := range b {
			b[i] = "\n\x1b\r[JK a"[rand.N(8)]
		}
		return string(b)
	}
	for range 2000 {
		c := &planned{
			URL:     text(),
			Number:  rand.Uint32(),
			Date:    rand.Int64(),
			Head:    []byte(text() + "x"),
			Made:    rand.N(2) == 0,
			Added:   rand.N(2) == 0,
			Size:    rand.Int64N(1 << 40),
			MIME:    text(),
			Charset: text(),
			Source:  text(),
			Again:   -rand.Int64N(100),
			Kept:    rand.Int64N(11),
			Listed:  rand.Int64(),
			Body:    []record.BodyKind{record.NoBody, record.PackBody, record.BlobBody}[rand.N(3)],
			At: record.Place{
				Pack: rand.Uint32(),
				Off:  rand.Int64(),
				Len:  rand.Uint32(),
				Doc:  rand.Uint32N(12),
			},
		}
		for i := range c.Digest {
			c.Digest[i] = "\n\x1bab"[rand.N(4)]
		}
		line := appendPlanned([]byte("a\nb"), c)
		if !bytes.HasPrefix(line, []byte("a\nb")) || bytes.IndexByte(line[3:], '\n') >= 0 {
			t.Fatalf("%q", line)
		}
		got, err := parsePlanned(line[3:])
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("%+v, %v, not %+v", got, err, c)
		}
		if _, err := parsePlanned(line[3 : 3+rand.N(len(line)-3)]); err == nil {
			t.Fatal("a line that was cut is read")
		}
		line[3+rand.N(len(line)-3)] ^= byte(1 + rand.N(255))
		_, _ = parsePlanned(line[3:])
	}
}
