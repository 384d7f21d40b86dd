// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/env"
	"mirrord/phm"
	"mirrord/testing/apptest"
)

// A history that is damaged, or not there, is refused, and nothing is left.
func TestBadHistory(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 2)
	for name, harm := range map[string]func(dir string){
		"damaged": func(dir string) {
			file := filepath.Join(dir, historyDir, "000002.warc.gz")
			apptest.Put(t, dir, historyDir+"/000002.warc.gz", strings.Replace(apptest.ReadFile(t, file),
				"\x1f", "\x1e", 1))
		},
		"missing": func(dir string) {
			if err := os.RemoveAll(filepath.Join(dir, historyDir)); err != nil {
				t.Fatal(err)
			}
		},
		"unnamed": func(dir string) {
			table := apptest.ReadFile(t, filepath.Join(dir, phm.FilesName))
			apptest.Put(t, dir, phm.FilesName, strings.ReplaceAll(table, historyDir, "phm.histories"))
		},
		"elsewhere": func(dir string) {
			meta := apptest.ReadFile(t, filepath.Join(dir, phm.MetaName))
			apptest.Put(t, dir, phm.MetaName, strings.ReplaceAll(meta, historyDir+"/", "../../"))
		},
	} {
		dir := filepath.Join(t.TempDir(), "site")
		if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: dir, AllVersions: true}); err != nil {
			t.Fatal(err)
		}
		harm(dir)
		_, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{dir}, As: "bad", Job: true})
		if err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
		state, serr := a.State()
		left, gerr := filepath.Glob(filepath.Join(state, "sites", "*bad*"))
		if serr != nil || gerr != nil || len(left) > 0 {
			t.Errorf("%s: left %q, %v, %v", name, left, serr, gerr)
		}
	}
	apptest.Put(t, a.Jobs, "zim.toml", apptest.GrowingJob("http://127.0.0.1:1"))
	for _, x := range []ExportRequest{{Format: "zim"}, {Flatten: true}, {Mask: []string{"images"}}} {
		x.Job, x.Out, x.AllVersions = "site", filepath.Join(t.TempDir(), "x"), true
		if x.Format == "" {
			x.Format = "phm"
		}
		if _, err := Export(t.Context(), a, x); err == nil || env.FieldOf(err) != env.FieldFormat {
			t.Errorf("%+v: %v", x, err)
		}
	}
}
