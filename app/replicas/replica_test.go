// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/app/files"
	"mirrord/store/shared"
	"mirrord/testing/apptest"
)

// Files of a spill are read back, and have no names.
func TestFileSpill(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	taken := filepath.Join(dir, fmt.Sprintf("replicas-%d-1.tmp", os.Getpid()))
	if err := os.WriteFile(taken, []byte("of another user"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := files.FileSpill{Root: root}
	for range 2 {
		run, err := s.Create()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 3)
		if _, err := run.Write([]byte("abcdef")); err != nil {
			t.Error(err)
		}
		if _, err := run.ReadAt(b, 2); err != nil || string(b) != "cde" {
			t.Errorf("read %q, %v", b, err)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	if b, err := os.ReadFile(taken); err != nil || string(b) != "of another user" {
		t.Errorf("%q, %v", b, err)
	}
}

// What a run publishes between the two readings of a mirror may lie elsewhere, or on a host that had no page.
func TestBelowDir(t *testing.T) {
	for _, c := range []struct {
		dir, path, want string
		ok              bool
	}{
		{"/copies/m/", "/copies/m/a.html?b", "/a.html?b", true}, {"/copies/m/", "/copies/m/", "/", true},
		{"/", "/a", "/a", true}, {"/copies/m/", "/x", "", false}, {"/copies/m/", "/copies/mm/a.html", "", false},
		{"", "/a", "", false},
	} {
		if got, ok := belowDir(c.dir, []byte(c.path)); string(got) != c.want || ok != c.ok {
			t.Errorf("%s below %s: %q, %v", c.path, c.dir, got, ok)
		}
	}
}

func TestCommonDir(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"/"}, "/"},
		{[]string{"/a/b.html"}, "/a/"},
		{[]string{"/a/b.html", "/a/c/d.html"}, "/a/"},
		{[]string{"/a/b/", "/a/bc/"}, "/a/"},
		{[]string{"/a/b/", "/a/b?x=/c/"}, "/a/"},
		{[]string{"/a/b/", "/c"}, "/"},
	} {
		dir := ""
		for _, p := range c.paths {
			dir = commonDir(dir, p)
		}
		if dir != c.want {
			t.Errorf("%q lie under %q, want %q", c.paths, dir, c.want)
		}
	}
}

// A registry of many mirrors and pairs is linked in linear time, and each mirror has its own equivalents
// once.
func TestRegistryOfManyMirrors(t *testing.T) {
	const n = 20_000
	var reg Registry
	var pairs []shared.PairRecord
	for i := range n {
		host := fmt.Sprintf("http://h%d.example/", i)
		reg.Mirrors = append(reg.Mirrors, RegistryMirror{
			Job:      fmt.Sprint("j", i),
			Prefixes: []string{host + "a/", host + "b/"},
		})
		pairs = append(pairs, shared.PairRecord{
			Base1:   host,
			Base2:   fmt.Sprintf("http://h%d.example/b/x/", (i+1)%n),
			Mirrors: true,
			Level:   "2",
		})
	}
	reg.Link(pairs)
	for i, m := range reg.Mirrors {
		// Its own pair, whose other side the next mirror has; and as that next one of the mirror before.
		if len(m.Equivalents) != 2 {
			t.Fatalf("mirror %d has %d equivalents", i, len(m.Equivalents))
		}
		for _, e := range m.Equivalents {
			if e.Of == m.Prefixes[0][:len(m.Prefixes[0])-2] && e.Job != fmt.Sprint("j", (i+1)%n) {
				t.Fatalf("mirror %d: the copy of %s is of job %q", i, e.Of, e.Job)
			}
		}
	}
}

// A registry is dated by the clock of the app.
func TestRegistryByTheClock(t *testing.T) {
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	at := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	a.Now = func() time.Time { return at }
	st, err := a.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if reg, err := CurrentRegistry(t.Context(), a); err != nil || !reg.Made.Equal(at) {
		t.Errorf("%+v, %v", reg, err)
	}
}

// The example of the documentation has the fields that there are.
func TestRegistryAsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/replicas.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```json\n{\n  \"registry\"")
	example, _, ok := strings.Cut("{\n  \"registry\""+example, "```")
	if !ok {
		t.Fatal("there is no example")
	}
	var reg Registry
	d := json.NewDecoder(strings.NewReader(example))
	d.DisallowUnknownFields()
	if err := d.Decode(&reg); err != nil || reg.Format != registryFormat {
		t.Fatal(err, reg.Format)
	}
	var got strings.Builder
	e := json.NewEncoder(&got)
	e.SetIndent("", "  ")
	if err := e.Encode(&reg); err != nil {
		t.Fatal(err)
	}
	// the list of one prefix is in one line
	flat := strings.NewReplacer("[\n        ", "[", "\n      ],", "],")
	if want := strings.TrimSpace(example); strings.TrimSpace(flat.Replace(got.String())) != strings.TrimSpace(
		flat.Replace(want)) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
