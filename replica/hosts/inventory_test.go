// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/hash"
)

// slowSample is the rule: the k paths of least H that are not avoided, in order.
func slowSample(paths []string) []string {
	unique := slices.Compact(slices.Sorted(slices.Values(paths)))
	k := sampleSize(len(unique))
	least := slices.DeleteFunc(slices.Clone(unique), func(p string) bool {
		_, avoided := PathFeatures(p, StageOne{})
		return avoided
	})
	slices.SortFunc(least, func(a, b string) int { return cmp.Compare(hash.H(a), hash.H(b)) })
	return slices.Sorted(slices.Values(least[:min(k, len(least))]))
}

// Samples are what the rule says, regardless of the size of the host, how often a path comes, and how
// many are avoided.
func TestSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 15, 16, 17, 18, 99, 127, 128, 129, 130, 257, 1000, 20_000} {
		for _, avoid := range []int{0, 2, 10} { // one in so many is not avoided
			var paths []string
			for i := range n {
				p := fmt.Sprintf("/dir%d/f%d.html", i%9, i)
				if avoid > 0 && i%avoid > 0 {
					p = fmt.Sprintf("/NPH-x/f%d.html", i)
				}
				paths = append(paths, p)
			}
			want := slowSample(paths)
			paths = append(paths, paths[:n/3]...)
			r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
			whole := NewInventory(StageOne{MinURLs: 1})
			for _, p := range paths {
				whole.Add([]byte("h.test"), []byte(p))
			}
			if s := whole.Samples(); len(s) != 1 || s[0].URLs != n || !slices.Equal(s[0].Paths, want) {
				t.Errorf("%d paths, 1 of %d not avoided: %d hosts, %d URLs, %d sampled; want %d of the rule",
					n, avoid, len(s), s[0].URLs, len(s[0].Paths), len(want))
			}
		}
	}
}

// An address that begins as the last one did is cut as any other.
func TestAddURLAfterAnother(t *testing.T) {
	urls := []string{"http://a.test?x=/", "http://a.test?x=/y", "http://a.test/1#z", "http://a.test/2",
		"http://a.test/2 3", "HTTP://A.test:80/3", "http://a.test/#f", "http://b.test", "http://b.test/4",
		"http://b.test//5", "http://u@b.test/6", "http://b.test/\x7f", "https://b.test/7"}
	once, each := NewInventory(StageOne{MinURLs: 1}), NewInventory(StageOne{MinURLs: 1})
	for _, u := range urls {
		host, path, err := SplitURL([]byte(u))
		if err == nil {
			each.Add(host, path)
		}
		if got := once.AddURL([]byte(u)); (got == nil) != (err == nil) {
			t.Errorf("%s: %v, want %v", u, got, err)
		}
	}
	got, want := fmt.Sprint(once.Samples()), fmt.Sprint(each.Samples())
	want = strings.Replace(want, "/7] false}", "/7] true}", 1) // Add gets no scheme
	if got != want || !strings.Contains(want, "{b.test 5 [/ //5 /4 /6 /7] true}") {
		t.Errorf("%s, want %s", got, want)
	}
}

// The fast hash tells apart what differs in one byte, or in length.
func TestPathHash(t *testing.T) {
	seen := map[uint64]string{}
	for n := range 70 {
		base := bytes.Repeat([]byte{0}, n)
		for i := -1; i < n; i++ {
			for _, c := range []byte{1, 0x80, 0xff} {
				b := bytes.Clone(base)
				if i >= 0 {
					b[i] = c
				}
				h := pathHash(b)
				if other, ok := seen[h]; ok && other != string(b) {
					t.Fatalf("%q and %q have one hash", other, b)
				}
				seen[h] = string(b)
			}
		}
	}
}

func TestSortOnHosts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, 1000, 1024, 30_000} {
		for _, top := range []uint64{0, 1, 1 << 20, 1 << 43, 1 << 60, 1<<64 - 1} {
			var list []onHost
			for range n {
				key := top
				if top < 1<<64-1 {
					key = r.Uint64N(top + 1)
				} else if r.IntN(3) > 0 {
					key = r.Uint64()
				}
				list = append(list, onHost{key: key, host: r.Uint32N(50)})
			}
			want := slices.Clone(list)
			slices.SortFunc(want, onHost.compare)
			got := sortOnHosts(list)
			if !slices.Equal(got, want) {
				t.Errorf("%d entries up to %x are not in order", n, top)
			}
			at := 0
			for run := range runs(got) {
				if len(run) == 0 || run[0].key != run[len(run)-1].key || (at > 0 && got[at-1].key == run[0].key) {
					t.Fatalf("run at %d: %v", at, run)
				}
				at += len(run)
			}
			if at != n {
				t.Errorf("runs of %d entries, want %d", at, n)
			}
		}
	}
}
