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
// resident from then on; a run needs 17. The finalizer of cycles calls leave, so one goroutine uses it. The
// zero value gives it back at the end of the first cycle.
type program struct {
	left     time.Time
	mappings []mapping
}

// leaveEach is how often it is given back. What is needed again is mapped again from the page cache, with
// some 300 faults, half a millisecond.
const leaveEach = time.Second

// leave gives all of it back, if that is due. It returns the number of bytes of the mappings.
func (p *program) leave(now time.Time) (all int64) {
	if now.Sub(p.left) < leaveEach {
		return 0
	}
	if p.left = now; p.mappings == nil {
		p.mappings = programMappings()
	}
	for _, m := range p.mappings {
		if _, _, err := syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED); err == 0 {
			all += int64(m.to - m.from)
		}
	}
	return all
}

type mapping struct{ from, to uintptr }

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
