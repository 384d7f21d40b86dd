// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/phm"
)

// A look at a published tree finds, without a lock, an obvious defect, and names the file.
func TestLookAtTree(t *testing.T) {
	for name, c := range map[string]struct {
		files int
		url   int // bytes of each URL: a table has some size without many files
		harm  func(tree string) error
		want  string // of the text
		file  string
	}{
		"good":         {files: 3},
		"good, large":  {files: 400, url: 1500},
		"tree missing": {files: 3, harm: os.RemoveAll, want: "missing or damaged"},
		"phm.json missing": {
			files: 3,
			harm:  func(tree string) error { return os.Remove(filepath.Join(tree, phm.MetaName)) },
			want:  "missing or damaged",
		},
		"phm.json empty": {
			files: 3,
			harm:  func(tree string) error { return os.Truncate(filepath.Join(tree, phm.MetaName), 0) },
			want:  "empty or not a file",
		},
		"phm.json cut": {
			files: 3,
			harm:  func(tree string) error { return os.Truncate(filepath.Join(tree, phm.MetaName), 20) },
			want:  "phm.json cannot be read",
			file:  phm.MetaName,
		},
		"phm.files cut": {
			files: 400,
			url:   1500,
			harm:  func(tree string) error { return os.Truncate(filepath.Join(tree, phm.FilesName), 300_000) },
			want:  "phm.files has 300000 bytes, not ",
			file:  phm.FilesName,
		},
		"a bit of phm.files": {
			files: 3,
			harm:  func(tree string) error { return flipBit(filepath.Join(tree, phm.FilesName), 100) },
			want:  "phm.files is not what was published",
			file:  phm.FilesName,
		},
		"file missing": {
			files: 3,
			harm:  func(tree string) error { return os.Remove(filepath.Join(tree, "p0002.html")) },
			want:  "p0002.html is missing",
			file:  "p0002.html",
		},
		"file cut": {
			files: 3,
			harm:  func(tree string) error { return os.Truncate(filepath.Join(tree, "p0001.html"), 1) },
			want:  "p0001.html has 1 bytes, not 4",
			file:  "p0001.html",
		},
		"no file": {
			files: 3,
			harm: func(tree string) error {
				p := filepath.Join(tree, "p0001.html")
				if err := os.Remove(p); err != nil {
					return err
				}
				return os.Mkdir(p, 0o755)
			},
			want: "p0001.html is not a file",
			file: "p0001.html",
		},
		"many of a large tree": {
			files: 400,
			url:   1500,
			harm: func(tree string) error {
				for i := 100; i < 150; i++ {
					if err := os.Remove(filepath.Join(tree, fmt.Sprintf("p%04d.html", i))); err != nil {
						return err
					}
				}
				return nil
			},
			want: "is missing",
			file: "p01",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tree := filepath.Join(dir, "sites/x", Dir, "000001")
			if err := os.MkdirAll(tree, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(Dir+"/000001", filepath.Join(dir, "sites/x", CurrentLink)); err != nil {
				t.Fatal(err)
			}
			var files []phm.File
			for i := range c.files {
				p := fmt.Sprintf("p%04d.html", i)
				u := "http://www.test/" + p + "?" + strings.Repeat("x", c.url)
				if err := os.WriteFile(filepath.Join(tree, p), []byte("text"), 0o644); err != nil {
					t.Fatal(err)
				}
				files = append(files, phm.File{
					Path:   p,
					URL:    u,
					Size:   4,
					SHA256: sum("text"),
				})
			}
			writePHM(t, tree, 1, files)
			if c.harm != nil {
				if err := c.harm(tree); err != nil {
					t.Fatal(err)
				}
			}
			got := LookAt(dir, "x", true)
			if !strings.Contains(got.Text, c.want) || !strings.HasPrefix(got.File, c.file) {
				t.Errorf("%+v", got)
			}
			if c.want == "" && got != (TreeProblem{}) {
				t.Errorf("of a good tree: %+v", got)
			}
			whole := c.file == "" && c.want != ""
			if brief := LookAt(dir, "x", false); (brief.Text != "") != whole {
				t.Errorf("without files: %+v", brief)
			}
		})
	}
}

// flipBit changes a bit of a file.
func flipBit(name string, at int) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	b[at] ^= 4
	return os.WriteFile(name, b, 0o644)
}
