// SPDX-License-Identifier: Apache-2.0

package mirrortest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"

	"mirrord/mirror"
	"mirrord/testing/storetest"
)

// Scenario is a text archive: what a site serves over some versions, a job, and what each run must do. Its
// sections are
//
//	job.toml                    the job
//	http://host/path            a page. Leading lines "> 404" and "> Name: value" are its status and header
//	                            fields, "> gone" removes it
//	@2 http://host/path         the same from the second run on; "@2 job.toml" changes the job; "@2" alone asks
//	                            for a run as it is
//	want 1                      the verdict, the requests in order with the seconds at which they came, the
//	                            outcomes, the files
//	want 1 index.html           the bytes of a published text file that is new or changed
//
// It is played three times: with a Fake in a synctest bubble, where times and order are exact; so once more,
// with bodies, ownership and shared facts kept elsewhere, in memory; and over real HTTP without politeness.
type Scenario struct {
	File string

	archive *txtar.Archive
	runs    int
	jobs    map[int]string
	pages   map[int]map[string]Page
	removed map[int][]string
	want    map[string]string // "1", "1 index.html"
}

// onlyBubble in the comment of a scenario leaves out real HTTP, because of waits that a test cannot wait for.
const onlyBubble = "Bubble only."

// Load reads a scenario.
func Load(t testing.TB, file string) *Scenario {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &Scenario{
		File:    file,
		archive: a,
		runs:    1,
		jobs:    map[int]string{},
		pages:   map[int]map[string]Page{},
		removed: map[int][]string{},
		want:    map[string]string{},
	}
	for _, f := range a.Files {
		if want, ok := strings.CutPrefix(f.Name, "want "); ok {
			s.want[want] = string(f.Data)
			continue
		}
		version, name := 1, f.Name
		if v, rest, _ := strings.Cut(f.Name, " "); strings.HasPrefix(v, "@") {
			if version, err = strconv.Atoi(v[1:]); err != nil {
				t.Fatalf("%s: section %q: %v", file, f.Name, err)
			}
			name = rest
		}
		s.runs = max(s.runs, version)
		switch {
		case name == "":
		case name == "job.toml":
			s.jobs[version] = string(f.Data)
		case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
			if err := s.page(version, name, string(f.Data)); err != nil {
				t.Fatalf("%s: section %q: %v", file, f.Name, err)
			}
		default:
			t.Fatalf("%s: section %q: want job.toml, a URL or want", file, f.Name)
		}
	}
	return s
}

func (s *Scenario) page(version int, url, text string) error {
	p := Page{Header: map[string]string{}}
	for strings.HasPrefix(text, "> ") {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		line = line[2:]
		if line == "gone" {
			s.removed[version] = append(s.removed[version], url)
			return nil
		}
		if status, err := strconv.Atoi(line); err == nil {
			p.Status = status
			continue
		}
		k, v, ok := strings.Cut(line, ": ")
		if !ok {
			return fmt.Errorf("line %q is neither a status nor a field", line)
		}
		p.Header[k] = v
	}
	p.Body = text
	if s.pages[version] == nil {
		s.pages[version] = map[string]Page{}
	}
	s.pages[version][url] = p
	return nil
}

// Play plays the scenario and compares. With update, it writes what happened into the file instead.
func (s *Scenario) Play(t *testing.T, update bool) {
	got := map[string]string{}
	t.Run("order", func(t *testing.T) { s.playInBubble(t, got, func(*Mirror) {}) })
	if t.Failed() {
		return
	}
	if update {
		s.update(t, got)
		return
	}
	s.compare(t, got)
	t.Run("in memory", func(t *testing.T) {
		var m *Mirror
		elsewhere := map[string]string{}
		s.playInBubble(t, elsewhere, func(made *Mirror) {
			m = made
			m.Owner, m.Facts = new(storetest.Owner), new(storetest.Facts)
		})
		if !maps.Equal(elsewhere, got) {
			t.Errorf("it goes another way:\n%v\nwant\n%v", elsewhere, got)
		}
		if _, err := os.Stat(filepath.Join(m.Dir, "mirror.db")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("on the disk: %v", err)
		}
	})
	if strings.Contains(string(s.archive.Comment), onlyBubble) {
		return
	}
	t.Run("http", func(t *testing.T) {
		w := Start(t)
		m := New(t, w, s.jobs[1])
		overHTTP := map[string]string{}
		s.play(t, w, m, func(run int, sum *mirror.Summary, since time.Time, log []Request, tree map[string]string) {
			s.note(overHTTP, m, run, sum, since, log, tree)
			k := strconv.Itoa(run)
			bubble, http := []byte(untimed(got[k])), []byte(untimed(overHTTP[k]))
			if d := diff.Diff("bubble "+k, bubble, "http "+k, http); d != nil {
				t.Errorf("%s", d)
			}
			for k := range overHTTP {
				if strings.Contains(k, " ") && overHTTP[k] != got[k] {
					t.Errorf("%s differs over http:\n%s", k, overHTTP[k])
				}
			}
		})
	})
}

// playInBubble makes all runs with a Fake, and notes what they did. change is called before the first one.
func (s *Scenario) playInBubble(t *testing.T, got map[string]string, change func(*Mirror)) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWeb()
		f := &Fake{Web: w, Takes: 10 * time.Millisecond}
		m := New(t, nil, s.jobs[1])
		m.Fetcher, m.Robots = f, f
		change(m)
		s.play(t, w, m, func(run int, sum *mirror.Summary, since time.Time, log []Request, tree map[string]string) {
			s.note(got, m, run, sum, since, log, tree)
			f.Forget()
		})
	})
}

