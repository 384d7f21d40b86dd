// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/fetch"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// bigSite is a published mirror of n pages of which single pages can be changed without a request.
type bigSite struct {
	tb  testing.TB
	job *jobfile.Job
	st  *store.State
	s   *store.Site
	n   int
}

func newBigSite(tb testing.TB, n int) *bigSite {
	st, err := store.OpenState(tb.TempDir(), store.Options{Volatile: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { st.Close() })
	s, err := st.OpenSite("tree")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	j := jobfile.Default("http://tree.example.org/some/folder/of/the/site/page-0.html")
	j.Policy = policy.Full
	j.ObeyRobots, j.Polite.Connections, j.Polite.Delay, j.Polite.Factor = false, 16, 0, 0
	b := &bigSite{
		tb:  tb,
		job: j,
		st:  st,
		s:   s,
		n:   n,
	}
	sum, err := mirror.Run(context.Background(), mirror.Options{
		Job:     j,
		State:   st,
		Site:    s,
		Fetcher: treeSite{n},
		Hosts:   new(fetch.Hosts),
	})
	if err != nil || sum.Verdict != mirror.Complete || sum.Files != n {
		tb.Fatalf("run over %d pages: %v, %+v", n, err, sum)
	}
	return b
}

func (b *bigSite) url(page int) string {
	return fmt.Sprintf("http://tree.example.org/some/folder/of/the/site/page-%d.html", page)
}

// change stores another body of a page, as a fetch would: one letter of its text is another one.
func (b *bigSite) change(page, version int) {
	b.tb.Helper()
	u, _, err := site.Parse(b.url(page))
	if err != nil {
		b.tb.Fatal(err)
	}
	rec, ok, err := b.s.Records.Get(u)
	if err != nil || !ok {
		b.tb.Fatal(ok, err)
	}
	fr, err := b.s.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
	if err != nil {
		b.tb.Fatal(err)
	}
	body := bytes.Clone(fr.Body)
	at := bytes.Index(body, []byte("</title>")) - 1
	body[at] = 'a' + byte(version%26)
	rec.Digest, rec.Changed, rec.Outcome = sha256.Sum256(body), version, site.Fetched
	if rec.At, err = b.s.Frames.GatherFrame(b.s.Frames.NewFrameWriter(), bodies.FrameMetaOf(&rec), fr.Links,
		body); err != nil {
		b.tb.Fatal(err)
	}
	known, err := b.s.Records.Known()
	if err == nil {
		err = b.s.Records.Commit(known, nil, []*record.Done{{Resource: rec}})
	}
	if err != nil {
		b.tb.Fatal(err)
	}
}

// publish settles and publishes the stored records.
func (b *bigSite) publish(version int) {
	b.tb.Helper()
	sum, err := mirror.Run(context.Background(), mirror.Options{
		Job:     b.job,
		State:   b.st,
		Site:    b.s,
		NoFetch: true,
	})
	if err != nil || !sum.Published || sum.Version != version || sum.Changed != 1 {
		b.tb.Fatalf("publish version %d: %v, %+v", version, err, sum)
	}
}

// statuses are the times of the last change of the inodes of all trees, in nanoseconds: a file that was made,
// linked or unlinked has a new one. names is how many names they have.
func (b *bigSite) statuses() (out map[uint64]int64, names int) {
	b.tb.Helper()
	out = map[uint64]int64{}
	err := filepath.WalkDir(filepath.Join(b.s.Dir, "trees"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := os.Lstat(p)
		if err == nil {
			sys := fi.Sys().(*syscall.Stat_t)
			out[sys.Ino] = sys.Ctim.Nano()
			names++
		}
		return err
	})
	if err != nil {
		b.tb.Fatal(err)
	}
	return out, names
}

// A version with one changed page touches that page and the two files that describe the version, and nothing
// else of the site.
func TestPublishTouchesOnlyWhatChanged(t *testing.T) {
	for _, trees := range []int{2, 4} {
		b := newBigSite(t, 400)
		b.job.Publish.Grace, b.job.Publish.Trees = time.Hour, int64(trees)
		for v := 2; v <= trees; v++ { // fills the other trees
			b.change(v, v)
			b.publish(v)
		}
		b.job.Publish.Grace = 0
		for v := trees + 1; v < trees+4; v++ {
			before, names := b.statuses()
			if names != trees*(b.n+2) {
				t.Fatalf("%d files in %d trees", names, trees)
			}
			b.change(100+v, v)
			b.publish(v)
			after, names := b.statuses()
			touched := 0
			for inode, at := range after {
				if before[inode] != at {
					touched++
				}
			}
			// phm.json and phm.files; the changed page, old and new; and the pages that the versions had changed to
			// which the tree is reused, old and new, as far as other trees have the old one.
			if touched > 2+2+2*(trees-1) || names != trees*(b.n+2) {
				t.Errorf("%d trees: version %d touched %d files, %d names", trees, v, touched, names)
			}
		}
	}
}

// BenchmarkPublishOnePage is what it costs to publish a site of 100 000 files of which one has changed:
// settling, relocation, the file table and the move of the link.
func BenchmarkPublishOnePage(b *testing.B) {
	s := newBigSite(b, 100_000)
	s.job.Publish.Grace = 0
	s.change(1, 2)
	s.publish(2)
	v := 3
	for b.Loop() {
		s.change(100+v, v)
		s.publish(v)
		v++
	}
}

// BenchmarkTrees is what it costs to publish a site of which one page has changed: in a new tree, and in one
// that is reused over three versions. It reports what each tree takes besides the files that all
// trees share.
func BenchmarkTrees(b *testing.B) {
	for _, files := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			s := newBigSite(b, files)
			v := 2
			for _, grace := range []time.Duration{time.Hour, 0} {
				b.Run(fmt.Sprint("grace ", grace), func(b *testing.B) {
					s.job.Publish.Grace, s.job.Publish.Trees = grace, 100
					before, n := cpuTime(b), 0
					for b.Loop() {
						s.change(100+v, v)
						s.publish(v)
						v++
						n++
					}
					b.ReportMetric((cpuTime(b)-before).Seconds()*1000/float64(n), "cpu-ms/op")
					folders, bytes := s.folders()
					b.ReportMetric(float64(folders), "folders/tree")
					b.ReportMetric(float64(bytes), "B/tree")
				})
			}
		})
	}
}

// cpuTime is the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// folders counts the folders of the published tree, and the bytes that they take with its file table.
func (b *bigSite) folders() (n int, bytes int64) {
	b.tb.Helper()
	tree := filepath.Join(b.s.Dir, "current") + "/"
	err := filepath.WalkDir(tree, func(p string, d fs.DirEntry, err error) error {
		if err != nil || (!d.IsDir() && d.Name() != phm.FilesName) {
			return err
		}
		fi, err := os.Lstat(p)
		if err == nil {
			bytes += fi.Size()
		}
		if d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		b.tb.Fatal(err)
	}
	return n, bytes
}
