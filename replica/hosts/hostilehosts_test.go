// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"testing"
)

// A host with one page, hosts with none sampled, and hosts of one name in several ways.
func TestOddHosts(t *testing.T) {
	v := NewInventory(StageOne{MinURLs: 1})
	for _, u := range []string{
		"http://one.test/", "http://ONE.test:80/", "https://one.test.:443/", "http://[::1]:8080/x",
		"http://user:pass@two.test/x?y=http://three.test/#z", "http://nph.test/nph-x/a", "http://two.test/%",
		"http://one.test..:80/", "http://one.test.:8080/p", "http://one.test:8080/p", "http://B\xc3\x9cCHER.test/",
		"http://b\xc3\xbccher.test/", "http://\xc3\x9c.test/", "http://\xc3\xbc.test/", "http://\xff.test/",
		"http://A\xff.test/",
	} {
		if err := v.AddURL([]byte(u)); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, u := range []string{
		"", "x", "http://", "http://:80/", "http://a b/", "http://a.test:x/", "ftp://a.test/", "http://a.test/\x00",
		"http://@/", "//a.test/", "http://0::80/", "http://a:b:80/", "http://[]/", "http://[::1]x/", "http://a]/",
		"http://.:80/", "http://..a/",
	} {
		if err := v.AddURL([]byte(u)); err == nil {
			t.Errorf("%q is taken", u)
		}
	}
	got := fmt.Sprint(v.Samples())
	want := "[{[::1]:8080 1 [/x] false} {a\xff.test 1 [/] false} {bücher.test 1 [/] false} " +
		"{nph.test 1 [] false} {one.test 1 [/] true} {one.test:8080 1 [/p] false} " +
		"{two.test 2 [/% /x?y=http://three.test/] false} {ü.test 1 [/] false} {\xff.test 1 [/] false}]"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if pairs := v.Pairs(); len(pairs) != 0 {
		t.Errorf("pairs %v", pairs)
	}
}

// Lists made to take long or much memory: paths of very many words, one host with very many paths, many hosts
// with one, leaves that all have.
func TestHostileLists(t *testing.T) {
	v := NewInventory(StageOne{MaxLeaves: 10_000})
	for i := range 240 {
		long := []byte("http://long" + fmt.Sprint(i%2) + ".test/" + fmt.Sprint(i))
		for n := range 8000 {
			long = append(long, '-', 'a'+byte(n%13), 'a'+byte(n/13%13), 'a'+byte(n/169%13), 'a'+byte(n/2197%13))
		}
		if err := v.AddURL(long); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300_000 {
		if err := v.AddURL(fmt.Appendf(nil, "http://one.test/a%d/all/same.html", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30_000 {
		if err := v.AddURL(fmt.Appendf(nil, "http://many%d.test/all/same.html", i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := v.Hosts(); got != 30_003 {
		t.Errorf("%d hosts", got)
	}
	if s := v.Samples(); len(s) != 3 || s[2].URLs != 300_000 || len(s[2].Paths) != sampleSize(300_000) {
		t.Errorf("%d hosts were considered", len(s))
	}
	if pairs := v.Pairs(); len(pairs) != 1 || pairs[0].Host1 != "long0.test" {
		t.Errorf("pairs %v", pairs)
	}
	if len(v.leaves) > 10_000 {
		t.Errorf("%d leaves are kept", len(v.leaves))
	}
}

// Hosts that all have the same pages by their addresses are compared in time, and no more pairs are kept than
// fit in the budget.
func TestHostsAllAlike(t *testing.T) {
	v := NewInventory(StageOne{})
	const hosts = 2200
	for i := range hosts {
		for page := range 100 {
			v.Add(fmt.Appendf(nil, "h%d.test", i), fmt.Appendf(nil, "/manual/chapter%d.html", page))
		}
	}
	if n := len(v.Pairs()); n == 0 || n > maxPairs+4*hosts {
		t.Errorf("%d pairs", n)
	}
}
