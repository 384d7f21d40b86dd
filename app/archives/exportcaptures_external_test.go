// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/archive/wacz"
)

// A WACZ of one version has its pages with titles, and what reads it by range finds each record; cookies are
// in it when they are wanted.
func TestExportWACZ(t *testing.T) {
	s := archives.MirrorChanging(t)
	out := filepath.Join(t.TempDir(), "one.wacz")
	o := archives.ExportRequest{Job: "site", Out: out, Version: 1}
	o.Cookies = true
	x, err := archives.Export(t.Context(), s.App, o)
	if err != nil || x.Versions != 1 || x.Version != 1 || x.Files != 4 || x.Revisits != 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	file, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	c, err := wacz.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if c.About.MainURL != s.URL+"/" || c.About.Title != "Café 1" {
		t.Errorf("%+v", c.About)
	}
	data, err := c.Records()[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if all := archives.RecordsIn(t, s, data); len(all) != 4 ||
		!strings.Contains(all[0].Head, "Set-Cookie: session=secret\r\n") {
		t.Errorf("%+.300v", all)
	}
	if v, err := care.Verify(t.Context(), s.App, out, true); err != nil || v.Count() != 0 || v.Files != 5 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	var stream bytes.Buffer
	o.Out, o.Stream, o.Format = "-", &stream, "wacz"
	if _, err := archives.Export(t.Context(), s.App, o); err != nil || !bytes.Equal(stream.Bytes(), file) {
		t.Errorf("to a stream: %d bytes, not %d, %v", stream.Len(), len(file), err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := archives.Export(t.Context(), s.App, o); err == nil || !strings.Contains(err.Error(),
		"set TMPDIR") {
		t.Errorf("without a place for temporary files: %v", err)
	}
}
