// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What became of a URL in retrieval is written at one place.
func TestOneWriter(t *testing.T) {
	writes := regexp.MustCompile(
		`[tT]able\.Record\(|commits\.Add|[cC]ounts\.(Bytes|SameText|NearText|Fetched|Unchanged|Redirected|Gone|Disallowed|Failed|Refused)\.Add|[nN]otes\.Decided\(`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"..", "../run", "../process", "../finish"} {
		more, err := filepath.Glob(other + "/*.go")
		if err != nil || len(more) == 0 {
			t.Fatal(other, len(more), err)
		}
		files = append(files, more...)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := writes.Find(src); (found != nil) != (name == "apply.go") {
			t.Errorf("%s: %q", name, found)
		}
	}
}
