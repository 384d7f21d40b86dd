// SPDX-License-Identifier: Apache-2.0

package mirrortest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/frontier"
	"mirrord/mirror/report"
	"mirrord/mirror/run"
	"mirrord/mirror/source"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/away"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// own are the settings for a server of one's own, without which a test would take minutes; no version is
// dropped, and every run asks for everything. A job file may say otherwise.
const own = `
policy = "full"
adaptive.learn_for = "0s"
limits.retries = 0
limits.min_free = 0
polite.connections = 4
polite.delay = "0s"
polite.factor = 0.0
polite.max_delay = "50ms"
publish.keep = "all"
`

// Mirror is a job with its state on disk.
type Mirror struct {
	Job   *job.Job
	Dir   string // of the state
	World source.Surroundings

	// Fetcher and Robots take the place of the network if they are set. Hosts is the politeness; nil: a new one
	// for each run.
	Fetcher source.Fetcher
	Robots  source.Robots
	Hosts   frontier.Hosts
	Now     func() time.Time
	Log     *slog.Logger

	// Owner and Facts are those of the state; nil is what a state has by itself.
	Owner home.Owner
	Facts run.Facts

	// Confirm is that of mirror.Options; 0: negative, so that a page that is gone leaves in one run.
	Confirm time.Duration

	Away     away.Bringer // of the state
	PackSize int64        // of the state

	Durable bool // documents are stored as a daemon does it, packed and synced
	Rests   bool // dead ends rest, as in a run of the daemon; else each run requests them
	Damaged bool // the test has damaged the state: what Verify finds is no error

	t testing.TB
}

// New returns a job with the text of a job file, in which the keys of own may be set again, on an empty
// state. w may be nil: then the network is the real one.
func New(t testing.TB, w *Web, toml string) *Mirror {
	t.Helper()
	m := &Mirror{
		t:     t,
		Dir:   filepath.Join(t.TempDir(), "state"),
		World: source.Surroundings{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile},
	}
	m.SetJob(w, toml)
	return m
}

// SetJob gives the mirror another job file.
func (m *Mirror) SetJob(w *Web, toml string) {
	m.t.Helper()
	j, err := job.Parse("test", "test.toml", []byte(toml))
	if err != nil {
		m.t.Fatal(err)
	}
	for line := range strings.Lines(own) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
		_, leaf, dotted := strings.Cut(key, ".")
		if !dotted {
			leaf = key
		}
		if ok && !strings.Contains(toml, leaf+" =") {
			m.set(j, key, value)
		}
	}
	if w != nil && w.URL != "" && j.Proxy == "" {
		j.Proxy = w.URL
	}
	m.Job = j
}

// Set changes one key of the job.
func (m *Mirror) Set(key, value string) {
	m.t.Helper()
	m.set(m.Job, key, value)
}

func (m *Mirror) set(j *job.Job, key, value string) {
	m.t.Helper()
	if err := j.Set(key, value); err != nil {
		m.t.Fatalf("%s = %s: %v", key, value, err)
	}
}

// Run makes a run, checks everything that must hold after any run, and returns the report. An error of the
// run ends the test.
func (m *Mirror) Run() *mirror.Summary {
	m.t.Helper()
	s, err := m.RunWith(context.Background(), func(*mirror.Options) {})
	if err != nil {
		m.t.Fatalf("run: %v", err)
	}
	return s
}

// Accept publishes what a suspicious run held back.
func (m *Mirror) Accept() *mirror.Summary {
	m.t.Helper()
	s, err := m.RunWith(context.Background(), func(o *mirror.Options) { o.Accept, o.NoFetch = true, true })
	if err != nil {
		m.t.Fatalf("accept: %v", err)
	}
	return s
}

