// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
	"mirrord/scheduler/status"
	"mirrord/store"
	records "mirrord/store/shared"
)

// pageDamage is one way in which a page of a database can be wrong.
type pageDamage struct {
	name  string
	spoil func(data []byte, page int) []byte // of the whole file
}

const dbPage = 4096

func pageDamages() []pageDamage {
	at := func(data []byte, page int) []byte { return data[page*dbPage : (page+1)*dbPage] }
	return []pageDamage{
		{"zeroed", func(data []byte, page int) []byte { clear(at(data, page)); return data }},
		{"random", func(data []byte, page int) []byte {
			r := rand.New(rand.NewPCG(uint64(page), 1))
			for i := range at(data, page) {
				data[page*dbPage+i] = byte(r.Uint32())
			}
			return data
		}},
		{"bits", func(data []byte, page int) []byte {
			r := rand.New(rand.NewPCG(uint64(page), 2))
			for range 3 {
				at(data, page)[r.IntN(64)] ^= 1 << r.IntN(8)
			}
			return data
		}},
		{"swapped", func(data []byte, page int) []byte {
			other := 2 + (page+1)%(len(data)/dbPage-2)
			keep := slices.Clone(at(data, page))
			copy(at(data, page), at(data, other))
			copy(at(data, other), keep)
			return data
		}},
		{"pointing at itself", func(data []byte, page int) []byte { // a branch whose only child it is
			p := at(data, page)
			binary.NativeEndian.PutUint16(p[8:], 1)
			binary.NativeEndian.PutUint16(p[10:], 1)
			binary.NativeEndian.PutUint32(p[16:], 16)
			binary.NativeEndian.PutUint32(p[20:], 1)
			binary.NativeEndian.PutUint64(p[24:], uint64(page))
			p[32] = 'a'
			return data
		}},
		{"cut", func(data []byte, page int) []byte { return data[:page*dbPage] }},
		{"cut within", func(data []byte, page int) []byte { return data[:page*dbPage+100] }},
	}
}

// badPages is a state with a site whose database is damaged, and a healthy one beside it.
type badPages struct {
	t           *testing.T
	jobs, state string
}

