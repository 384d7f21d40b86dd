// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/run"
	"mirrord/testing/processtest"
)

const secure = "https://www.example.org"

// move lets some pages of the site redirect to where they are served by another scheme.
func (b bench) move(from, to string, paths ...string) {
	for _, p := range paths {
		b.Answers[to+p] = b.Answers[from+p]
		b.Answer(from+p, "301 "+to+p)
	}
}

// primary is the origin whose files lie at the root of the published tree.
func (b bench) primary() string {
	b.T.Helper()
	vs, err := b.Store.Versions.List()
	if err != nil || len(vs) == 0 {
		b.T.Fatal(len(vs), err)
	}
	return render.MetaOf(&vs[len(vs)-1]).Primary
}

// A site that moves from http to https keeps the paths of its files as soon as nearly all of it has moved;
// until then, and as long as the run is held back, the old origin has the root.
func TestFindPrimary(t *testing.T) {
	all := []string{"/"}
	for i := range 12 {
		all = append(all, fmt.Sprint("/p", i))
	}
	moved := func(n int) func(bench) {
		return func(b bench) {
			b.move(home, secure, all[:n]...)
			for _, p := range all[n:] {
				b.Answer(secure+p, "301 "+home+p)
			}
		}
	}
	for _, x := range []struct {
		name   string
		change func(bench)
		want   string
		root   int // files at the root, "" when the other origin has the rest
		beside int
	}{
		{"nothing moved", func(bench) {}, home, 13, 0},
		{"only the entry page", moved(1), home, 12, 1},
		{"half of the pages", moved(7), home, 6, 7},
		{"all but one", moved(12), secure, 13, 0},
		{"all", moved(13), secure, 13, 0},
		{"all, and one is gone with it", func(b bench) {
			moved(13)(b)
			b.Answer(home+"/p3", "404")
			b.Answer(secure+"/p3", "404")
		}, secure, 12, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bench{processtest.NewRunBench(t, "", processtest.Pages(12))}
				b.complete()
				x.change(b)
				e := b.run(nil)
				if got := b.primary(); got != x.want {
					t.Errorf("the root is of %s, want %s; %v %q", got, x.want, e.j.Verdict, e.j.Reasons)
				}
				root, beside := 0, 0
				for id, s := range e.Table.Settled().All() {
					switch p := e.Table.Settled().Path(id); {
					case !s.InSet() || p == "":
					case strings.HasPrefix(p, "@"):
						beside++
					default:
						root++
					}
				}
				if root != x.root || beside != x.beside {
					t.Errorf("%d files at the root and %d beside, want %d and %d", root, beside, x.root, x.beside)
				}
			})
		})
	}
}

// A move that loses half of the site waits for accept with its root; when the site moves back, nothing has
// changed.
func TestPrimaryWaits(t *testing.T) {
	for _, accepts := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := bench{processtest.NewRunBench(t, "", processtest.Pages(12))}
			b.complete()
			b.move(home, secure, "/", "/p0", "/p1", "/p2", "/p3", "/p4")
			for i := 5; i < 12; i++ {
				b.Answer(fmt.Sprint("/p", i), "404")
			}
			if e := b.run(nil); e.j.Verdict != result.Suspicious || b.primary() != home {
				t.Errorf("%v %q, the root is of %s", e.j.Verdict, e.j.Reasons, b.primary())
			}
			if accepts {
				if b.run(accept); b.primary() != secure {
					t.Errorf("accepted: the root is of %s", b.primary())
				}
				return
			}
			b.serve(processtest.Pages(12))
			if e := b.run(nil); e.j.Verdict != result.Complete || e.published != nil || b.primary() != home {
				t.Errorf("it moved back: %v %q, published %+v", e.j.Verdict, e.j.Reasons, e.published)
			}
		})
	}
}

// A version that comes back has the root that it had.
func TestPrimaryOfAVersionThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{processtest.NewRunBench(t, "", processtest.Pages(3))}
		b.complete()
		b.move(home, secure, "/", "/p0", "/p1", "/p2")
		b.complete()
		if _, err := Restore(t.Context(), b.State, b.Store, 1); err != nil {
			t.Fatal(err)
		}
		e := b.run(func(o *run.Options) { o.NoFetch, o.Accept, o.Restores = true, true, 1 })
		if e.published == nil || e.published.Restores != 1 || b.primary() != home {
			t.Errorf("%+v, the root is of %s", e.published, b.primary())
		}
		if live, err := restoredOr(e.Closing, nil); err != nil || live.Number != 1 {
			t.Errorf("%+v, %v", live, err)
		}
		e.Options.Restores = 7
		if live, err := restoredOr(e.Closing, e.Live); err != nil || live != e.Live {
			t.Errorf("of a version that is not kept: %+v, %v", live, err)
		}
		if paths := slices.Sorted(pathsOf(e.Closing)); fmt.Sprint(paths) != "[index.html p0.html p1.html p2.html]" {
			t.Errorf("%v", paths)
		}
	})
}
