package mirror_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/fetch"
	jobs "mirrord/job"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// Exit codes of a crash run, as those of the program.
const (
	exitComplete   = 0
	exitFailed     = 1
	exitPartial    = 3
	exitSuspicious = 4
)

// TestCrashRun is the process that the tests of this file kill: one run of one job on the state that the environment names.
// Called as an ordinary test it has nothing to do.
func TestCrashRun(t *testing.T) {
	dir := os.Getenv("MIRRORD_CRASH_STATE")
	if dir == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	sum, err := crashRun(ctx, dir, os.Getenv("MIRRORD_CRASH_URL"))
	code := exitFailed
	switch {
	case sum == nil:
	case sum.Verdict == mirror.Partial:
		code = exitPartial
	case err != nil:
	case sum.Verdict == mirror.Suspicious:
		code = exitSuspicious
	default:
		code = exitComplete
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	if sum != nil {
		sum.WriteText(os.Stderr)
	}
	os.Exit(code)
}

const crashJob = "crash"

func crashRun(ctx context.Context, dir, url string) (*mirror.Summary, error) {
	j := jobs.Default(url)
	j.Name = crashJob
	j.Polite.Connections, j.Polite.Delay, j.Polite.Factor = 4, 0, 0
	j.Limits.MinFree, j.Limits.Retries = 0, 0
	j.Limits.MaxDelete = 0.5
	st, err := store.OpenState(dir, store.Options{Wait: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	s, err := st.OpenSite(j.Name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	client, err := mirror.NewClient(j, mirror.World{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile}, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return mirror.Run(ctx, mirror.Options{
		Job: j, State: st, Site: s, Fetcher: client, Robots: mirror.NewRobots(j, client, mirror.NewRobotsStore(st)), Hosts: new(fetch.Hosts),
	})
}

// crashProcess is a run in a process of its own.
type crashProcess struct {
	cmd  *exec.Cmd
	out  *strings.Builder
	done chan error
}

func startCrash(t *testing.T, dir, url string, prefix ...string) *crashProcess {
	t.Helper()
	args := append(prefix, os.Args[0], "-test.run=^TestCrashRun$", "-test.v=false")
	p := &crashProcess{cmd: exec.Command(args[0], args[1:]...), out: new(strings.Builder), done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), "MIRRORD_CRASH_STATE="+dir, "MIRRORD_CRASH_URL="+url)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p
}

// wait returns the exit code, -1 for a process that was killed.
func (p *crashProcess) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(2 * time.Minute):
		p.cmd.Process.Kill()
		<-p.done
		t.Fatalf("the run hangs:\n%s", p.out)
	}
	return p.cmd.ProcessState.ExitCode()
}

// awaitServed waits until the site has served n requests; false when the process ended before.
func (p *crashProcess) awaitServed(s *crashSite, n int) bool {
	for range n {
		select {
		case <-s.served:
		case err := <-p.done:
			p.done <- err
			return false
		}
	}
	return true
}

// killAfter kills the process once the site has served n requests and d has passed, unless it ends before. It reports whether it
// was killed.
func (p *crashProcess) killAfter(t *testing.T, s *crashSite, n int, d time.Duration, sig syscall.Signal) (code int, killed bool) {
	t.Helper()
	if !p.awaitServed(s, n) {
		return p.wait(t), false
	}
	select {
	case err := <-p.done:
		p.done <- err
		return p.wait(t), false
	case <-time.After(d):
	}
	p.cmd.Process.Signal(sig)
	code = p.wait(t)
	return code, code == -1 || sig != syscall.SIGKILL
}

// publishedTree returns the digest of every file of the published tree by its path; phm.json without the time of the retrieval.
func publishedTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	root, err := os.OpenRoot(filepath.Join(dir, "sites", crashJob, "current"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	out := map[string]string{}
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := root.ReadFile(p)
		if err != nil {
			return err
		}
		if p == "phm.json" {
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				return err
			}
			delete(m, "retrieved")
			if data, err = json.Marshal(m); err != nil {
				return err
			}
		}
		out[p] = sha256Hex(data)
		if p == "phm.json" {
			out[p] = string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sha256Hex(b []byte) string {
	d := sha256.Sum256(b)
	return hex.EncodeToString(d[:])
}

func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[p]; !ok {
			t.Errorf("%s is missing", p)
		} else if g != want[p] {
			t.Errorf("%s differs from that of an undisturbed run: %s, want %s", p, g, want[p])
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("%s should not be there", p)
		}
	}
}

// readSite opens the site that a process left behind, as any reader would.
func readSite(t *testing.T, dir string, f func(*store.Site)) {
	t.Helper()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ReadSite(crashJob)
	if errors.Is(err, store.ErrNoSite) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f(s)
}

// committed adds the URLs that the unfinished run has an answer of, as the disk says.
func committed(t *testing.T, dir string, into map[string]bool) {
	t.Helper()
	readSite(t, dir, func(s *store.Site) {
		run, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		if run == nil {
			return
		}
		add := func(r *store.Resource) {
			if r.Run == run.Number && r.Outcome != site.Pending && r.Outcome != site.Failed {
				into[r.URL.Path()] = true
			}
		}
		if err := s.Resources(func(r *store.Resource) error { add(r); return nil }); err != nil {
			t.Fatal(err)
		}
		err = s.Replay(func(uint32, store.NewURL) error { return nil }, func(r *store.Resource, _ []byte, _ bool) error { add(r); return nil })
		if err != nil {
			t.Fatal(err)
		}
	})
}

// verifyClean checks everything on disk.
func verifyClean(t *testing.T, dir string) {
	t.Helper()
	readSite(t, dir, func(s *store.Site) {
		st, err := mirror.Verify(t.Context(), s, true, func(p store.Problem) { t.Errorf("verify: %s", p) })
		if err != nil || st.Problems > 0 {
			t.Errorf("verify: %d problems, %v", st.Problems, err)
		}
	})
}

// undisturbed returns the tree of a run that nothing disturbs.
func undisturbed(t *testing.T, s *crashSite) map[string]string {
	t.Helper()
	dir := t.TempDir()
	p := startCrash(t, dir, s.srv.URL+"/")
	if code := p.wait(t); code != exitComplete {
		t.Fatalf("undisturbed run: exit %d\n%s", code, p.out)
	}
	verifyClean(t, dir)
	s.asked()
	return publishedTree(t, dir)
}

func crashRand(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("MIRRORD_CRASH_SEED"); v != "" {
		seed, _ = strconv.ParseUint(v, 10, 64)
	}
	t.Logf("MIRRORD_CRASH_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// asksNothingTwice fails for URLs that were asked although the disk had an answer of this run.
func asksNothingTwice(t *testing.T, asked []string, had map[string]bool) {
	t.Helper()
	for _, p := range asked {
		if had[p] && p != "/robots.txt" {
			t.Errorf("%s was asked again", p)
		}
	}
}

// Kill -9 at 20 random moments of a run: the same command ends in the same tree, and nothing committed is asked again.
func TestCrashKillAnywhere(t *testing.T) {
	rnd := crashRand(t)
	s := newCrashSite(t, 600)
	want := undisturbed(t, s)
	s.set(1, 6*time.Millisecond)
	for kills := 0; kills < 20 && !t.Failed(); {
		dir := t.TempDir()
		kills = killUntilComplete(t, rnd, s, dir, kills)
		verifyClean(t, dir)
		sameTree(t, publishedTree(t, dir), want)
	}
}

// killUntilComplete starts runs and kills them, until the twentieth kill, until one completes.
func killUntilComplete(t *testing.T, rnd *rand.Rand, s *crashSite, dir string, kills int) int {
	t.Helper()
	had := map[string]bool{}
	total, before := 0, 0
	for {
		p := startCrash(t, dir, s.srv.URL+"/")
		code, killed := -1, false
		if kills < 20 {
			code, killed = p.killAfter(t, s, rnd.IntN(150), time.Duration(rnd.IntN(200))*time.Millisecond, syscall.SIGKILL)
		} else {
			code = p.wait(t)
		}
		asked := s.asked()
		total += len(asked)
		asksNothingTwice(t, asked, had)
		before = len(had)
		committed(t, dir, had)
		if !killed {
			if code != exitComplete {
				t.Fatalf("exit %d\n%s", code, p.out)
			}
			break
		}
		kills++
		readSite(t, dir, func(s *store.Site) {
			if st, err := s.Verify(t.Context(), true, func(p store.Problem) { t.Errorf("after kill %d: %s", kills, p) }); err != nil || st.Problems > 0 {
				t.Fatalf("after kill %d: %d problems, %v", kills, st.Problems, err)
			}
		})
	}
	t.Logf("%d kills, %d requests, %d answers committed before the last run", kills, total, before)
	return kills
}

// SIGTERM ends a run as partial; the same command goes on where it stopped.
func TestCrashTerminate(t *testing.T) {
	rnd := crashRand(t)
	s := newCrashSite(t, 400)
	want := undisturbed(t, s)
	s.set(1, 4*time.Millisecond)
	dir := t.TempDir()
	had := map[string]bool{}
	for i := 0; ; i++ {
		p := startCrash(t, dir, s.srv.URL+"/")
		code, n := 0, 0
		if i < 3 {
			n = 20 + rnd.IntN(100)
			code, _ = p.killAfter(t, s, n, 0, syscall.SIGTERM)
		} else {
			code = p.wait(t)
		}
		asked := s.asked()
		asksNothingTwice(t, asked, had)
		committed(t, dir, had)
		if i < 3 && code == exitPartial {
			if !strings.Contains(p.out.String(), "interrupted") {
				t.Errorf("the summary does not say that the run was interrupted:\n%s", p.out)
			}
			if len(had) < len(asked)-8 { // all but what was under way is kept
				t.Errorf("%d of %d answers were kept", len(had), len(asked))
			}
			continue
		}
		if code != exitComplete || i < 3 {
			t.Fatalf("run %d: exit %d\n%s", i, code, p.out)
		}
		break
	}
	verifyClean(t, dir)
	sameTree(t, publishedTree(t, dir), want)
}

// reader looks at the published tree as somebody who browses it does: current is resolved once, then pages are read. It reports
// the version that it saw, and every mixture.
func reader(t *testing.T, dir string, pages []string, mark func(n, version int) int, allowed func(version int) bool) {
	site := filepath.Join(dir, "sites", crashJob)
	tree, err := os.Readlink(filepath.Join(site, "current"))
	if err != nil {
		t.Errorf("current: %v", err)
		return
	}
	root, err := os.OpenRoot(filepath.Join(site, tree))
	if err != nil {
		t.Errorf("current names %s: %v", tree, err)
		return
	}
	defer root.Close()
	seen := 0
	for n, p := range pages {
		data, err := root.ReadFile(p)
		if err != nil {
			t.Errorf("%s in %s: %v", p, tree, err)
			return
		}
		_, rest, _ := strings.Cut(string(data), "version=")
		v, _, ok := strings.Cut(rest, ".</p>")
		got, err := strconv.Atoi(v)
		switch {
		case !ok || err != nil || !strings.HasSuffix(string(data), "</html>\n"):
			t.Errorf("%s in %s is cut short", p, tree)
		case n == 0:
			if seen = got; !allowed(seen) {
				t.Errorf("a reader sees version %d", seen)
			}
		case got != mark(n, seen):
			t.Errorf("%s in %s is of version %d beside an entry page of version %d", p, tree, got, seen)
		}
	}
}

// A mirror is brought up to date again and again while readers look at it and runs are killed, most of them while they publish.
// Every reader sees version N or N+1, and each version is that of a mirror that nothing disturbed.
func TestCrashResyncReaders(t *testing.T) {
	rnd := crashRand(t)
	s := newCrashSite(t, 500)
	ref, dir := t.TempDir(), t.TempDir()
	pages := []string{"index.html"} // page n at index n
	for n := 1; n < 5; n++ {
		pages = append(pages, s.path(n)[1:])
	}
	kills := 0
	for version := 1; version <= 5; version++ {
		s.set(version, 0)
		p := startCrash(t, ref, s.srv.URL+"/")
		code := p.wait(t)
		if code != exitComplete {
			t.Fatalf("version %d undisturbed: exit %d\n%s", version, code, p.out)
		}
		requests := len(s.asked())
		stop := make(chan struct{})
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			tick := time.NewTicker(2 * time.Millisecond) // leaves the processor to the run
			defer tick.Stop()
			for version > 1 {
				select {
				case <-stop:
					return
				case <-tick.C:
					reader(t, dir, pages, s.mark, func(v int) bool { return v == version || v == version-1 })
				}
			}
		}()
		had := map[string]bool{}
		for {
			p := startCrash(t, dir, s.srv.URL+"/")
			killed := false
			if kills < 6*version {
				n := requests - rnd.IntN(40)
				if rnd.IntN(4) == 0 {
					n = rnd.IntN(requests)
				}
				if len(had) > 0 {
					n = max(n-len(had), 0)
				}
				code, killed = p.killAfter(t, s, n, time.Duration(rnd.IntN(120))*time.Millisecond, syscall.SIGKILL)
			} else {
				code = p.wait(t)
			}
			asksNothingTwice(t, s.asked(), had)
			committed(t, dir, had)
			if !killed {
				if code != exitComplete {
					t.Errorf("version %d: exit %d\n%s", version, code, p.out)
				}
				break
			}
			kills++
		}
		close(stop)
		<-stopped
		verifyClean(t, dir)
		sameTree(t, publishedTree(t, dir), publishedTree(t, ref))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills", kills)
}

// A site whose database was lost is rebuilt from the published tree: it stays published, keeps its version, and goes on.
func TestCrashRebuild(t *testing.T) {
	s := newCrashSite(t, 150)
	ref, dir := t.TempDir(), t.TempDir()
	run := func(d string, version int) *mirror.Summary {
		t.Helper()
		sum, err := crashRun(t.Context(), d, s.srv.URL+"/")
		if err != nil || sum.Verdict != mirror.Complete || sum.Version != version {
			t.Fatalf("version %d: %+v, %v", version, sum, err)
		}
		return sum
	}
	same := func() { // phm.json says how many documents were spliced, which are more after a rebuild
		t.Helper()
		got, want := publishedTree(t, dir), publishedTree(t, ref)
		delete(got, phm.MetaName)
		delete(want, phm.MetaName)
		sameTree(t, got, want)
	}
	for version := 1; version <= 2; version++ {
		s.set(version, 0)
		run(ref, version)
		run(dir, version)
	}
	db := filepath.Join(dir, "sites", crashJob, "site.db")
	if err := os.WriteFile(db, []byte(strings.Repeat("garbage", 5000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := crashRun(t.Context(), dir, s.srv.URL+"/"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a run with a damaged database: %v", err)
	}
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := st.Rebuild(crashJob)
	if cerr := st.Close(); err != nil || cerr != nil || n < 150 {
		t.Fatalf("%d, %v, %v", n, err, cerr)
	}
	same()
	if sum := run(dir, 2); sum.Published {
		t.Errorf("a version was published although nothing changed: %+v", sum)
	}
	verifyClean(t, dir)
	same()
	s.set(3, 0)
	run(ref, 3)
	run(dir, 3)
	verifyClean(t, dir)
	same()
}
