// SPDX-License-Identifier: Apache-2.0

package living

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/phm"
)

// Promises for each program.
const (
	shortRuns = 4    // without an edit, in the ordinary tests
	longRuns  = 6    // in the long run
	restsFrom = 3    // the first run that publishes nothing without an edit
	mostTimes = 1.3  // requests of an unedited run beside content, lists and requisites
	mostJunk  = 0.10 // of the pages of a first run
	mostVain  = 0.05 // bodies of an unedited run that the server need not have sent, or
	leastVain = 3    // where that is more: a run checks whether validators are honest, and looks for noise
)

// binary builds the program.
func binary(t *testing.T) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "mirrord")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", at, "mirrord/cmd/mirrord").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return at
}

// TestLiving mirrors each program without an edit until it must rest, edits, and mirrors again.
func TestLiving(t *testing.T) {
	t.Parallel()
	bin, long := binary(t), os.Getenv("MIRRORD_LONG") != ""
	all := programs()
	for _, x := range all {
		if x.alike {
			all = append(all, x.unknown())
		}
	}
	for _, x := range all {
		if !x.short && !long {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			m := &mirrored{program: x, place: newPlace(t), bin: bin}
			m.valid = map[string]string{}
			m.begin(m.place)
			m.take()
			m.job()
			runs := shortRuns
			if long {
				runs = longRuns
			}
			m.rests(runs)
			m.finds(1)
		})
	}
}

// mirrored is a program with its mirror.
type mirrored struct {
	program
	*place
	bin string
	run int // the last one

	need  int               // content, lists and requisites of the first run
	valid map[string]string // validators of the last answers, by address
	vain  int               // bodies of the last run that its server need not have sent
	row   []any             // of the table
}

// summary has the fields of the JSON of run-now that the tests read.
type summary struct {
	Verdict   string `json:"verdict"`
	Published bool   `json:"published"`
	Requests  int    `json:"requests"`
	Added     int    `json:"added"`
	Changed   int    `json:"changed"`
	Removed   int    `json:"removed"`
}

func (m *mirrored) job() {
	connections := 4
	if m.alone {
		connections = 1
	}
	m.write("jobs/j.toml", fmt.Sprintf("url = \"%s%s\"\nschedule = \"@weekly\"\n%s\n[polite]\ndelay = \"0s\"\n"+
		"factor = 0.0\nconnections = %d\nallow_private = true\n[limits]\nmin_free = \"0\"\n",
		m.url, m.start, m.program.job, connections))
}

// once makes a run, which may end complete or with gaps.
func (m *mirrored) once(more ...string) (s summary, seen []answer) {
	m.t.Helper()
	m.run++
	c := m.command(".", append([]string{
		m.bin, "run-now", "j", "--json", "--state", m.dir + "/state", "--jobs", m.dir + "/jobs",
	}, more...)...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 6) {
		m.t.Fatalf("run %d: %v\n%s\n%s", m.run, err, last(string(out), 3000), last(said.String(), 3000))
	}
	if err := json.Unmarshal(out, &s); err != nil {
		m.t.Fatalf("run %d: %v in %s", m.run, err, out)
	}
	seen, vain := m.take(), map[string]bool{} // by address: a second answer is compared with the first
	for _, a := range seen {
		if a.status == http.StatusOK && !a.asked && a.valid != "" && a.valid == m.valid[a.uri] {
			vain[a.uri] = true
		}
		if a.status == http.StatusOK {
			m.valid[a.uri] = a.valid
		}
	}
	m.vain = len(vain)
	m.row = append(m.row, fmt.Sprintf("%d/%d/%d", s.Requests, s.Changed+s.Added+s.Removed, m.vain))
	return s, seen
}

