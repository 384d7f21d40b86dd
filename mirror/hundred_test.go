// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"crypto/sha256"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/fetch"
	"mirrord/internal/regular"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/store"
)

// diskUsed is what the files of a state but its published trees occupy, in bytes as du counts them; trees are
// not history.
func diskUsed(tb testing.TB, dir string) (packs, blobs, db int64) {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		n := fi.Sys().(*syscall.Stat_t).Blocks * 512
		switch rel, _ := filepath.Rel(dir, name); {
		case strings.HasPrefix(rel, "blobs/"):
			blobs += n
		case strings.Contains(rel, "/packs/"):
			packs += n
		case strings.HasSuffix(rel, ".db"):
			db += n
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return packs, blobs, db
}

// treeSums is the digest of published files, of all or a sample, and the number of all.
func treeSums(tb testing.TB, s *store.Site, every uint32) (sums map[string][32]byte, files int) {
	tree, err := s.Trees.Current()
	if err != nil {
		tb.Fatal(err)
	}
	defer tree.Close()
	sums = map[string][32]byte{}
	err = fs.WalkDir(tree.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if files++; !strings.HasPrefix(name, "phm.") && crc32.ChecksumIEEE([]byte(name))%every != 0 {
			return nil
		}
		b, err := tree.ReadFile(name, regular.MaxSmall)
		sums[name] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return sums, files
}

// BenchmarkHundredVersions mirrors 81 weeks of real sites and says what keeping all versions costs: the bytes
// on disk of packs, blobs and database, divided by the bytes that really changed (historySite.changed, the
// first version included). "since-first" is the same without the costs and files of the first version. Every
// eighth version is then read again and held against what was published. The last site is the one with most
// changes: it takes 12 GB of disk and an hour or less; there, one file in 97 is read again.
func BenchmarkHundredVersions(b *testing.B) {
	for _, name := range []string{"dplyr", "rust-blog", "mesos", "struts", "openlayers"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				keepHistory(b, name)
			}
		})
	}
}

func keepHistory(b *testing.B, name string) {
	file, err := os.Open("../../shared/data/site-histories/" + name + ".history.tsv.gz")
	if err != nil {
		b.Fatalf("the recorded histories are missing: %v", err)
	}
	defer file.Close()
	dir := b.TempDir()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("past")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	j := jobfile.Default("http://past.example.org/" + filesPage)
	j.Policy = policy.Full
	j.Policy, j.Polite.Connections, j.Polite.Delay, j.Polite.Factor = policy.Full, 16, 0, 0
	j.Programs = jobfile.WrittenPrograms{Suffixes: []string{}, Dirs: []string{}} // all are files
	j.Publish.Keep, j.Limits.MaxDelete = "all", 1
	huge := name == "openlayers"
	web, every := newHistorySite(huge), uint32(1)
	j.ObeyRobots, j.Evidence.Sitemaps = huge, huge
	if huge {
		every = 97
	}
	type published struct {
		sums  map[string][32]byte
		files int
	}
	versions := map[int]published{}
	var first, firstDisk int64
	err = web.weeks(file, func(n int) {
		web.link()
		sum, err := mirror.Run(context.Background(), mirror.Options{
			Confirm: -1,
			Job:     j,
			State:   st,
			Site:    s,
			Fetcher: web,
			Robots:  web,
			Hosts:   new(fetch.Hosts),
			Now:     func() time.Time { return web.now },
		})
		if err != nil || sum.Verdict != mirror.Complete || sum.Files != web.count() {
			b.Fatalf("week %d: %v, %+v, want %d files", n, err, sum, web.count())
		}
		if (sum.Published && n%8 == 0) || n == 0 {
			var p published
			p.sums, p.files = treeSums(b, s, every)
			versions[sum.Version] = p
		}
		if n == 0 {
			p, o, d := diskUsed(b, dir)
			first, firstDisk = web.changed, p+o+d
		}
		if huge {
			b.Logf("week %d: %d requests, version %d, %.1f MB changed", n, sum.Requests, sum.Version,
				float64(web.changed)/1e6)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	packs, blobs, db := diskUsed(b, dir)
	b.StopTimer()
	for v, want := range versions {
		p, err := render.OpenPast(render.MaterialOf(st, s), v)
		if err != nil {
			b.Fatal(err)
		}
		for name, sum := range want.sums {
			got, err := fs.ReadFile(p, name)
			if err != nil || sha256.Sum256(got) != sum {
				b.Fatalf("version %d: %s is not as it was: %v", v, name, err)
			}
		}
		if len(p.Files())+2 != want.files {
			b.Fatalf("version %d has %d files, want %d", v, len(p.Files()), want.files-2)
		}
	}
	if len(versions) < 3 {
		b.Fatalf("only %d versions were looked at", len(versions))
	}
	b.StartTimer()
	vs, err := s.Versions.List()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(packs+blobs+db)/float64(web.changed), "ratio")
	b.ReportMetric(float64(packs+blobs+db-firstDisk)/float64(web.changed-first), "since-first")
	b.ReportMetric(float64(web.changed)/1e6, "MB-changed")
	b.ReportMetric(float64(packs)/1e6, "MB-packs")
	b.ReportMetric(float64(blobs)/1e6, "MB-blobs")
	b.ReportMetric(float64(db)/1e6, "MB-db")
	b.ReportMetric(float64(len(vs)), "versions")
	b.ReportMetric(float64(len(versions)), "checked")
}
