// SPDX-License-Identifier: Apache-2.0

package replicagolden

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/testing/replicatest"
)

// All expected values, and a file in which some are others.
func TestGolden(t *testing.T) {
	dir := replicatest.DataDir(t)
	if dir == "" {
		return
	}
	raw, err := os.ReadFile(filepath.Join(dir, "replica-golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := CheckGolden(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("%.2000s", p)
	}
	if report.Cases < 150 || report.Values < 250 {
		t.Errorf("%d cases, %d values", report.Cases, report.Values)
	}
	for from, to := range map[string]string{
		`"e3b0c44298fc1c14"`: `"e3b0c44298fc1c15"`,
		`"level":"L3"`:       `"level":"L2"`,
		`"outcome":"HS"`:     `"outcome":"TS"`,
		`"www","infoseek"`:   `"www","infoseeks"`,
		`"tcg_basic":[["a"`:  `"tcg_basic":[["b"`,
	} {
		if !bytes.Contains(raw, []byte(from)) {
			t.Errorf("%s is not in the file", from)
		}
		report, err := CheckGolden(bytes.NewReader(bytes.ReplaceAll(raw, []byte(from), []byte(to))))
		if err != nil || len(report.Problems) == 0 {
			t.Errorf("%s for %s is not seen: %v", to, from, err)
		}
	}
}

func TestNoGolden(t *testing.T) {
	for _, s := range []string{"", "[]", "{}", "null", `{"hash":1}`} {
		if _, err := CheckGolden(strings.NewReader(s)); !errors.Is(err, ErrGolden) {
			t.Errorf("%s: %v", s, err)
		}
	}
	if _, err := CheckGolden(
		strings.NewReader(
			`{"graphs":{"x":{"pages":["","@","a@h","a"],"links":[["x","y"],["a@h","a"]]}},"outcome":[{}],"classify":[{}],"trivial":{"pages":2,"pairs":[[7,1]]}}`)); err != nil {
		t.Error(err)
	}
}

func FuzzCheckGolden(f *testing.F) {
	for _, s := range []string{
		"{}", `{"hash":[{"in":"","hex":"e3b0c44298fc1c14"}]}`,
		`{"text":{"a":{"html_latin1":"<p>x\u00ff","tokens":["x"]}},"shingles":[{"tokens":["a"],"k":-1}],"outcome":[{"k":9,"source":"a","target":"b"}]}`,
		`{"chunks":{"docs":{"a":["x"]},"fps":{"a|fixed4":[],"b|no":[]},"similar":{"fixed4>1":[],"x":[]}},"sketch":{"sets":{"a":[1]},"bands_4x4":[["a"]]}}`,
		`{"split_url":[{"url":"http://x"}],"host_features":[{"host":"a.b"}],"path_features":[{"path":"/%zz/a","depth":[["p","a","b",0]]}],"sampling":{"paths":["","/a"]},"stage1":{"urls":["x","http://a/"],"params":{"m0":-1}},"classify":[{"tests":["XX","FM"]}]}`,
		`{"graphs":{"x":{"pages":["a@h","b@h"],"links":[["a@h","b@h"]]}},"trivial":{"pages":3,"pairs":[[0,2]]}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if report, err := CheckGolden(strings.NewReader(s)); err == nil && report.Cases == 0 {
			t.Error("nothing was compared, and no error")
		}
	})
}
