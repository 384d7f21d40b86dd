// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/testing/oracle"
)

// TestOracleIndex holds the index of files against that of warcio: of ours with bodies of all sizes, and of
// records as other programs write them.
func TestOracleIndex(t *testing.T) {
	rng := oracle.Rand(t)
	files := map[string][]byte{"ours.warc.gz": oursForIndex(t, rng)}
	var parts []string
	for i := range 50 {
		parts = append(parts, foreignForIndex(rng, i))
	}
	files["foreign.warc.gz"] = gzipped(t, parts...)
	for name, file := range files {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		want := oracle.Ask[string, []string](t, "cdxj", []string{path})[0]
		var got []string
		if _, err := Survey(bytes.NewReader(file), func(e Entry) error {
			e.File = name
			got = append(got, strings.TrimSuffix(string(e.Append(nil)), "\n"))
			return nil
		}, func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
		if len(got) < 40 || !slices.Equal(got, want) {
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("%s, line %d:\n%s\nof warcio:\n%s", name, i+1, got[i], want[i])
				}
			}
			t.Errorf("%s: %d lines, of warcio %d", name, len(got), len(want))
		}
	}
}

// hostsForIndex are hosts whose keys differ from their names in all ways.
func hostsForIndex() []string {
	return []string{"a.test", "www.A.test", "www3.b.test:8080", "127.0.0.1:8080", "[::1]", "xn--bcher-kva.test"}
}

func oursForIndex(t *testing.T, rng *rand.Rand) []byte {
	var file bytes.Buffer
	w := NewWriter(&file)
	for i := range 100 {
		body := make([]byte, rng.IntN(1<<(4+i%15)))
		rand.NewChaCha8([32]byte{byte(i)}).Read(body[:len(body)/2])
		hosts := hostsForIndex()
		d := &RecordDraft{Type: Response, URL: fmt.Sprintf("http://%s/P%d?b=%d&a=%%C3", hosts[i%len(hosts)], i, i)}
		d.Date = time.Unix(rng.Int64N(1<<31), 0)
		mime := []string{"text/html; charset=utf-8", "", "IMAGE/png ;x", "caf\u00e9/x"}[i%4]
		d.Head = fmt.Appendf(nil, "HTTP/1.1 %d Status\r\nContent-Type: %s\r\n\r\n", 200+i, mime)
		d.Body, d.Size = bytes.NewReader(body), int64(len(body))
		d.Fields = []HeaderField{{"Content-Type", "application/http; msgtype=response"},
			{"WARC-Payload-Digest", SHA256(sha256.Sum256(body))}}
		if i%5 == 4 {
			d.Type, d.Body, d.Size = Revisit, nil, 0
		}
		if _, err := w.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}

func foreignForIndex(rng *rand.Rand, i int) string {
	fields := fmt.Sprintf("WARC-Target-URI: http://a.test/%d\r\nWARC-Date: 2026-11-21T09:53:%02dZ\r\n",
		rng.IntN(99), i)
	switch i % 6 {
	case 0:
		return foreign("WARC-Type: resource\r\nContent-Type: text/plain;x\r\n"+fields, "text")
	case 1:
		return foreign("WARC-Type: metadata\r\nContent-Type: application/json\r\n"+fields, "{}")
	case 2:
		return foreign("WARC-Type: revisit\r\nWARC-Payload-Digest: sha1:AAAA\r\n"+fields, "")
	}
	return foreign("WARC-Type: response\r\nContent-Type: application/http\r\n"+fields,
		"HTTP/1.0 404 Not Found\r\ncontent-type: a/b\r\nContent-Type: c/d\r\n\r\nnothing")
}
