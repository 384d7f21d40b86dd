// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"mirrord/testing/certtest"
)

// A renewed certificate is used, and a broken one is not.
func TestCertIsRenewed(t *testing.T) {
	dir := t.TempDir()
	names, _ := certtest.Put(t, dir, 1)
	c, err := newCertFiles(names, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	serial := func() int64 {
		t.Helper()
		at = at.Add(time.Minute)
		for _, name := range strings.Split(names, ",") { // files of one moment look the same
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
		c.looked = time.Time{}
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	certtest.Put(t, dir, 2)
	if n := serial(); n != 2 {
		t.Errorf("certificate %d", n)
	}
	put(t, dir, "cert.pem", "broken")
	if n := serial(); n != 2 {
		t.Errorf("certificate %d", n)
	}
}
