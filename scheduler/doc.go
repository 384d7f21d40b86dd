// SPDX-License-Identifier: Apache-2.0

// Package scheduler runs jobs at their times for years without anybody looking.
//
//	cron.go       when a job is due: pure
//	rate.go       when a continuous job runs next: pure
//	jobsdir.go    reading job files, with suspicion
//	config.go     the configuration in force, and what a reload changes: pure
//	record.go     what outlives the process about a job
//	plan.go       when each job starts, and what holds it back
//	state.go      the jobs in force, which are due, which may start; knows no lock
//	turns.go      who works: turns, and runs that give theirs back while they only wait
//	run.go        one run from its start to its end
//	request.go    what people request: run now, cancel, pause, resume
//	scheduler.go  the loop, and the lock of the state
//
// What must hold, over reloads, restarts, kill -9 and clock changes: every due run is started once. One that
// was missed, because the daemon was not running, the machine slept, the job was paused, its window was
// closed or all turns were taken, is made up once. One that comes due while its job still runs is counted and
// left out. A run that was interrupted continues. There is one run of a job at a time; each run is given the
// job as it was when the run started. No more than MaxRuns work at a time, but for short turns (turns.go),
// and no more than MaxRuns and MaxParked together are under way.
//
// The package does not know what a run is: that is behind Runner. Politeness over all jobs is the Runner's
// too.
package scheduler