// play makes all runs.
func (s *Scenario) play(
	t *testing.T, w *Web, m *Mirror, after func(int, *mirror.Summary, time.Time, []Request, map[string]string),
) {
	for run := 1; run <= s.runs; run++ {
		for u, p := range s.pages[run] {
			w.Set(u, p)
		}
		for _, u := range s.removed[run] {
			w.Remove(u)
		}
		if j, ok := s.jobs[run]; ok {
			m.SetJob(w, j)
		}
		switch {
		case w.URL == "" && !strings.Contains(s.jobs[1], "connections ="):
			// one after the other, so that the order is exact
			m.Job.Polite.Connections, m.Job.Polite.Delay = 1, 100*time.Millisecond
		case w.URL != "":
			m.Job.Polite.Delay, m.Job.Polite.Factor, m.Job.Polite.MaxDelay = 0, 0, 20*time.Millisecond
		}
		start := time.Now()
		sum, err := m.RunWith(context.Background(), func(*mirror.Options) {})
		if err != nil {
			t.Fatalf("run %d: %v", run, err)
		}
		tree := map[string]string{}
		if m.Published() {
			tree = m.Tree()
		}
		after(run, sum, start, w.Requests(), tree)
		if w.URL == "" {
			time.Sleep(time.Hour) // of the bubble
		}
	}
}

// note writes down what a run did.
func (s *Scenario) note(
	got map[string]string, m *Mirror, run int, sum *mirror.Summary, since time.Time, log []Request,
	tree map[string]string,
) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, version %d", sum.Verdict, sum.Version)
	if sum.Published {
		fmt.Fprintf(&b, " published: %d added, %d changed, %d removed", sum.Added, sum.Changed, sum.Removed)
	}
	b.WriteString("\n")
	for _, r := range sum.Reasons {
		fmt.Fprintf(&b, "why: %s\n", r)
	}
	for _, n := range sum.Notes {
		fmt.Fprintf(&b, "note: %d %s\n", n.Count, n.What)
	}
	b.WriteString("requests:\n")
	slices.SortStableFunc(log, func(a, b Request) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.URL, b.URL))
	})
	for _, r := range log {
		fmt.Fprintf(&b, "\t%.2f %d %s\n", r.At.Sub(since).Seconds(), r.Status, r.URL)
	}
	b.WriteString("outcomes:\n")
	outcomes := m.Outcomes()
	for _, u := range slices.Sorted(maps.Keys(outcomes)) {
		fmt.Fprintf(&b, "\t%s %s\n", u, outcomes[u])
	}
	b.WriteString("files:\n")
	for _, p := range slices.Sorted(maps.Keys(tree)) {
		fmt.Fprintf(&b, "\t%s\n", p)
	}
	got[strconv.Itoa(run)] = b.String()
	for p, text := range tree {
		if !isText(p) {
			continue
		}
		if run > 1 && lastText(got, run-1, p) == text {
			continue
		}
		got[fmt.Sprintf("%d %s", run, p)] = text
	}
}

// lastText returns a file as the latest run up to this one left it.
func lastText(got map[string]string, run int, p string) string {
	for ; run > 0; run-- {
		if text, ok := got[fmt.Sprintf("%d %s", run, p)]; ok {
			return text
		}
	}
	return "\x00"
}

func isText(p string) bool {
	return slices.Contains([]string{".html", ".css", ".svg", ".xml", ".rss", ".webmanifest", ".json", ".xhtml"},
		path.Ext(p))
}

// untimed drops what only a bubble makes exact: the times and the order of requests, and the words of errors.
func untimed(text string) string {
	lines := strings.Split(text, "\n")
	reason := regexp.MustCompile(`(failed): .*`)
	var out, requests []string
	for _, l := range lines {
		if f := strings.Fields(l); strings.HasPrefix(l, "\t") && len(f) == 3 && strings.HasPrefix(f[2], "http") {
			requests = append(requests, f[1]+" "+f[2])
			continue
		}
		if strings.HasPrefix(l, "why: ") {
			l, _, _ = strings.Cut(l, ": fetch")
		}
		out = append(out, reason.ReplaceAllString(l, "$1"))
	}
	slices.Sort(requests)
	return strings.Join(append(out, requests...), "\n")
}

func (s *Scenario) compare(t *testing.T, got map[string]string) {
	t.Helper()
	keys := maps.Clone(got)
	maps.Copy(keys, s.want)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		g, inGot := got[k]
		w, inWant := s.want[k]
		switch {
		case !inGot:
			t.Errorf("%s: want %s did not happen", s.File, k)
		case !inWant:
			t.Errorf("%s: want %s is missing; got\n%s", s.File, k, g)
		default:
			if !strings.HasSuffix(g, "\n") {
				g += "\n" // as txtar does
			}
			if d := diff.Diff("want "+k, []byte(w), "got", []byte(g)); d != nil {
				t.Errorf("%s:\n%s", s.File, d)
			}
		}
	}
}

func (s *Scenario) update(t *testing.T, got map[string]string) {
	t.Helper()
	a := &txtar.Archive{Comment: s.archive.Comment}
	for _, f := range s.archive.Files {
		if !strings.HasPrefix(f.Name, "want ") {
			a.Files = append(a.Files, f)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		a.Files = append(a.Files, txtar.File{Name: "want " + k, Data: []byte(got[k])})
	}
	if err := os.WriteFile(s.File, bytes.TrimLeft(txtar.Format(a), "\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