// rests makes runs without an edit.
func (m *mirrored) rests(runs int) {
	m.t.Helper()
	before := map[string]string{}
	for range runs {
		if m.run > 0 {
			before = m.tree()
		}
		s, seen := m.once("--full")
		if m.run == 1 {
			m.first(seen)
		}
		if s.Published && m.run >= restsFrom {
			m.t.Errorf("run %d without an edit publishes a version: %d added, %d changed, %d removed\n%s",
				m.run, s.Added, s.Changed, s.Removed, m.differ(before, m.tree()))
		}
		if m.run > 1 && m.vain > max(leastVain, int(mostVain*float64(len(seen)))) {
			m.t.Errorf("run %d: of %d answers %d have bodies in vain", m.run, len(seen), m.vain)
		}
		times := float64(s.Requests) / float64(m.need)
		if m.run == runs && times > max(mostTimes, m.times) {
			m.t.Errorf("run %d: %d requests for %d that are wanted", m.run, s.Requests, m.need)
		}
	}
}

// first looks at what the first run requested.
func (m *mirrored) first(seen []answer) {
	m.t.Helper()
	items, urls := map[string]bool{}, map[string]bool{}
	pages, junk := 0, []string{}
	for _, a := range seen {
		if a.status != http.StatusOK || urls[a.uri] {
			continue
		}
		urls[a.uri] = true
		isJunk := m.junk.MatchString(a.uri)
		if !strings.Contains(a.mime, "html") {
			if !isJunk {
				m.need++
			}
			continue
		}
		pages++
		if item := m.content.FindStringSubmatch(a.uri); item != nil {
			items[item[1]] = true
		} else if m.lists != nil && m.lists.MatchString(a.uri) {
			m.need++
		} else if isJunk {
			junk = append(junk, a.uri)
		}
	}
	m.need += len(items)
	m.row = append(m.row, fmt.Sprintf("(%d items, %d pages, %d junk, needs %d)",
		len(items), pages, len(junk), m.need))
	if len(items) != m.items {
		m.t.Errorf("the first run has %d of %d pages of the content", len(items), m.items)
	}
	if float64(len(junk)) > max(mostJunk, m.share)*float64(pages) {
		m.t.Errorf("%d of %d pages are junk: %q", len(junk), pages, junk[:min(len(junk), 10)])
	}
}

// finds edits, and finds the edit in the next run and nothing else.
func (m *mirrored) finds(n int) {
	m.t.Helper()
	before := m.tree()
	m.edit(m.place, n)
	m.take()
	_, seen := m.once()
	holds := 0
	for _, a := range seen {
		if strings.Contains(string(a.body), marker(n)) {
			holds++
		}
	}
	found := false
	after := m.tree()
	for name, text := range after {
		has := strings.Contains(text, marker(n))
		found = found || has
		if old, ok := before[name]; ok && old == text {
			continue
		}
		if !has && (m.shows == nil || !m.shows.MatchString(name)) {
			m.t.Errorf("the edit changed %s, which does not show it\n%s", name,
				m.differ(map[string]string{name: before[name]}, map[string]string{name: text}))
		}
	}
	if !found {
		m.t.Errorf("the edit was not found in its run; %d answers held it", holds)
	}
	m.row = append(m.row, fmt.Sprintf("(%d answers hold the edit)", holds))
	if s, _ := m.once(); s.Published {
		m.t.Errorf("the run after that with the edit publishes a version: %d changed\n%s", s.Changed,
			m.differ(after, m.tree()))
	}
	m.t.Log(append([]any{m.name, "requests/changed/bodies in vain:"}, m.row...)...)
}

// tree is the published tree, by name.
func (m *mirrored) tree() map[string]string {
	m.t.Helper()
	out := map[string]string{}
	root, err := os.OpenRoot(filepath.Join(m.dir, "state/sites/j/current"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == phm.MetaName || name == phm.FilesName {
			return err
		}
		b, err := root.ReadFile(name)
		out[name] = string(b)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// differ shows the lines that differ in two trees, for a person: a few files, and the names of others.
func (m *mirrored) differ(a, b map[string]string) (out string) {
	names := slices.Sorted(maps.Keys(b))
	names = slices.DeleteFunc(names, func(name string) bool { return a[name] == b[name] })
	for i, name := range names {
		if out += name + "\n"; i < 3 {
			m.write("a", a[name])
			m.write("b", b[name])
			lines, _ := m.command(".", "diff", "a", "b").Output() // its status says that they differ
			out += string(lines[:min(len(lines), 1500)])
		}
	}
	return out
}
