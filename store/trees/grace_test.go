// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mirrord/internal/regular"
	"mirrord/store/home"
)

const held = "MIRRORD_TEST_HOLD"

// graceSite is a site whose trees have a grace by a clock that the test sets.
type graceSite struct {
	t     *testing.T
	dir   string
	s     *testSite
	rules TreeRules
	now   time.Time
	last  int // version
}

func newGraceSite(t *testing.T, most int) *graceSite {
	g := &graceSite{
		t:     t,
		dir:   t.TempDir(),
		rules: TreeRules{Grace: time.Hour, Most: most},
		now:   time.Unix(1_800_000_000, 0),
	}
	g.s = openTest(t, g.dir, func() time.Time { return g.now })
	g.s.Volatile = true
	return g
}

// file is what a file of a version says.
func file(n, version int) string { return fmt.Sprintf("file %d of version %d", n, version) }

// publish publishes the next version, of n files that all change, so long after the one before.
func (g *graceSite) publish(n int, after time.Duration) {
	g.t.Helper()
	g.now = g.now.Add(after)
	g.last++
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = file(i, g.last)
	}
	publishUnder(g.t, g.s, g.rules, g.last, files)
}

// trees lists the trees that are there.
func (g *graceSite) trees(want ...string) {
	g.t.Helper()
	var got []string
	entries, err := os.ReadDir(filepath.Join(g.dir, "trees"))
	must(g.t, err)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		g.t.Errorf("after version %d the trees are %q, want %q", g.last, got, want)
	}
	linked(g.t, g.dir)
}

func (g *graceSite) inode(tree string) uint64 {
	g.t.Helper()
	return inode(g.t, filepath.Join(g.dir, "trees", tree))
}

// current opens the published tree as a reader does that uses no locks.
func (g *graceSite) current() regular.Root {
	g.t.Helper()
	root, err := regular.OpenRoot(filepath.Join(g.dir, "current"))
	must(g.t, err)
	g.t.Cleanup(func() { root.Close() })
	return root
}

// Which tree is built in.
func TestPickTree(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	ago := func(name string, minutes int) treeNote {
		version, _ := versionOf(name)
		left := now.Add(-time.Duration(minutes) * time.Minute)
		return treeNote{Name: name, Version: version, Left: left.UnixNano()}
	}
	draft := treeNote{Name: nextTree}
	hour := TreeRules{Grace: time.Hour, Most: 4}
	for _, c := range []struct {
		name string
		old  []treeNote
		held string
		r    TreeRules
		want string
		wait time.Duration
	}{
		{"the first version", nil, "", hour, "", 0},
		{"nothing but the published one", nil, "", TreeRules{Most: 1}, "", 0},
		{"past its grace", []treeNote{ago("000001", 61)}, "", hour, "000001", 0},
		{"the oldest one past its grace", []treeNote{ago("000002", 70), ago("000001", 80)}, "", hour, "000001", 0},
		{"in its grace, and fewer than four", []treeNote{ago("000001", 59)}, "", hour, "", 0},
		{"all in their grace", []treeNote{ago("000003", 10), ago("000002", 20), ago("000001", 30)}, "", hour,
			"000001", 30 * time.Minute},
		{"without a grace", []treeNote{ago("000001", 0)}, "", TreeRules{Most: 4}, "000001", 0},
		{"no rules", []treeNote{ago("000001", 0)}, "", TreeRules{}, "000001", 0},
		{"one tree", []treeNote{ago("000001", 10)}, "", TreeRules{Grace: time.Hour, Most: 1}, "000001",
			50 * time.Minute},
		{"held past its grace", []treeNote{ago("000001", 90), ago("000002", 70)}, "000001", hour, "000002", 0},
		{"the only one held", []treeNote{ago("000001", 90)}, "000001", TreeRules{Most: 2}, "", 0},
		{"the clock was set back", []treeNote{ago("000001", -600)}, "", TreeRules{Grace: time.Hour, Most: 2},
			"000001", time.Hour},
		{"a draft that was left", []treeNote{ago("000001", 90), draft}, "", hour, nextTree, 0},
		{"a new one is wanted", []treeNote{ago("000001", 90)}, "", TreeRules{New: true}, "", 0},
	} {
		next := pickTree(c.old, map[string]bool{c.held: true}, c.r, now)
		wait := max(next.Free.Sub(now), 0)
		if next.name != c.want || wait != c.wait {
			t.Errorf("%s: %q in %v, want %q in %v", c.name, next.name, wait, c.want, c.wait)
		}
	}
}

// The names of trees, and other names.
func TestTreeNames(t *testing.T) {
	for name, want := range map[string]int{
		"000001":    1,
		"000012":    12,
		"1234567":   1234567,
		"000012-2":  12,
		"000012-31": 12,
		"a":         -1,
		"c":         -1,
		"12":        -1,
		"0000012":   -1,
		"000000":    -1,
		"-00001":    -1,
		"000012-":   -1,
		"000012-1":  -1,
		"000012-02": -1,
		"next":      -1,
		"mend":      -1,
		"":          -1,
	} {
		got, ok := versionOf(name)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is of version %d, want %d", name, got, want)
		}
	}
}

