// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"math"
	"testing"
)

// A head is the JSON that encoding/json makes of it.
func FuzzFrameMeta(f *testing.F) {
	f.Add("http://h.example/a%20b?c=d", "text/html", `W/"x\y"`, uint32(0), int64(-1))
	f.Add("http://h.example/<&>", "", "\x00\xff\u2028é", uint32(math.MaxUint32), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, url, mime, tag string, id uint32, n int64) {
		m := FrameMeta{
			ID:           id,
			URL:          url,
			MIME:         mime,
			Charset:      mime,
			Fetched:      n,
			ETag:         tag,
			LastModified: tag,
			Size:         -n,
			Digest:       url,
			Format:       uint8(id),
		}
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.encode([]byte("x"))
		if err != nil || string(got) != "x"+string(want) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	})
}
