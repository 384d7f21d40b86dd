// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mirrord/site"
)

// manyRecords is a plain file of so many records, made while it is read.
type manyRecords int

const manySize = 320 // bytes of each

// record is one of them: pages of the same length, ten to a directory.
func (n manyRecords) record(i int) string {
	r := page(fmt.Sprintf("http://h.test/d%07d/p%07d.html", i/10, i), day1, "")
	pad := manySize - len(r.String())
	r.block += fmt.Sprintf("%-*d", pad, i)
	s := r.String() // its Content-Length may have one more digit now
	r.block = r.block[:len(r.block)-(len(s)-manySize)]
	return r.String()
}

func (n manyRecords) size() int64 { return int64(n) * manySize }

// ReadAt generates the bytes.
func (n manyRecords) ReadAt(p []byte, at int64) (done int, err error) {
	for done < len(p) && at < n.size() {
		k := copy(p[done:], n.record(int(at / manySize))[at%manySize:])
		done += k
		at += int64(k)
	}
	if done < len(p) {
		err = io.EOF
	}
	return done, err
}

// The memory for an archive grows with its URLs and answers, not with its bytes: at most 500 bytes for each.
func TestManyRecords(t *testing.T) {
	n := manyRecords(5_000)
	if os.Getenv("MIRRORD_LONG") != "" {
		n = 2_000_000
	}
	if s := n.record(12); len(s) != manySize {
		t.Fatalf("a record has %d bytes", len(s))
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most := heap(), int64(0)
	reads, step := 0, int(n)/256/8+1
	o := options()
	o.Read = func(int64) {
		if reads++; reads%step == 0 {
			most = max(most, heap()-before)
		}
	}
	a, err := Read([]RecordFile{{Name: "many", R: n, Size: n.size()}}, o)
	if err != nil || a.Counted.Answers != int(n) || len(a.Crawls) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	most = max(most, heap()-before)
	if each := most / int64(n); each > 500 {
		t.Errorf("%d bytes for each record", each)
	}
	last := fmt.Sprintf("http://h.test/d%07d/p%07d.html", (int(n)-1)/10, int(n)-1)
	x, _, err := a.Answer(0, site.Canonical(last))
	if err != nil || x == nil {
		t.Fatalf("%s: %v", last, err)
	}
	x.Close()
}

// sorted orders the answers that bodies says.
func sorted(line string) string {
	parts := strings.Split(strings.TrimSuffix(line, "; "), "; ")
	slices.Sort(parts)
	return strings.Join(parts, "; ") + "; "
}

// Archives that overlap are one: an answer that both have counts once for its version, and each URL has the
// response of its crawl, whichever file has it.
func TestOverlap(t *testing.T) {
	monday := []rec{page("http://h.test/", day1, "1"), page("http://h.test/a", day1, "a"),
		page("http://h.test/b", day1, "b")}
	tuesday := []rec{page("http://h.test/", day2, "2"), page("http://h.test/b", day2, "b2")}
	both := slices.Concat(monday, tuesday)
	want := []string{"/ 200 1; /a 200 a; /b 200 b; ", "/ 200 2; /a 200 a; /b 200 b2; "}
	for name, files := range map[string][]string{
		"the second has all of the first": {plain(monday...), plain(both...)},
		"each has a part": {
			plain(monday[:2]...) + plain(tuesday[1:]...),
			plain(monday[1:]...) + plain(tuesday...),
		},
		"the same twice":   {members(both...), members(both...)},
		"in another order": {members(tuesday...) + members(monday[2:]...), plain(monday...)},
	} {
		a, err := Read(inputs(files...), options())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string]bool{}
		for _, line := range bodies(t, a) {
			got[sorted(line)] = true
		}
		if len(a.Crawls) != len(want) || !got[want[0]] || !got[want[1]] {
			t.Errorf("%s: %d crawls, %v", name, len(a.Crawls), got)
		}
	}
}