// RunWith makes a run with changed options and returns what mirror.Run does.
func (m *Mirror) RunWith(ctx context.Context, change func(*mirror.Options)) (*mirror.Summary, error) {
	m.t.Helper()
	st, err := store.OpenState(m.Dir, store.Options{
		Volatile: !m.Durable,
		Wait:     10 * time.Second,
		Away:     m.Away,
		PackSize: m.PackSize,
		Owner:    m.Owner,
		Now:      m.Now,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("test")
	if err != nil {
		m.t.Fatal(err)
	}
	o := mirror.Options{
		Job:      m.Job,
		State:    st,
		Site:     s,
		Fetcher:  m.Fetcher,
		Robots:   m.Robots,
		Hosts:    m.Hosts,
		Facts:    m.Facts,
		Now:      m.Now,
		Log:      m.Log,
		DeadEnds: !m.Rests,
		Confirm:  cmp.Or(m.Confirm, -1),
	}
	if o.Hosts == nil {
		o.Hosts = new(fetch.Hosts)
	}
	if o.Fetcher == nil {
		c, err := source.NewClient(m.Job, m.World, m.Log)
		if err != nil {
			s.Close()
			m.t.Fatal(err)
		}
		defer c.Close()
		o.Fetcher = c
		if o.Robots == nil {
			o.Robots = source.NewRobots(m.Job, c, nil) // each run asks for robots.txt again
		}
	}
	change(&o)
	sum, runErr := mirror.Run(ctx, o)
	if _, err := report.Verify(context.Background(), s, func(p upkeep.Problem) {
		if !m.Damaged {
			m.t.Errorf("verify: %s", p)
		}
	}); err != nil {
		m.t.Errorf("verify: %v", err)
	}
	if err := s.Close(); err != nil {
		m.t.Errorf("close site: %v", err)
	}
	m.Check()
	return sum, runErr
}

// Site opens the site for reading, for the time of f.
func (m *Mirror) Site(f func(*store.Site)) {
	m.t.Helper()
	st, err := store.OpenState(m.Dir, store.Options{
		Volatile: true,
		Wait:     10 * time.Second,
		Away:     m.Away,
		Now:      m.Now,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite("test")
	if err != nil {
		m.t.Fatal(err)
	}
	defer s.Close()
	f(s)
}

// Outcomes returns what the records say of each URL: the outcome, with its reason after a colon, and "+" in
// front of members of the mirror. A favicon.ico that there is not is left out, as it is from the log of a
// Web.
func (m *Mirror) Outcomes() map[string]string {
	m.t.Helper()
	out := map[string]string{}
	m.Site(func(s *store.Site) {
		err := s.Records.Resources(func(r *record.Resource) error {
			if r.Outcome == site.Gone && r.URL.Path() == "/favicon.ico" {
				return nil
			}
			text := r.Outcome.String()
			if r.Reason != "" {
				text += ": " + r.Reason
			}
			if r.InSet {
				text = "+" + text
			}
			out[r.URL.String()] = text
			return nil
		})
		if err != nil {
			m.t.Fatal(err)
		}
	})
	return out
}

// Current is the published tree. The caller closes it.
func (m *Mirror) Current() *os.Root {
	m.t.Helper()
	r, err := os.OpenRoot(filepath.Join(m.Dir, "sites/test/current"))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { r.Close() })
	return r
}

// Published reports whether a version is published.
func (m *Mirror) Published() bool {
	_, err := os.Stat(filepath.Join(m.Dir, "sites/test/current"))
	return err == nil
}

// Tree returns the files of the published tree by path, without the two that describe it.
func (m *Mirror) Tree() map[string]string {
	m.t.Helper()
	tree := map[string]string{}
	root := m.Current()
	err := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || p == phm.MetaName || p == phm.FilesName {
			return err
		}
		b, err := root.ReadFile(p)
		tree[p] = string(b)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return tree
}

// Paths lists the files of the published tree, sorted.
func (m *Mirror) Paths() []string {
	m.t.Helper()
	var out []string
	for p := range m.Tree() {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// Stamp is what must not change of a file that did not change: where it lies on disk, its time and its bytes.
type Stamp struct {
	Inode uint64
	Time  time.Time
	Size  int64
}

// Stamps returns the stamps of all files of the published tree, the two that describe it included.
func (m *Mirror) Stamps() map[string]Stamp {
	m.t.Helper()
	out := map[string]Stamp{}
	err := fs.WalkDir(m.Current().FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		sys, ok := fi.Sys().(*syscall.Stat_t)
		if !ok {
			return errors.New("no inode")
		}
		out[p] = Stamp{sys.Ino, fi.ModTime(), fi.Size()}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// Text is the summary as a person sees it.
func Text(s *mirror.Summary) string {
	var b strings.Builder
	if err := s.WriteText(&b); err != nil {
		return fmt.Sprint(err)
	}
	return b.String()
}

// ByURL returns the files of the published tree by their URLs, with every link to a file of the
// tree replaced by its URL in angle brackets, so that trees whose paths differ can be compared.
func (m *Mirror) ByURL() map[string]string {
	m.t.Helper()
	root := m.Current()
	table, err := root.Open(phm.FilesName)
	if err != nil {
		m.t.Fatal(err)
	}
	defer table.Close()
	urls := map[string]string{} // by path
	types := map[string]string{}
	for f, err := range phm.Files(table) {
		if err != nil {
			m.t.Fatal(err)
		}
		urls[f.Path], types[f.Path] = f.URL, f.Type
	}
	out := map[string]string{}
	for p, u := range urls {
		b, err := root.ReadFile(p)
		if err != nil {
			m.t.Fatal(err)
		}
		out[u] = named(p, types[p], b, urls)
	}
	return out
}