func newBadPages(t *testing.T) *badPages {
	t.Helper()
	b := &badPages{t: t, jobs: t.TempDir(), state: filepath.Join(t.TempDir(), "state")}
	var sites []*demosite.Handler
	for _, name := range []string{"bad", "good"} {
		site := demosite.New()
		sites = append(sites, site)
		srv := httptest.NewServer(site)
		t.Cleanup(srv.Close)
		put(t, b.jobs, name+".toml",
			fmt.Sprintf("url = %q\n[polite]\ndelay = \"0s\"\nfactor = 0.0\n[limits]\nmin_free = 0\n", srv.URL+"/"))
	}
	for version := 1; version <= 2; version++ {
		for i, name := range []string{"bad", "good"} {
			sites[i].SetVersion(version)
			if code, out, errs := b.run("run-now", name); code != cli.ExitOK {
				t.Fatalf("run-now: %d\n%s%s", code, out, errs)
			}
		}
	}
	st, err := store.OpenState(b.state, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 { // so that mirror.db has branches
		if err := st.Shared.AddRun(records.RunRecord{
			Site:    fmt.Sprintf("other%d", i%3),
			Verdict: "complete",
			Reasons: []string{strings.Repeat("x", 302)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	st.Close()
	return b
}

// run runs a command and fails when it hangs, panics or prints a trace.
func (b *badPages) run(args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		code, stdout, stderr = runArgs(b.t, nil, append(args, "--jobs", b.jobs, "--state", b.state)...)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		buf := make([]byte, 1<<20)
		b.t.Fatalf("%v hangs\n%s", args, buf[:runtime.Stack(buf, true)])
	}
	noTrace(b.t, fmt.Sprint(args), stdout+stderr)
	return code, stdout, stderr
}

func noTrace(t *testing.T, what, text string) {
	t.Helper()
	for _, bad := range []string{"panic", "goroutine ", "SIGBUS", "fault of mirrord", "internal error"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s: %s", what, text)
			return
		}
	}
}

// reading lists the commands that only read a job.
func (b *badPages) reading(out string) [][]string {
	return [][]string{
		{"status", "bad", "--versions"}, {"verify", "bad"}, {"plan", "bad"}, {"evolution", "bad"}, {"rules", "bad"},
		{"explain", "bad", "http://127.0.0.1/"}, {"diff", "bad"},
		{"export", "bad", "-o", filepath.Join(out, "bad.phm")},
		{"export", "bad", "--version", "1", "-o", filepath.Join(out, "old.phm")}, {"status", "bad"},
		{"gc", "--dry-run"},
		{"replicas"},
	}
}

var oneLine = regexp.MustCompile(
	`^mirrord: [^\n]*site\.db is damaged: [^\n]*; mirrord repair --rebuild bad\n$`)

// site.db with each page damaged in each way, and its log: a run makes it again, with all versions.
func TestBadPagesHealedInBulk(t *testing.T) {
	t.Parallel()
	b := newBadPages(t)
	long := os.Getenv("MIRRORD_LONG") != ""
	name := filepath.Join(b.state, "sites/bad/site.db")
	_, versions, _ := b.run("status", "bad", "--versions")
	again, turn := 0, 0
	for _, d := range pageDamages() {
		good, err := os.ReadFile(name) // it changes with each run
		if err != nil {
			t.Fatal(err)
		}
		for page := range usedPages(good) {
			if turn++; !long && turn%29 != 0 {
				continue
			}
			if (page+1)*dbPage > len(good) { // one that was made again is shorter
				break
			}
			what := fmt.Sprintf("page %d %s", page, d.name)
			if err := os.WriteFile(name, d.spoil(slices.Clone(good), page), 0o640); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := b.run("run-now", "bad")
			if code != cli.ExitOK {
				t.Fatalf("%s: a run: %d\n%s%s", what, code, stdout, stderr)
			}
			if strings.Contains(stderr, "made again from its log") {
				again++
			}
			if code, stdout, stderr = b.run("verify", "bad"); code != cli.ExitOK {
				t.Errorf("%s: afterwards: %d\n%s%s", what, code, stdout, stderr)
			}
			if _, now, _ := b.run("status", "bad", "--versions"); now != versions {
				t.Errorf("%s: versions\n%s, had\n%s", what, now, versions)
			}
			if good, err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if again < 2 { // a page that is free, or of the commit before, does not matter
		t.Errorf("only %d databases were made again", again)
	}
}

// site.db with each page damaged in each way, without its log: each reading command and a run say it in one
// line, or the page does not matter.
func TestBadPagesOfSiteInBulk(t *testing.T) {
	t.Parallel()
	b := newBadPages(t)
	long := os.Getenv("MIRRORD_LONG") != ""
	name := filepath.Join(b.state, "sites/bad/site.db")
	if err := os.RemoveAll(filepath.Join(b.state, "sites/bad/log")); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	cases, damaged, turn := 0, 0, 0
	for page := range usedPages(good) {
		for i, d := range pageDamages() {
			if !long && (page*3+i)%(2*len(pageDamages())-1) != 0 {
				continue
			}
			cases++
			what := fmt.Sprintf("page %d %s", page, d.name)
			if err := os.WriteFile(name, d.spoil(slices.Clone(good), page), 0o640); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := b.run("status", "--json")
			var list []status.Job
			if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != cli.ExitOK || stderr != "" ||
				len(list) != 2 || list[1].Health != status.OK {
				t.Fatalf("%s: status: %d %v\n%s%s", what, code, err, stdout, stderr)
			}
			bad := list[0].Health == status.Damaged
			value := bad && strings.Contains(list[0].Problems[0], "cannot be decoded") // which not all commands need
			if bad {
				if damaged++; list[0].Fix == "" || len(list[0].Problems) == 0 {
					t.Errorf("%s: %+v", what, list[0])
				}
			}
			commands := b.reading(out)
			if bad {
				commands = append(commands, []string{"run-now", "bad"}, []string{"accept", "bad"},
					[]string{"rollback", "bad"})
			}
			for _, args := range commands {
				if turn++; !long && turn%4 != 0 {
					continue
				}
				code, stdout, stderr := b.run(args...)
				switch {
				case value && code == cli.ExitOK:
				case args[0] == "status" && !slices.Contains(args, "--versions"), args[0] == "replicas":
					if code != cli.ExitOK {
						t.Errorf("%s: %v: %d %s", what, args, code, stderr)
					}
				case args[0] == "accept": // nothing waits
				case value && args[0] == "verify" && code == cli.ExitError &&
					strings.Contains(stdout, "repair --rebuild bad"):
				case bad && args[0] == "gc":
					if code != cli.ExitError || !strings.Contains(stdout+stderr, "repair --rebuild bad") {
						t.Errorf("%s: %v: %d\n%s%s", what, args, code, stdout, stderr)
					}
				case bad && (code != cli.ExitError || !oneLine.MatchString(stderr)):
					t.Errorf("%s: %v: %d\n%s%s%q", what, args, code, stdout, stderr, list[0].Problems)
				case !bad && code != cli.ExitOK && !(args[0] == "verify" && code == cli.ExitError && stderr == "") &&
					!(strings.HasPrefix(d.name, "bits") && code == cli.ExitError && strings.Count(stderr, "\n") == 1):
					t.Errorf("%s does not matter, and %v: %d\n%s%s", what, args, code, stdout, stderr)
				}
			}
		}
	}
	t.Logf("%d cases, %d damaged", cases, damaged)
	if damaged < cases/3 {
		t.Errorf("of %d cases %d are found", cases, damaged)
	}
}

// mirror.db with each page damaged in each way: verify finds it, no other reading command fails for it, and
// what it says is one line. A run makes the database again.
func TestBadPagesOfStateInBulk(t *testing.T) {
	t.Parallel()
	b := newBadPages(t)
	long := os.Getenv("MIRRORD_LONG") != ""
	name := filepath.Join(b.state, stateDBName)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	out, turn := t.TempDir(), 0
	for page := range usedPages(good) {
		for _, d := range pageDamages() {
			for _, args := range append(b.reading(out), []string{"run-now", "bad"}) {
				if turn++; !long && turn%59 != 0 {
					continue
				}
				if err := os.WriteFile(name, d.spoil(slices.Clone(good), page), 0o600); err != nil {
					t.Fatal(err)
				}
				code, stdout, stderr := b.run(args...)
				found := args[0] == "verify" && code == cli.ExitError && strings.Contains(stdout,
					"mirror.db is damaged") &&
					strings.Contains(stdout, "mirrord repair bad")
				if (code != cli.ExitOK && !found) || strings.Count(stderr, "\n") > 1 {
					t.Errorf("page %d %s: %v: %d\n%s%s", page, d.name, args, code, stdout, stderr)
				}
			}
		}
	}
	aside, err := filepath.Glob(filepath.Join(b.state, stateDBName+".damaged-*"))
	if err != nil || len(aside) == 0 {
		t.Errorf("no damaged database was set aside: %v", err)
	}
}

// usedPages is how many pages of a database file are in use or free.
func usedPages(data []byte) int {
	a, b := data[16:], data[dbPage+16:]
	if binary.NativeEndian.Uint64(b[48:]) > binary.NativeEndian.Uint64(a[48:]) {
		a = b
	}
	return int(binary.NativeEndian.Uint64(a[40:]))
}

// Databases with damaged pages in a daemon: the healthy site always finishes, the damaged one is said to be
// so, and the daemon lives and does not run it again by itself. Its remedy repairs it.
func TestBadPagesInDaemonInBulk(t *testing.T) {
	t.Parallel()
	b := newBadPages(t)
	long := os.Getenv("MIRRORD_LONG") != ""
	turn := 0
	for _, base := range []string{"sites/bad/site.db", "mirror.db"} {
		kept := filepath.Join(t.TempDir(), "kept")
		if err := os.CopyFS(kept, keptFS(t, b.state)); err != nil {
			t.Fatal(err)
		}
		good, err := os.ReadFile(filepath.Join(b.state, base))
		if err != nil {
			t.Fatal(err)
		}
		for page := range usedPages(good) {
			for i, d := range pageDamages() {
				if turn++; !long && turn%300 != 7 {
					continue
				}
				t.Run(fmt.Sprintf("%s page %d %s", filepath.Base(base), page, d.name), func(t *testing.T) {
					b := *b
					b.t, b.state = t, filepath.Join(t.TempDir(), "state")
					if err := os.CopyFS(b.state, os.DirFS(kept)); err != nil {
						t.Fatal(err)
					}
					b.link(t)
					log := filepath.Join(b.state, "sites/bad/log")
					if err := os.RemoveAll(log); err != nil { // else a run makes the database again
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(b.state, base), d.spoil(slices.Clone(good), page),
						0o600); err != nil {
						t.Fatal(err)
					}
					b.daemon(base, i == 0 || !long)
				})
			}
		}
	}
}

// keptFS is a state without its symbolic links, which os.CopyFS of a rooted file system would refuse.
func keptFS(t *testing.T, state string) fs.FS {
	t.Helper()
	for _, name := range []string{"bad", "good"} {
		link := filepath.Join(state, "sites", name, "current")
		to, err := os.Readlink(link)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(link+".to", []byte(to), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	return os.DirFS(state)
}

// link makes the links again that keptFS took away.
func (b *badPages) link(t *testing.T) {
	t.Helper()
	for _, name := range []string{"bad", "good"} {
		link := filepath.Join(b.state, "sites", name, "current")
		to, err := os.ReadFile(link + ".to")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(link+".to"), os.Symlink(string(to), link)); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *badPages) daemon(base string, walk bool) {
	t := b.t
	d := startDaemon(t, b.jobs, b.state)
	code, out, errs := b.run("run-now", "bad")
	if c, o, e := b.run("run-now", "good"); c != cli.ExitOK {
		t.Errorf("the healthy site: %d\n%s%s", c, o, e)
	}
	var j status.Job
	_, text, _ := b.run("status", "bad", "--json")
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	damaged := j.Health == status.Damaged
	switch {
	case damaged && (code != cli.ExitError || !strings.Contains(out+errs, "mirrord repair --rebuild bad") ||
		j.Fix == "" || j.Activity != status.Idle || (j.Next != nil && j.Why == "retry")):
		t.Errorf("a damaged site: %d\n%s%s\n%+v", code, out, errs, j)
	case damaged && base == stateDBName:
		t.Errorf("a site is damaged by the state's database: %+v", j)
	case !damaged && code != cli.ExitOK:
		t.Errorf("the site is %s: %d\n%s%s", j.Health, code, out, errs)
	}
	if walk && damaged {
		if _, o, _ := b.run("status", "bad"); strings.Count(o, "site.db is damaged") != 1 {
			t.Errorf("status says it not once:\n%s", o)
		}
		if c, o, e := b.run("verify", "--rebuild", "bad"); c != cli.ExitOK || !strings.Contains(o,
			"are known again") {
			t.Errorf("rebuild beside the daemon: %d\n%s%s", c, o, e)
		}
		if _, o, _ := b.run("status", "bad"); strings.Contains(o, "bad: damaged") ||
			strings.Contains(o, "--rebuild") || !strings.Contains(o, "fix: mirrord run-now bad") {
			t.Errorf("status after the rebuild: %s", o)
		}
		if c, o, e := b.run("run-now", "bad"); c != cli.ExitOK {
			t.Errorf("after the rebuild: %d\n%s%s", c, o, e)
		}
		if c, o, e := b.run("verify", "bad"); c != cli.ExitOK {
			t.Errorf("after the rebuild: %d\n%s%s", c, o, e)
		}
		if _, o, _ := b.run("status"); strings.Contains(o, "damaged") {
			t.Errorf("after the rebuild: %s", o)
		}
	}
	d.stop(cli.ExitOK)
	noTrace(t, "log", d.log.String())
	if n := strings.Count(d.log.String(), "mirror.db was damaged"); n > 1 || (n == 1 && base != stateDBName) {
		t.Errorf("said %d times:\n%s", n, d.log.String())
	}
}

const stateDBName = "mirror.db"

// What the scheduler knows of jobs, and their last runs, outlive mirror.db, with a daemon and without one.
func TestStateDBIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := newBadPages(t)
	name := filepath.Join(b.state, stateDBName)
	spoil := func() {
		t.Helper()
		if err := os.WriteFile(name, []byte(strings.Repeat("no database ", 2000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := startDaemon(t, b.jobs, b.state)
	d.do(cli.ExitOK, "paused", "pause", "good")
	spoil()
	d.do(cli.ExitOK, "^bad: ", "run-now", "bad")
	d.stop(cli.ExitOK)
	if n := strings.Count(d.log.String(), "mirror.db was damaged"); n != 1 {
		t.Errorf("said %d times:\n%s", n, d.log.String())
	}
	d.do(cli.ExitOK, "^good +ok, paused", "status")
	spoil()
	code, out, errs := b.run("status")
	if code != cli.ExitOK || strings.Count(errs, "mirror.db was damaged") != 1 || strings.Count(out,
		" ok") != 2 ||
		!strings.Contains(out, "ok, paused") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if code, out, errs := b.run("status", "good"); code != cli.ExitOK || errs != "" ||
		!strings.Contains(out, "version 2") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if aside, err := filepath.Glob(name + ".damaged-*"); err != nil || len(aside) != 2 {
		t.Errorf("%q, %v", aside, err)
	}
}
