// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"mirrord/store/record"
)

// A capture is read from the plan unchanged, with any bytes of its head.
func TestPlanKeeps(t *testing.T) {
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
		p := newCapturePlan(nil)
		if err := p.add(c); err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := p.each(func(got *planned) error {
			if n++; !reflect.DeepEqual(got, c) {
				t.Errorf("%+v, not %+v", got, c)
			}
			return nil
		}); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	}
}
