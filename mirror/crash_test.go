// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/upkeep"
)

// Kill -9 at 20 random moments of runs: the same command ends in the same tree, and nothing committed is
// asked again.
func TestCrashKillAnywhere(t *testing.T) {
	t.Parallel()
	rnd := crashRand(t)
	s, most := newCrashSite(t, sized(300, 600)), 20
	want := undisturbed(t, s)
	s.set(1, 6*time.Millisecond)
	for kills := 0; kills < most && !t.Failed(); {
		dir := t.TempDir()
		kills = killUntilComplete(t, rnd, s, dir, kills, most)
		verifyClean(t, dir)
		sameTree(t, publishedTree(t, dir), want)
	}
}

// killUntilComplete starts runs and kills them, until there were so many kills in all, until one completes.
func killUntilComplete(t *testing.T, rnd *rand.Rand, s *crashSite, dir string, kills, most int) int {
	t.Helper()
	had := map[string]bool{}
	total, before := 0, 0
	for {
		p := startCrash(t, dir, s.srv.URL+"/")
		code, killed := -1, false
		if kills < most {
			code, killed = p.killAfter(t, s, rnd.IntN(150), time.Duration(rnd.IntN(200))*time.Millisecond,
				syscall.SIGKILL)
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
			if st, err := s.Verify(t.Context(), func(p upkeep.Problem) {
				t.Errorf("after kill %d: %s", kills, p)
			}); err != nil || st.Problems > 0 {
				t.Fatalf("after kill %d: %d problems, %v", kills, st.Problems, err)
			}
		})
	}
	t.Logf("%d kills, %d requests, %d answers committed before the last run", kills, total, before)
	return kills
}

// SIGTERM ends a run as partial; the same command resumes where it stopped.
func TestCrashTerminate(t *testing.T) {
	t.Parallel()
	rnd := crashRand(t)
	s := newCrashSite(t, sized(300, 400))
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

// reader reads the published tree as a visitor does: current is resolved once, then pages
// are read. It reports the version that it saw, and every mixture.
func reader(
	t *testing.T, dir string, pages []string, mark func(n, version int) int, allowed func(version int) bool,
) {
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

// A mirror is updated again and again while readers look at it and runs are killed, most of them
// while they publish. Every reader sees version N or N+1, and each version is that of a mirror that nothing
// disturbed.
func TestCrashResyncReaders(t *testing.T) {
	t.Parallel()
	rnd := crashRand(t)
	s, most := newCrashSite(t, sized(120, 500)), sized(3, 6)
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
			if kills < most*version {
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

// A site whose database was lost, and its log, is rebuilt from the published tree: it stays published, keeps
// its version, and continues.
func TestCrashRebuild(t *testing.T) {
	t.Parallel()
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
	if err := os.RemoveAll(filepath.Join(filepath.Dir(db), "log")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(db, []byte(strings.Repeat("garbage", 5000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := crashRun(t.Context(), dir, s.srv.URL+"/"); !errors.Is(err, disk.ErrDamaged) {
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
