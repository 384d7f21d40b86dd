// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

func TestPercentFor(t *testing.T) {
	r := Slack{Percent: 50, Most: 20 << 20}
	for _, c := range []struct {
		live   uint64
		always uint64
		want   int
	}{
		{0, 0, 50},
		{10 << 20, 0, 50},
		{40 << 20, 0, 50},
		{80 << 20, 0, 25},
		{200 << 20, 0, 10},
		{10 << 30, 0, least},
		{0, 24 << 20, highest},
		{1 << 20, 24 << 20, highest},
		{8 << 20, 24 << 20, 200},
		{9 << 20, 24 << 20, 160},
		{16 << 20, 24 << 20, 50},
		{23 << 20, 24 << 20, 50},
		{24 << 20, 24 << 20, 50},
		{200 << 20, 24 << 20, 10},
	} {
		if r.Always = c.always; r.percentFor(c.live) != c.want {
			t.Errorf("%d MB of which %d are always allowed: %d %%, want %d", c.live>>20, c.always>>20,
				r.percentFor(c.live), c.want)
		}
	}
}

// A large heap may grow by a few percent, and the percentage from before comes back.
func TestBound(t *testing.T) {
	before := debug.SetGCPercent(70)
	defer debug.SetGCPercent(before)
	limit := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(limit)
	r := Slack{Percent: 60, Most: 1 << 20}
	stop := Bound(r)
	ballast := make([]byte, 32<<20)
	runtime.GC()
	b := bound{slack: r, limits: true}
	b.adjust()
	runtime.KeepAlive(ballast)
	if got := debug.SetMemoryLimit(-1); got < 32<<20 || got > 64<<20 {
		t.Errorf("a limit of %d MB", got>>20)
	}
	if got := debug.SetGCPercent(60); got > 5 {
		t.Errorf("%d %% of 32 MB", got)
	}
	stop()
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("%d %% afterwards", got)
	}
	if got := debug.SetMemoryLimit(1 << 40); got != math.MaxInt64 {
		t.Errorf("a limit of %d afterwards", got)
	}
	defer Bound(r)()
	runtime.GC()
	b.limits = false
	b.adjust()
	if got := debug.SetMemoryLimit(-1); got != 1<<40 {
		t.Errorf("the limit of somebody else became %d", got)
	}
}

// The memory of the program's file is given back, at most so often, and comes again.
func TestProgramLeaves(t *testing.T) {
	ms := programMappings()
	if len(ms) == 0 {
		t.Fatal("the program's file is not mapped")
	}
	for _, m := range ms {
		for at := m.from; at < m.to; at += uintptr(os.Getpagesize()) {
			syscall.Syscall(syscall.SYS_MADVISE, at, uintptr(os.Getpagesize()), madvPopulateRead)
		}
	}
	before, now := fileMemory(t), time.Now()
	var p program
	if p.leave(now) == 0 {
		t.Error("nothing was given back")
	}
	if after := fileMemory(t); after > before/4*3 {
		t.Errorf("%d KB of files are resident, %d before", after, before)
	}
	if p.leave(now.Add(leaveEach-1)) != 0 || p.leave(now.Add(leaveEach)) == 0 {
		t.Error("not once in each", leaveEach)
	}
}

// The heap has what is spared from the second time on, once.
func TestHeapHasWhatIsSpared(t *testing.T) {
	const always = 40 << 20
	now := time.Now()
	b := bound{slack: Slack{Always: always}}
	for i, want := range []uint64{always, always + dividedSpares, always + dividedSpares} {
		if b.leave(now.Add(time.Duration(i) * leaveEach)); b.slack.Always != want {
			t.Errorf("time %d: %d bytes are always allowed, wanted %d", i+1, b.slack.Always, want)
		}
	}
}

// What cannot be divided is no reason for a larger heap.
func TestDivideFails(t *testing.T) {
	page := uintptr(os.Getpagesize())
	if divide(nil) || divide([]mapping{{page, 1 << 20}}) { // nothing is mapped there
		t.Error("nothing was divided")
	}
}

const madvPopulateRead = 22

// fileMemory is the resident memory of files in kilobytes.
func fileMemory(t *testing.T) (kb int) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "RssFile:")
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}

// Of a mapping that was divided, what is read alone is mapped.
func TestDivide(t *testing.T) {
	const size, reads = 8 << 20, 128
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	resident := func(divided bool) (kb int) {
		mapped, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Munmap(mapped)
		from := uintptr(unsafe.Pointer(&mapped[0]))
		if divided {
			if !divide([]mapping{{from, from + size}}) {
				t.Fatal("it stays whole")
			}
		}
		before, sum := fileMemory(t), byte(0)
		for at := 0; at < size; at += size / reads {
			sum |= mapped[at]
		}
		return fileMemory(t) - before + int(sum)
	}
	whole, blocks := resident(false), resident(true)
	if blocks > 2*reads*max(blockBytes, os.Getpagesize())>>10 {
		t.Errorf("%d KB are resident", blocks)
	}
	t.Logf("%d KB are resident, %d of a mapping that was not divided", blocks, whole)
}
