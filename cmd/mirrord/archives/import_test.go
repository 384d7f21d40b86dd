// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/cmd/mirrord/cli"
)

// What an import leaves out is said in the singular and in the plural.
func TestImportCounts(t *testing.T) {
	var out bytes.Buffer
	a := &cli.CLI{Environ: cli.Environ{Stdout: &out}}
	m := &archives.Imported{Job: "x", Missing: 1, Unused: 2}
	m.Counted.Damaged = 1
	if err := printImported(a, "x.warc", m); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n1 damaged record left out\n", "\n2 URLs of the archive are", "\n1 URL that pages need or link to is not",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, out.String())
		}
	}
}
