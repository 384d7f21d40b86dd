// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"mirrord/replica/hash"
	"mirrord/testing/replicatest"
)

// Directories below one another that each have more votes than are held, and share too little, take no more
// than was allowed, together.
func TestFinderMemoryOfDepth(t *testing.T) {
	const memory, each = 1 << 20, 700
	depth := 10
	if replicatest.Long() {
		depth = 60
	}
	held := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	base, most, tells, comparing := held(), 0, 0, false
	see := func() error {
		if tells++; comparing && tells%8192 == 0 {
			most = max(most, held()-base)
		}
		return nil
	}
	o := FinderOptions{Memory: memory, FindOptions: FindOptions{Votes: Votes{Share: 0.99}}}
	o.Progress = func(phase string, _, _ int) error {
		comparing = phase == "compare directories"
		return see()
	}
	f := NewFinder(diskSpill{t, see}, o)
	add := func(host, path string, text int) {
		_, d := generatedPage(0)
		d.Text = hash.Mix(uint64(text) + 1)
		for i := range d.Sketch {
			d.Sketch[i] = byte(hash.Mix(d.Text + uint64(i)))
		}
		if err := f.Add(Address{host, path}, d); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for level := range depth {
		dir := strings.Repeat("/d", level)
		for range each {
			n++
			add("a", dir+"/e/"+strconv.Itoa(n), n)
			add("b", dir+"/e/"+strconv.Itoa(n), n)
		}
	}
	for range each {
		n++
		add("a", strings.Repeat("/d", depth)+"/"+strconv.Itoa(n), n)
		add("b", strings.Repeat("/d", depth)+"/"+strconv.Itoa(n), -n)
	}
	_, found, err := f.Find()
	if err != nil || len(found.Copies) != depth {
		t.Errorf("%d pairs, %v", len(found.Copies), err)
	}
	if allowed := memory + 5*f.pages + 64*2*2*depth; most > allowed {
		t.Errorf("%d kB are held, %d allowed", most>>10, allowed>>10)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