// A reader that has opened the published tree reads that version over three publishes, and so does a copy
// of 412 files that takes longer than two. A copy by the name of the version is the same.
func TestReadersReadOneVersion(t *testing.T) {
	const files = 412
	g := newGraceSite(t, 4)
	g.publish(files, 0)
	for range 2 { // also in trees that were reused
		root := g.current()
		named, err := regular.OpenRoot(filepath.Join(g.dir, "versions", fmt.Sprint(g.last)))
		must(t, err)
		t.Cleanup(func() { named.Close() })
		want := g.last
		other := 0
		for i := range files {
			if i == 100 || i == 200 || i == 300 {
				g.publish(files, time.Minute)
			}
			for _, r := range []regular.Root{root, named} {
				data, err := r.ReadFile(fmt.Sprintf("d%d/f%d", i%7, i), regular.MaxSmall)
				if err != nil || string(data) != file(i, want) {
					other++
				}
			}
		}
		if other > 0 {
			t.Errorf("%d of %d files are not of version %d", other, 2*files, want)
		}
		g.publish(files, 2*time.Hour)
	}
	g.trees("000006", "000007", "000008", "000009")
}

// New trees are made while all are in their grace; then the oldest one is reused under a new name.
func TestTreesAreBroughtForward(t *testing.T) {
	g := newGraceSite(t, 3)
	g.publish(3, 0)
	first := g.inode("000001")
	g.publish(3, time.Minute)
	g.publish(3, time.Minute)
	g.trees("000001", "000002", "000003")
	next, err := g.s.Next(g.rules)
	must(t, err)
	if want := g.now.Add(59 * time.Minute); !next.Free.Equal(want) || next.Version != 1 || next.Trees != 3 {
		t.Errorf("%+v, want version 1 at %v", next, want)
	}
	g.publish(3, time.Hour)
	g.trees("000002", "000003", "000004")
	if g.inode("000004") != first {
		t.Error("the tree of version 1 was not reused")
	}
	g.publish(3, 24*time.Hour) // rarely, two are enough, and the others follow in turn
	g.publish(3, 24*time.Hour)
	g.trees("000004", "000005", "000006")
	for v := 4; v <= 6; v++ {
		data, err := os.ReadFile(filepath.Join(g.dir, "versions", fmt.Sprint(v), "d0/f0"))
		if err != nil || string(data) != file(0, v) {
			t.Errorf("version %d: %q, %v", v, data, err)
		}
	}
}

// Trees beyond the rules are removed after their grace.
func TestTrim(t *testing.T) {
	g := newGraceSite(t, 4)
	for range 4 {
		g.publish(3, time.Minute)
	}
	trim := func(most, want int) {
		t.Helper()
		g.rules.Most = most
		if n, err := g.s.Trim(g.rules); n != want || err != nil {
			t.Errorf("at most %d: %d trees were removed, want %d, %v", most, n, want, err)
		}
	}
	trim(2, 0)
	g.now = g.now.Add(time.Hour - time.Minute) // version 1 left two minutes after 2 came, and so on
	trim(2, 2)
	g.trees("000003", "000004")
	trim(1, 0)
	g.now = g.now.Add(time.Minute)
	tree, err := g.s.Hold()
	must(t, err)
	trim(1, 1)
	g.trees("000004")
	must(t, tree.Close())
	g.publish(3, time.Minute) // with 1, one is made for each version
	g.trees("000004", "000005")
	g.publish(3, time.Minute) // and that before is used, though it is in its grace
	g.trees("000005", "000006")
}

// A tree that is held is not reused, regardless of the rules, until it is released.
func TestHeldTree(t *testing.T) {
	g := newGraceSite(t, 2)
	g.rules.Grace = 0
	g.publish(5, 0)
	tree, err := g.s.Hold()
	must(t, err)
	view := g.s.view()
	second, err := view.Hold()
	must(t, err)
	must(t, view.Close())
	for range 4 {
		g.publish(5, time.Second)
	}
	for i := range 5 {
		if got := readFile(t, tree.Root, fmt.Sprintf("d%d/f%d", i, i)); got != file(i, 1) {
			t.Errorf("%q", got)
		}
	}
	g.trees("000001", "000004", "000005")
	must(t, tree.Close())
	g.publish(5, time.Second)
	g.trees("000001", "000005", "000006") // one reader is left
	must(t, second.Close())
	g.publish(5, time.Second)
	g.publish(5, time.Second)
	g.trees("000006", "000007", "000008")
	if n, err := g.s.Trim(g.rules); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// The hold of a process ends with it.
func TestHoldEndsWithProcess(t *testing.T) {
	if dir := os.Getenv(held); dir != "" {
		root, err := os.OpenRoot(dir)
		must(t, err)
		_, err = Of(&home.Folder{Root: root}, nil).Hold()
		must(t, err)
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	g := newGraceSite(t, 2)
	g.rules.Grace = 0
	g.publish(5, 0)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), held+"="+g.dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Errorf("the child says %q, %v", line, err)
	}
	g.publish(5, time.Second)
	g.publish(5, time.Second)
	g.trees("000001", "000002", "000003")
	must(t, cmd.Process.Kill())
	cmd.Wait() // it was killed
	g.publish(5, time.Second)
	g.trees("000002", "000003", "000004")
}

// Doubtful files of an older tree are not in the next one that is made of it.
func TestDoubtfulFilesAreNotTakenOver(t *testing.T) {
	g := newGraceSite(t, 2)
	g.rules.Grace = 0
	g.publish(3, 0)
	g.publish(3, 0)
	must(t, g.s.doubt("000002", []string{"d1/f1", "d9/missing"}))
	if got := readFile(t, g.current(), "d1/f1"); got != file(1, 2) {
		t.Errorf("%q", got)
	}
	tree, err := g.s.Build(g.rules)
	must(t, err)
	defer tree.Close()
	for i := range 3 {
		_, err := tree.Root.Lstat(fmt.Sprintf("d%d/f%d", i, i))
		if (err == nil) == (i == 1) {
			t.Errorf("file %d: %v", i, err)
		}
	}
}
