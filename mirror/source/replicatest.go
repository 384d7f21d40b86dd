// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"mirrord/replica/hash"
	"mirrord/replica/hosts"
	"mirrord/site"
)

// Side is one of two directories of the web that are tested for being replicas.
type Side struct {
	Base  string   // URL of the directory, with a slash at its end
	Paths []string // known paths, below Base, each with a slash before it, such as "/a/b.html"
	Asker *Asker   // makes the requests to it
}

// TestReplicas requests up to 19 paths of both sides, and of each one that cannot exist, and decides: stage
// II of Bharat and Broder. A side without paths is only tested for those of the other. The only error is that
// ctx ended. It takes turns of the hosts and obeys robots.txt as a run does.
func TestReplicas(ctx context.Context, a, b Side) (hosts.PairVerdict, error) {
	one := hosts.HostSample{Host: a.Base, Paths: a.Paths}
	other := hosts.HostSample{Host: b.Base, Paths: b.Paths}
	tests := hosts.StageTwo{}.Plan(one, other)
	if len(b.Paths) == 0 {
		tests = oneWay(a.Base, b.Base, a.Paths)
	}
	asker := map[string]*Asker{a.Base: a.Asker, b.Base: b.Asker}
	otherOf := map[string]string{a.Base: b.Base, b.Base: a.Base}
	answers, err := gather(tests, func(base string, u site.URL) (hosts.TestAnswer, error) {
		return asker[base].page(ctx, u, otherOf[base])
	})
	if err != nil {
		return hosts.PairVerdict{}, err
	}
	return hosts.StageTwo{}.Decide(tests, answers), nil
}

// oneWayPaths is how many paths are tested when only one side's are known: as many as the two sides have
// together.
const oneWayPaths = 18

// oneWay plans the tests of whether target has what source has: "/" and the paths of least hash.
func oneWay(source, target string, paths []string) []hosts.Test {
	tests := []hosts.Test{{Source: source, Target: target, Path: "/"}}
	for _, p := range leastPaths(source, slices.Values(paths), oneWayPaths) {
		tests = append(tests, hosts.Test{Source: source, Target: target, Path: p})
	}
	return tests
}

// gather gets everything that tests need.
func gather(
	tests []hosts.Test, get func(base string, u site.URL) (hosts.TestAnswer, error),
) (map[hosts.TestRequest]hosts.TestAnswer, error) {
	answers := map[hosts.TestRequest]hosts.TestAnswer{}
	for _, ask := range hosts.Asks(tests) {
		u, _, err := site.Parse(strings.TrimSuffix(ask.Host, "/") + ask.Path)
		if err != nil {
			answers[ask] = hosts.TestAnswer{Kind: hosts.GotFailure}
			continue
		}
		a, err := get(ask.Host, u)
		if err != nil {
			return nil, err
		}
		answers[ask] = a
	}
	return answers, nil
}

// leastPaths returns the n paths, "/" left out, for which H(base NUL path) is least.
func leastPaths(base string, paths func(func(string) bool), n int) []string {
	type hashed struct {
		h uint64
		p string
	}
	var all []hashed
	least := func() {
		slices.SortFunc(all, func(a, b hashed) int { return cmp.Compare(a.h, b.h) })
		all = all[:min(n, len(all))]
	}
	for p := range paths {
		if p != "/" {
			all = append(all, hashed{hash.H(base + "\x00" + p), p})
		}
		if len(all) >= 64*n { // a sample of much stays small
			least()
		}
	}
	least()
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = x.p
	}
	return out
}
