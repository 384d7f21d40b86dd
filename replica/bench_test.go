//go:build unix

package replica

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// cpuSeconds returns the processor time this process has used. On a shared machine it says more than the clock does.
func cpuSeconds(tb testing.TB) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// Pages to sketches: pages of 21 kB for each second of processor time.
func BenchmarkSketch(b *testing.B) {
	c := readCorpus(b)
	if c == nil {
		return
	}
	var all [][]byte
	total := 0
	for _, body := range c.blobs {
		all = append(all, body)
		total += len(body)
	}
	s := NewSketcher(SketchOptions{})
	b.SetBytes(int64(total))
	b.ReportAllocs()
	start := cpuSeconds(b)
	for b.Loop() {
		for _, body := range all {
			s.HTML(body)
		}
	}
	b.ReportMetric(float64(total)*float64(b.N)/21_000/(cpuSeconds(b)-start), "pages21kB/cpu-s")
}

// Pages in other scripts than Latin, where every character has two or three bytes.
func BenchmarkSketchScripts(b *testing.B) {
	for name, text := range map[string]string{"Latin": french, "Cyrillic": russian, "Han": chinese, "kana and Han": japanese, "Hangul": korean} {
		b.Run(name, func(b *testing.B) {
			page := []byte("<p>" + strings.Repeat(text, 21_000/len(text)))
			s := NewSketcher(SketchOptions{})
			start := cpuSeconds(b)
			for b.Loop() {
				s.HTML(page)
			}
			b.ReportMetric(float64(len(page))*float64(b.N)/21_000/(cpuSeconds(b)-start), "pages21kB/cpu-s")
		})
	}
}

// generated makes n pages on hosts of a thousand: every fifth host copies an earlier one, under another directory, with a tenth of the bytes of
// its sketches changed, and one page in a hundred is the same error page.
func generated(n int) ([]Address, []Digest) {
	pages, digests := make([]Address, n), make([]Digest, n)
	for i := range digests {
		pages[i], digests[i] = generatedPage(i)
		if i%perHost > 0 {
			pages[i].Host = pages[i-1].Host
		}
	}
	return pages, digests
}

const perHost = 1000

// generatedPage makes page i of these.
func generatedPage(i int) (Address, Digest) {
	host, at := i/perHost, i%perHost
	name := func(i int) string {
		return strconv.Itoa(i%perHost/50) + "/" + strconv.FormatUint(mix(uint64(i))&0xffffff, 36) + ".html"
	}
	a := Address{"h" + strconv.Itoa(host) + ".test", "/doc/" + name(i)}
	d := Digest{Words: 1000, Text: mix(uint64(i) + 1)}
	x := d.Text
	switch copies := host%5 == 4; {
	case copies:
		from := int(mix(uint64(host))%uint64(host-host/5))/4*5*perHost + at
		a.Path = "/mirror/" + name(from)
		if mix(x)%100 == 0 {
			break
		}
		_, of := generatedPage(from)
		d.Sketch = of.Sketch
		for j := range 12 {
			d.Sketch[mix(x+uint64(j))%Bins]++
		}
		return a, d
	case mix(x)%100 != 0:
		for j := range d.Sketch {
			if j%8 == 0 {
				x = mix(x + 1)
			}
			d.Sketch[j] = byte(x >> (j % 8 * 8))
		}
		return a, d
	}
	d.Text, d.Sketch[0] = 5, 5
	return a, d
}

// How many pages the benchmarks of scale are made of: the environment may say another number, 25000000 for the size of the paper's crawl.
func scale(b *testing.B) int {
	if s := os.Getenv("MIRRORD_REPLICA_PAGES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n <= 0 {
			b.Fatalf("MIRRORD_REPLICA_PAGES is %q", s)
		}
		return n
	}
	return 1_000_000
}

