// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"time"

	"mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/mirror/source"
	"mirrord/replica/hosts"
)

// ReplicaSide is one of two directories of the web that are tested for being replicas: stage II of Bharat and
// Broder through the polite fetcher.
type ReplicaSide struct {
	Base    string   // URL of the directory, with a slash at its end
	Paths   []string // known paths, below Base, each with a slash before it, such as "/a/b.html"
	Job     *job.Job // by whose rules requests are made: robots, politeness, window, limits
	Fetcher source.Fetcher
	Robots  source.Robots
	Hosts   frontier.Hosts

	Now func() time.Time // default time.Now
}

// TestReplicas requests up to 19 paths of both sides, and of each one that cannot exist, and decides. It
// takes turns of the hosts and obeys robots.txt as a run does. A side without paths is only tested for those
// of the other. The only errors are that ctx ended or that a job cannot be used.
func TestReplicas(ctx context.Context, a, b ReplicaSide) (hosts.PairVerdict, error) {
	var sides [2]source.Side
	for i, s := range []*ReplicaSide{&a, &b} {
		k, err := s.asker()
		if err != nil {
			return hosts.PairVerdict{}, err
		}
		sides[i] = source.Side{Base: s.Base, Paths: s.Paths, Asker: k}
	}
	return source.TestReplicas(ctx, sides[0], sides[1])
}

func (s *ReplicaSide) asker() (*source.Asker, error) {
	if s.Now == nil {
		s.Now = time.Now
	}
	g, err := frontier.NewPacer(s.Hosts, s.Job, source.Politeness(s.Job), s.Now)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", s.Job.Name, err)
	}
	o := source.AskerOptionsOf(s.Job)
	o.Fetcher, o.Robots, o.Turns, o.Now = s.Fetcher, s.Robots, g, s.Now
	return source.NewAsker(o), nil
}
