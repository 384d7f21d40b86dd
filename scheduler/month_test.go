// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// memory is a Store. A copy that is cut off keeps nothing more, like a process that was killed.
type memory struct {
	mu      sync.Mutex
	records map[string]Record
	dead    bool
	saves   int
	fail    error
}

func newMemory() *memory { return &memory{records: map[string]Record{}} }

func (m *memory) LoadRecords() (map[string]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]Record{}
	for k, v := range m.records {
		out[k] = v
	}
	return out, nil
}

func (m *memory) SaveRecords(rs map[string]*Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.saves++
	if m.dead {
		return nil
	}
	for k, r := range rs {
		if r == nil {
			delete(m.records, k)
		} else {
			m.records[k] = *r
		}
	}
	return nil
}

// takeOver is what the next process finds after this one was killed.
func (m *memory) takeOver() *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	next := newMemory()
	for k, v := range m.records {
		next.records[k] = v
	}
	return next
}

// fakeRunner makes runs that take a while and do nothing.
type fakeRunner struct {
	takes func(j *job.Job) time.Duration
	ends  func(j *job.Job, n int) status.Run // how the n-th run of a job ends; nil: complete

	mu            sync.Mutex
	now, most     int
	perJob, count map[string]int
	twice         bool
	seen          []*job.Job
}

func (f *fakeRunner) Run(ctx context.Context, j *job.Job, o RunOptions) status.Run {
	f.mu.Lock()
	if f.perJob == nil {
		f.perJob, f.count = map[string]int{}, map[string]int{}
	}
	f.now++
	f.most = max(f.most, f.now)
	f.perJob[j.Name]++
	f.count[j.Name]++
	n := f.count[j.Name]
	f.twice = f.twice || f.perJob[j.Name] > 1
	f.seen = append(f.seen, j)
	ends := f.ends
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.now--
		f.perJob[j.Name]--
		f.mu.Unlock()
	}()
	run := status.Run{Started: time.Now(), Verdict: status.VerdictComplete}
	o.Progress(status.Progress{Phase: status.Retrieving})
	t := time.NewTimer(f.takes(j))
	defer t.Stop()
	select {
	case <-t.C:
		if ends != nil {
			run = ends(j, n)
			run.Started = time.Now().Add(-f.takes(j))
		}
	case <-ctx.Done():
		run.Verdict, run.Reasons = status.VerdictPartial, []string{"interrupted"}
	}
	run.Ended = time.Now()
	return run
}

// runs is how often a job was run.
func (f *fakeRunner) runs(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count[name]
}

func (f *fakeRunner) setEnds(ends func(j *job.Job, n int) status.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ends = ends
}

// begun is one start of a run, as it was logged.
type begun struct {
	at  time.Time
	why string
}

// startLog collects the starts of runs from the log.
type startLog struct {
	slog.Handler
	mu     *sync.Mutex
	starts map[string][]begun
	others []string // messages
}

func newStartLog() *startLog {
	return &startLog{Handler: slog.DiscardHandler, mu: new(sync.Mutex), starts: map[string][]begun{}}
}

func (l *startLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *startLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "run started" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.others = append(l.others, r.Message)
		return nil
	}
	var name, why string
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "job":
			name = a.Value.String()
		case "why":
			why = a.Value.String()
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts[name] = append(l.starts[name], begun{time.Now(), why})
	return nil
}