func memory(b *testing.B) (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

// Candidates, their verification and union-find; then directories and clusters. Processor time by phase; the bytes of what is
// compared, and those that a phase allocates in all; the memory of the process at its highest, with what the collector did not yet collect.
func BenchmarkFind(b *testing.B) {
	n := scale(b)
	before := memory(b)
	pages, digests := generated(n)
	runtime.GC()
	state := memory(b)
	var group, votes, clusters float64
	for b.Loop() {
		a0, t0 := memory(b), cpuSeconds(b)
		g := Group(digests, GroupOptions{Resemblance: 0.5})
		a1, t1 := memory(b), cpuSeconds(b)
		pairs := DirPairs(pages, digests, g.Sets, Votes{})
		a2, t2 := memory(b), cpuSeconds(b)
		f := &Found{Grouped: g, Pairs: pairs}
		found := len(f.Clusters())
		t3 := cpuSeconds(b)
		group, votes, clusters = group+t1-t0, votes+t2-t1, clusters+t3-t2
		b.ReportMetric(float64(len(pairs)), "dirpairs")
		b.ReportMetric(float64(found), "clusters")
		b.ReportMetric(float64(g.Near), "near")
		b.ReportMetric(float64(a1.TotalAlloc-a0.TotalAlloc)/float64(n), "group-B/page")
		b.ReportMetric(float64(a2.TotalAlloc-a1.TotalAlloc)/float64(n), "votes-B/page")
	}
	b.ReportMetric(float64(state.HeapAlloc-before.HeapAlloc)/float64(n), "state-B/page")
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(group/float64(b.N), "group-cpu-s")
	b.ReportMetric(votes/float64(b.N), "votes-cpu-s")
	b.ReportMetric(clusters/float64(b.N), "clusters-cpu-s")
	b.ReportMetric(float64(n)*float64(b.N)/group, "grouped/cpu-s")
	b.ReportMetric(float64(r.Maxrss)*1024/float64(n), "rss-B/page")
}

// fileSpill makes files that are removed already.
type fileSpill struct {
	dir   string
	bytes int64
}

type countedFile struct {
	*os.File
	s *fileSpill
}

func (f countedFile) Write(b []byte) (int, error) {
	f.s.bytes += int64(len(b))
	return f.File.Write(b)
}

func (s *fileSpill) Create() (Run, error) {
	f, err := os.CreateTemp(s.dir, "run")
	if err != nil {
		return nil, err
	}
	return countedFile{f, s}, os.Remove(f.Name())
}

// The same with a bounded memory: MIRRORD_REPLICA_MEMORY bytes, 268435456 unless told.
func BenchmarkFinder(b *testing.B) {
	n, memory := scale(b), int64(256<<20)
	if s := os.Getenv("MIRRORD_REPLICA_MEMORY"); s != "" {
		var err error
		if memory, err = strconv.ParseInt(s, 10, 64); err != nil {
			b.Fatal(err)
		}
	}
	spill := &fileSpill{dir: b.TempDir()}
	for b.Loop() {
		start := cpuSeconds(b)
		for i := range n {
			generatedPage(i)
		}
		making := cpuSeconds(b) - start // of pages, which is no part of what is measured
		phase, last, spent := "add", cpuSeconds(b), map[string]float64{"add": -making}
		end := func(next string) {
			now := cpuSeconds(b)
			spent[phase] += now - last
			phase, last = next, now
		}
		f := NewFinder(spill, FinderOptions{Memory: memory, Progress: func(next string, done, total int) error {
			if next != phase {
				runtime.GC()
				end(next)
			}
			return nil
		}})
		for i := range n {
			if err := f.Add(generatedPage(i)); err != nil {
				b.Fatal(err)
			}
		}
		g, pairs, err := f.Find()
		if err != nil {
			b.Fatal(err)
		}
		end("")
		all := 0.0
		for phase, s := range spent {
			b.ReportMetric(s, strings.ReplaceAll(phase, " ", "-")+"-cpu-s")
			all += s
		}
		b.ReportMetric(float64(n)/all, "found/cpu-s")
		b.ReportMetric(float64(n)/(spent["add"]+spent["compare words"]+spent["compare pages"]), "grouped/cpu-s")
		b.ReportMetric(float64(len(pairs)), "dirpairs")
		b.ReportMetric(float64(len(Clusters(pairs))), "clusters")
		b.ReportMetric(float64(g.Near), "near")
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(r.Maxrss)*1024/float64(n), "rss-B/page")
	b.ReportMetric(float64(r.Maxrss)/1024, "rss-MiB")
	b.ReportMetric(float64(spill.bytes)/float64(n)/float64(b.N), "disk-B/page")
}

// Pages that differ in a line, as error pages do, to trivial clusters.
func BenchmarkTrivial(b *testing.B) {
	template := make([]uint64, 20)
	for i := range template {
		template[i] = uint64(i) << 33
	}
	n := scale(b)
	pages := make([]ChunkedPage, n)
	for i := range pages {
		pages[i] = ChunkedPage{append([]uint64{uint64(i) + 1}, template[1:]...), uint64(i)}
	}
	start := cpuSeconds(b)
	for b.Loop() {
		if TrivialClusters(pages, 15).Find(uint32(n-1)) != 0 {
			b.Fatal("the last page is alone")
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/(cpuSeconds(b)-start), "pages/cpu-s")
}

// URLs to candidate pairs.
func BenchmarkStageOne(b *testing.B) {
	dir := dataDir(b)
	if dir == "" {
		return
	}
	lines := readLines(b, filepath.Join(dir, "replicas", "mirrors2010", "urls.txt.gz"))
	var urls [][]byte
	for _, line := range lines {
		urls = append(urls, []byte(line))
	}
	start := cpuSeconds(b)
	for b.Loop() {
		v := NewInventory(StageOne{})
		for _, u := range urls {
			_ = v.AddURL(u)
		}
		b.ReportMetric(float64(len(v.Pairs())), "pairs")
	}
	b.ReportMetric(float64(len(urls))*float64(b.N)/(cpuSeconds(b)-start), "URLs/cpu-s")
}

// longList makes a list of n addresses of hosts of 30, 300, 3000, 30 000 and so on, of which every fifth mirrors an earlier one under another prefix.
func longList(n int) []byte {
	var out []byte
	for host := 0; n > 0; host++ {
		size := 30
		for x := mix(uint64(host) + 1); x&3 == 0 && size < 1<<20; x >>= 2 {
			size *= 10
		}
		from, prefix := host, "/"
		if host%5 == 4 {
			from, prefix = host-4, "/pub/mirror/"
		}
		for i := range min(n, size) {
			x := mix(uint64(from)<<32 | uint64(i))
			out = append(out, "http://www.host"...)
			out = strconv.AppendInt(out, int64(host), 10)
			out = append(out, ".test"+prefix...)
			out = strconv.AppendUint(append(out, "section"...), x%40, 10)
			out = strconv.AppendUint(append(out, '/'), x>>8%1000, 36)
			out = strconv.AppendUint(append(out, "/article-"...), x>>16&0xffffff, 36)
			out = append(out, ".html\n"...)
		}
		n -= size
	}
	return bytes.Clone(out)
}

// A long list, from its bytes to pairs; and how much the inventory takes of memory.
func BenchmarkStageOneLong(b *testing.B) {
	n := 2_000_000
	list := longList(n)
	b.SetBytes(int64(len(list)))
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := cpuSeconds(b)
	for b.Loop() {
		v := NewInventory(StageOne{})
		if _, err := ReadURLs(bytes.NewReader(list), v.AddURL, func(int, string, error) error { return nil }); err != nil {
			b.Fatal(err)
		}
		added := cpuSeconds(b)
		b.ReportMetric(float64(n)/(added-start), "added/cpu-s")
		b.ReportMetric(float64(len(v.Pairs())), "pairs")
		b.ReportMetric(float64(n)/(cpuSeconds(b)-start), "URLs/cpu-s")
		b.StopTimer()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc-before.HeapAlloc)/float64(n), "B/URL")
		b.ReportMetric(float64(v.Hosts()), "hosts")
		start = cpuSeconds(b)
		b.StartTimer()
	}
}
