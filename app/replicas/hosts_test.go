// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"mirrord/replica/hosts"
	"mirrord/testing/apptest"
)

// Targets of the records of a WARC file are addresses of a list, packed or not.
func TestTargetsOfAWARC(t *testing.T) {
	const file = "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n" +
		"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://a.test/x>\r\nContent-Length: " +
		"19\r\n\r\nWARC/1.0 no record\n\r\n\r\n" +
		"WARC/1.0\r\nWARC-Type: request\r\nWARC-Target-URI: http://a.test/x\r\nContent-Length: 0\r\n\r\n\r\n\r\n" +
		"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: dns:a.test\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(file))
	z.Close()
	for name, c := range map[string]struct {
		list string
		want hosts.ListCount
	}{
		"plain":    {file, hosts.ListCount{Lines: 4, URLs: 1, Bad: 1}},
		"gzip":     {packed.String(), hosts.ListCount{Lines: 4, URLs: 1, Bad: 1}},
		"cut":      {file[:strings.Index(file, "no record")], hosts.ListCount{Lines: 3, URLs: 1, Bad: 1}},
		"no WARC":  {"http://a.test/x\nhttp://b.test/\n", hosts.ListCount{Lines: 2, URLs: 2}},
		"an empty": {"", hosts.ListCount{}},
	} {
		v := hosts.NewInventory(hosts.StageOne{})
		got, err := readURLList(t.Context(), apptest.TestApp(t.TempDir()), "-", strings.NewReader(c.list), v)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}