func makeJob(t testing.TB, name, spec, tz, more string) File {
	t.Helper()
	text := fmt.Sprintf(
		"url = \"https://%s.example.org/\"\nschedule = %q\ntimezone = %q\nlimits.min_free = 0\n%s", name,
		spec, tz, more)
	j, err := job.Parse(name, name+Suffix, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return File{
		Name: name,
		Path: name + Suffix,
		Text: []byte(text),
		Job:  j,
	}
}

// TestMonthInBulk runs 80 jobs, 200 with MIRRORD_LONG=1, for thirty days over two clock changes, with 50
// reloads that touch, break, mend, remove and add files, and with restarts, some by kill -9: every due run is
// started once, none twice, none is lost.
func TestMonthInBulk(t *testing.T) {
	seed := rand.Uint64()
	if v, err := strconv.ParseUint(os.Getenv("MIRRORD_SEED"), 10, 64); err == nil {
		seed = v // of a run that failed
	}
	t.Logf("seed %d", seed)
	jobs := 80
	if os.Getenv("MIRRORD_LONG") != "" {
		jobs = 200
	}
	synctest.Test(t, func(t *testing.T) { month(t, rand.New(rand.NewPCG(seed, 1)), jobs) })
}

// takes is how long each run takes.
const takes = 7 * time.Second

func month(t *testing.T, rnd *rand.Rand, jobs int) {
	from := time.Date(2000, 3, 30, 0, 0, 0, 0, time.UTC) // New York changes on 2 April, Cairo on 28 April
	to := from.AddDate(0, 0, 30)
	time.Sleep(time.Until(from)) // in a bubble

	specs := []string{"30 2 * * *", "30 1 * * *", "0 0 * * *", "0 */6 * * *", "17 * * * *", "0 4 * * SUN",
		"45 23 1,15 * *", "@every 3h", "@daily", "5,35 8-17 * * MON-FRI",
		"15 2 * * *", "59 1 * * *", "1 0 * * *", "0 3 * * *", "30 23 * * *", "45 2 * * *", "0 1 * * *",
		"10 0 * * *", "20 5 */2 * *", "@every 1d"}
	zones := []string{"America/New_York", "Africa/Cairo", "Europe/Berlin", "UTC", "Asia/Kathmandu"}
	files := map[string]File{}
	most := jobs * 3 / 10 // runs at a time
	for i := range jobs {
		name := fmt.Sprintf("job%03d", i)
		files[name] = makeJob(t, name, specs[rnd.IntN(len(specs))], zones[rnd.IntN(len(zones))], "")
	}
	sorted := func() []File {
		var out []File
		for _, f := range files {
			out = append(out, f)
		}
		slices.SortFunc(out, func(a, b File) int { return cmpName(a.Name, b.Name) })
		return out
	}
	runner := &fakeRunner{takes: func(j *job.Job) time.Duration {
		return time.Second + time.Duration(len(j.Name)+int(j.Name[5]))*100*time.Millisecond
	}}
	log := newStartLog()
	store := newMemory()

	var up []span
	since := map[string]time.Time{} // when the job was last put there
	for name := range files {
		since[name] = from
	}
	var begin time.Time                // of this daemon
	expect := map[string][]want{}      // of times in which the job was there without a break
	breaks := map[string][]time.Time{} // when it was put back
	settle := func(name string, end time.Time) {
		all := up
		if end.Before(to) {
			all = append(slices.Clone(up), span{begin, end})
		}
		expect[name] = append(expect[name], wanted(t, files[name].Job, since[name], end, all)...)
	}

	reloads := 0
	for at := from; at.Before(to); {
		begin = time.Now()
		s, err := New(Options{
			Runner:  runner,
			Store:   store,
			Log:     slog.New(log),
			MaxRuns: most,
			Local:   time.UTC,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(Resolve(sorted(), s.Config()))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		life := time.Duration(rnd.Int64N(int64(4 * 24 * time.Hour)))
		end := at.Add(life)
		if end.After(to) {
			end = to
		}
		for reloads < 50 {
			wait := time.Duration(rnd.Int64N(int64(10 * time.Hour)))
			if time.Now().Add(wait).After(end) {
				break
			}
			time.Sleep(wait) // in a bubble
			reloads++
			list := sorted()
			name := list[rnd.IntN(len(list))].Name
			switch rnd.IntN(5) {
			case 0: // a change that does not concern the schedule
				f := files[name]
				files[name] = makeJob(t, name, f.Job.Schedule, f.Job.Timezone, fmt.Sprintf("title = \"%d\"\n", reloads))
				list = sorted()
			case 1: // broken for this reload: the last good version stays in force
				for i := range list {
					if list[i].Name == name {
						list[i].Job, list[i].Err = nil, job.Errors{{File: list[i].Path, Msg: "broken"}}
					}
				}
			case 2: // removed, and put back two reloads later or at the next start
				if len(files) > jobs-10 {
					settle(name, time.Now())
					f := files[name]
					delete(files, name)
					s.Apply(Resolve(sorted(), s.Config()))
					time.Sleep(90 * time.Second) // in a bubble
					files[name], since[name] = f, time.Now()
					breaks[name] = append(breaks[name], time.Now())
					list = sorted()
				}
			}
			changes := s.Apply(Resolve(list, s.Config()))
			if len(changes) > 2 {
				t.Errorf("reload changed %v", changes)
			}
		}
		if d := time.Until(end); d > 0 {
			time.Sleep(d) // in a bubble
		}
		if rnd.IntN(2) == 0 { // kill -9
			store = store.takeOver()
		}
		up = append(up, span{begin, time.Now()})
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		at = end.Add(time.Duration(rnd.Int64N(int64(30 * time.Hour))))
		time.Sleep(time.Until(at)) // in a bubble
	}
	total := 0
	for name := range files {
		settle(name, to)
		total += len(expect[name])
		if strings.HasPrefix(files[name].Job.Schedule, "@every") {
			compareEvery(t, files[name].Job, log.starts[name], up, breaks[name])
			continue
		}
		compare(t, files[name].Job, log.starts[name], expect[name])
	}
	if runner.twice {
		t.Error("one job ran twice at a time")
	}
	if runner.most > most {
		t.Errorf("%d runs at a time", runner.most)
	}
	if reloads < 50 || len(up) < 3 || total < 1000 {
		t.Errorf("only %d reloads, %d starts of the daemon, %d runs", reloads, len(up), total)
	}
	t.Logf("%d runs wanted, %d reloads, %d starts of the daemon", total, reloads, len(up))
}

type span struct{ from, to time.Time }

func cmpName(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// want is when a run is to be started. One that was missed may be served by an interrupted one that
// continues,
// and one that comes due during such a run is left out.
type want struct {
	at     time.Time
	missed bool
	boot   time.Time
}

func compare(t *testing.T, j *job.Job, starts []begun, wants []want) {
	i := 0
	for _, w := range wants {
		resumed := false
		for ; i < len(starts) && starts[i].why == whyResume; i++ {
			d := w.at.Sub(starts[i].at)
			resumed = resumed || (w.missed && !starts[i].at.Before(w.boot)) || (d >= 0 && d <= takes)
		}
		if resumed && w.missed && i < len(starts) && starts[i].why == whySchedule && starts[i].at.Before(w.at) {
			i++ // the next one was due before the missed one would have been made up
			continue
		}
		if resumed && (i == len(starts) || starts[i].at.Sub(w.at) > time.Minute) {
			continue
		}
		if i == len(starts) {
			t.Errorf("%s (%s in %s): not started at %v", j.Name, j.Schedule, j.Timezone, w.at.UTC())
			return
		}
		if d := starts[i].at.Sub(w.at); d < 0 || d > time.Minute {
			t.Errorf("%s (%s in %s): start %d (%s) at %v, want %v", j.Name, j.Schedule, j.Timezone, i, starts[i].why,
				starts[i].at.UTC(), w.at.UTC())
			return
		}
		i++
	}
	for ; i < len(starts); i++ {
		if starts[i].why != whyResume {
			t.Errorf("%s (%s in %s): started without need (%s) at %v", j.Name, j.Schedule, j.Timezone, starts[i].why,
				starts[i].at.UTC())
			return
		}
	}
}

// compareEvery checks a job with an interval: as that counts from the last start, a run that continues after
// a
// kill may shift all that follow.
func compareEvery(t *testing.T, j *job.Job, starts []begun, up []span, breaks []time.Time) {
	c, err := NewClock(j, time.UTC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range up {
		breaks = append(breaks, u.from)
	}
	every := c.spec.Every
	for i, b := range starts[1:] {
		last := starts[i]
		broken := slices.ContainsFunc(breaks, func(at time.Time) bool {
			return at.After(last.at) && !at.After(b.at)
		}) // the daemon was down, or the job away
		switch gap := b.at.Sub(last.at); {
		case !broken && b.why != whyResume && last.why != whyResume && gap < every:
			t.Errorf("%s (%s): started (%s) %v after the last time", j.Name, j.Schedule, b.why, gap)
		case broken && b.why == whyMissed && gap < every:
			t.Errorf("%s (%s): made up %v after the last time", j.Name, j.Schedule, gap)
		case !broken && gap > every+time.Minute:
			t.Errorf("%s (%s): not started for %v at %v", j.Name, j.Schedule, gap, b.at.UTC())
		}
	}
}

// wanted lists when a job that is there from one time to another is to be started: at its times while the
// daemon is up, and once after each time that it was not up when a run was due.
func wanted(t *testing.T, j *job.Job, from, to time.Time, up []span) (out []want) {
	c, err := NewClock(j, time.UTC, 0)
	if err != nil {
		t.Fatal(err)
	}
	served := from
	for _, u := range up {
		if !u.to.After(from) {
			continue
		}
		for {
			due, missed := c.Start(served), false
			if due.Before(u.from) {
				due, missed = u.from.Add(c.Jitter()), true
			}
			if !due.Before(u.to) || !due.Before(to) {
				break
			}
			if n := len(out); n == 0 || due.Sub(out[n-1].at) > takes {
				out = append(out, want{due, missed, u.from})
			}
			if served = due.Add(-c.Jitter()); c.spec.Every > 0 {
				served = due
			}
		}
	}
	return out
}

func slogOf(l *startLog) *slog.Logger { return slog.New(l) }
