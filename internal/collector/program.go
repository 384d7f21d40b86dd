// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// program is what of the program's file is mapped into memory: code, constants, tables. The kernel maps 16
// pages for each that is read, and the start alone reads something everywhere, so that 26 MB of 38 are
// resident from then on; a run needs 18, and 8 where it maps two at a time. So the file's mappings are cut
// into blocks once the program runs for a while, and given back from time to time. The finalizer of cycles
// calls leave, so one goroutine uses it. The zero value gives back at the end of the first cycle.
type program struct {
	left     time.Time
	mappings []mapping
	tried    bool // to divide them
	divided  bool
}

// leaveEach is how often it is given back, which takes 2 ms of divided mappings. What is needed again is
// mapped again from the page cache, with some 1,000 faults.
const leaveEach = time.Second

// leave gives all of it back, if that is due. It returns the number of bytes of the mappings.
func (p *program) leave(now time.Time) (all int64) {
	if now.Sub(p.left) < leaveEach {
		return 0
	}
	if p.left = now; p.mappings == nil {
		p.mappings = programMappings()
	} else if !p.tried {
		p.tried, p.divided = true, divide(p.mappings)
	}
	for _, m := range p.mappings {
		if m.advise(syscall.MADV_DONTNEED) {
			all += int64(m.to - m.from)
		}
	}
	return all
}

// What around a page is mapped with it lies in the same mapping, and a mapping has one set of flags. So
// mappings are divided by a flag that means nothing for them, which every other block gets: core dumps do not
// have what is in the program's file anyway.
const (
	dontDump   = 16 // madvise(2)
	doDump     = 17
	blockBytes = 8 << 10
	mostBlocks = 8 << 10 // of vm.max_map_count, 65,530
)

// dividedSpares is how many bytes less of the program's file are mapped then, about.
const dividedSpares = 8 << 20

// divide cuts mappings into blocks, which takes 5 ms for 38 MB. Where the kernel does not have it so they
// stay whole, and ok is false.
func divide(ms []mapping) (ok bool) {
	all := uintptr(0)
	for _, m := range ms {
		all += m.to - m.from
	}
	page := uintptr(os.Getpagesize())
	block := max(blockBytes, all/mostBlocks)
	block = (block + page - 1) / page * page
	for _, m := range ms {
		for at := m.from + block; at < m.to; at += 2 * block {
			if b := (mapping{at, min(at+block, m.to)}); !b.advise(dontDump) {
				m.advise(doDump)
				return false
			}
		}
	}
	return len(ms) > 0
}

type mapping struct{ from, to uintptr }

// advise tells the kernel what a mapping is for (madvise(2)).
func (m mapping) advise(what uintptr) (ok bool) {
	_, _, err := syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, what)
	return err == 0
}

// programMappings returns the mappings that hold nothing but what the program's file has: nobody writes to
// them, and none of their pages was replaced, as a linker does that loads the program. It takes 3 ms.
func programMappings() (all []mapping) {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer f.Close()
	var m mapping
	ours := false
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		key, value, is := strings.Cut(line, ":") // of fields of a mapping; its first line is in small letters
		if is && key >= "A" && key < "[" {
			if ours && key == "Anonymous" && strings.TrimSpace(value) == "0 kB" {
				all = append(all, m)
			}
			continue
		}
		var mode string
		ours = false
		if strings.HasSuffix(line, " "+exe) {
			n, _ := fmt.Sscanf(line, "%x-%x %s ", &m.from, &m.to, &mode)
			ours = n == 3 && strings.HasPrefix(mode, "r") && !strings.Contains(mode, "w")
		}
	}
	return all
}
