package mirror_test

import (
	"context"
	"testing"

	"mirrord/fetch"
	"mirrord/internal/mirrortest"
	jobfile "mirrord/job"
	"mirrord/mirror"
)

// deadHost answers for one host only, and counts what is asked of others.
type deadHost struct {
	mirrortest.Fake
	lives string
	asked int
}

func (f *deadHost) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	if req.URL.Hostname() == f.lives {
		return f.Fake.Do(ctx, req, sink)
	}
	f.asked++
	return &fetch.Result{}, context.DeadlineExceeded
}

// A host that does not answer is not asked for all that a test wants to know of it.
func TestReplicaTestOfASilentHost(t *testing.T) {
	w := mirrortest.NewWeb()
	pages := handbook(24)
	w.SetAll(home, pages)
	f := &deadHost{lives: "www.example.org"}
	f.Web = w
	var paths []string
	for p := range pages {
		paths = append(paths, p)
	}
	j := jobfile.Default(home + "/")
	j.ObeyRobots = false
	side := mirror.ReplicaSide{Job: j, Fetcher: f, Robots: f, Hosts: mirrortest.Eager{}}
	here, there := side, side
	here.Base, here.Paths, there.Base = home+"/", paths, copyBase
	v, err := mirror.TestReplicas(t.Context(), here, there)
	if err != nil || v.Level.Mirrors() || f.asked != 4 {
		t.Errorf("%v, level %v, %d requests to the silent host, want 4", err, v.Level, f.asked)
	}
}
