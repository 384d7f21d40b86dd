// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"time"

	"mirrord/cluster/engine"
	"mirrord/fetch/robots"
)

// What one node has fetched another one has from the keepers.
func TestRobotsAreShared(t *testing.T) {
	o := keepers(t, 1)
	var nodes []*engine.Robots
	for _, name := range []string{"a", "b"} {
		o.Node = name
		r, err := engine.OpenRobots(t.Context(), node(t, o))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, r)
	}
	const origin = "https://site.example"
	if _, ok, err := nodes[1].LoadHost(origin); ok || err != nil {
		t.Fatalf("before the first fetch: %t, %v", ok, err)
	}
	for _, status := range []int{503, 200} {
		f := robots.FileCopy{
			Fetched: time.Now().UTC().Round(0),
			Status:  status,
			Body:    []byte("User-agent: *\nDisallow: /private\n"),
			ETag:    `"1"`,
		}
		if err := nodes[0].SaveHost(origin, f); err != nil {
			t.Fatal(err)
		}
		got, ok, err := nodes[1].LoadHost(origin)
		same := got.Fetched.Equal(f.Fetched) && got.Status == status && string(got.Body) == string(f.Body)
		if !ok || err != nil || !same || got.ETag != f.ETag {
			t.Errorf("%t, %v: %+v", ok, err, got)
		}
	}
}
