// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bufio"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WriteMetrics writes all as metrics in the text format of Prometheus, version 0.0.4. Jobs are labels; hosts
// and URLs never are, so that the number of series is bounded by that of the jobs.
func WriteMetrics(w io.Writer, all All) error {
	b := bufio.NewWriter(w)
	d := all.Daemon
	m := metrics{b: b}
	m.gauge("mirrord_build_info", "The version of the daemon; the value is always 1.")
	m.sample(1, "version", d.Version)
	m.gauge("mirrord_start_time_seconds", "When the daemon was started, in Unix time.")
	m.sample(&d.Started)
	m.gauge("mirrord_ready", "Whether the daemon has read its jobs and is not ending.")
	m.sample(d.Ready && !d.Ending)
	m.gauge("mirrord_runs_running", "Runs under way.")
	m.sample(d.Running)
	m.gauge("mirrord_runs_max", "How many runs may work at a time.")
	m.sample(d.MaxRuns)
	m.gauge("mirrord_runs_working", "Runs under way that have a turn.")
	m.sample(len(d.Turns))
	m.gauge("mirrord_runs_parked", "Runs under way without a turn: they wait, or queue for one.")
	m.sample(d.Parked)
	m.gauge("mirrord_runs_parked_max", "How many runs there may be besides those of mirrord_runs_max.")
	m.sample(d.MaxParked)
	m.counter("mirrord_runs_total", "Runs that ended since the start, by verdict.")
	m.sample(d.Runs.Complete, "verdict", VerdictComplete)
	m.sample(d.Runs.Gaps, "verdict", VerdictGaps)
	m.sample(d.Runs.Partial, "verdict", VerdictPartial)
	m.sample(d.Runs.Suspicious, "verdict", VerdictSuspicious)
	m.sample(d.Runs.Failed, "verdict", VerdictError)
	m.counter("mirrord_runs_skipped_total", "Times that a job was due while it was still running.")
	m.sample(d.Runs.Skipped)
	m.counter("mirrord_messages_untold_total",
		"Messages that could not be delivered, or were held back because there were too many.")
	m.sample(d.Untold)
	m.gauge("mirrord_disk_free_bytes", "Room left on the disk of the state directory.")
	m.sample(d.Free)
	m.gauge("mirrord_config_ok", "Whether the jobs directory could be read and no file in it is refused.")
	refused := d.Problem != ""
	counts := map[Health]int{}
	for i := range all.Jobs {
		counts[all.Jobs[i].Health]++
		refused = refused || all.Jobs[i].Refused
	}
	m.sample(!refused)
	m.gauge("mirrord_config_read_time_seconds", "When the jobs directory was last read, in Unix time.")
	m.sample(d.Reloaded)
	m.gauge("mirrord_jobs", "Jobs by state.")
	for _, h := range Healths() {
		m.sample(counts[h], "state", string(h))
	}
	of := make([][]jobMetric, len(all.Jobs))
	for i := range all.Jobs {
		of[i] = jobMetrics(&all.Jobs[i])
	}
	for k, family := range jobMetrics(new(Job)) {
		m.gauge(family.name, family.help)
		for i := range all.Jobs {
			if _, ok := number(of[i][k].value); ok {
				m.sample(of[i][k].value, "job", all.Jobs[i].Name)
			}
		}
	}
	m.gauge("mirrord_job_waits", "Whether the job or its run waits, and for what.")
	for i := range all.Jobs {
		for _, f := range WaitsFor() {
			w := all.Jobs[i].Waits
			m.sample(w != nil && w.For == f, "job", all.Jobs[i].Name, "for", string(f))
		}
	}
	m.gauge("mirrord_job_waits_until_time_seconds",
		"Until when the job or its run waits at least, in Unix time, where that is known.")
	for i := range all.Jobs {
		if w := all.Jobs[i].Waits; w != nil && w.Until != nil {
			m.sample(w.Until, "job", all.Jobs[i].Name)
		}
	}
	m.gauge("mirrord_job_host_held", "Runs that wait for a host: why, and the job that holds it, \"\" for none.")
	for i := range all.Jobs {
		w := all.Jobs[i].Waits
		if w == nil || w.Held == "" {
			continue
		}
		for _, by := range append(w.Behind, "")[:max(1, len(w.Behind))] {
			m.sample(1, "job", all.Jobs[i].Name, "held", string(w.Held), "by", by)
		}
	}
	m.gauge("mirrord_job_gaps", "Parts that the mirror should have and the last run could not get; known ones "+
		"are written off, accepted or few.")
	for i := range all.Jobs {
		if r := all.Jobs[i].Last; r != nil {
			m.sample(r.Gaps-r.KnownGaps, "job", all.Jobs[i].Name, "known", "false")
			m.sample(r.KnownGaps, "job", all.Jobs[i].Name, "known", "true")
		}
	}
	for _, x := range []struct {
		name, help string
		of         func(*Run) int64
	}{
		{"mirrord_job_last_run_asked", "URLs that the last run requested.", func(r *Run) int64 { return r.Asked }},
		{"mirrord_job_last_run_known", "URLs that the last run knew.", func(r *Run) int64 { return r.Known }},
	} {
		m.gauge(x.name, x.help)
		for i := range all.Jobs {
			if r := all.Jobs[i].Last; r != nil {
				m.sample(x.of(r), "job", all.Jobs[i].Name)
			}
		}
	}
	m.gauge("mirrord_job_last_run_spared_requests",
		"Requests that the last run did not have to make, by what spared them.")
	for i := range all.Jobs {
		if r := all.Jobs[i].Last; r != nil {
			for _, by := range slices.Sorted(maps.Keys(r.Spared)) {
				m.sample(r.Spared[by], "job", all.Jobs[i].Name, "by", by)
			}
		}
	}
	return b.Flush()
}

// jobMetric is a family with its value for a job; nil: it has none.
type jobMetric struct {
	name, help string
	value      any
}

func jobMetrics(j *Job) []jobMetric {
	var stale, took, requests, gone, received any
	if j.Verified != nil {
		stale = j.Staleness
	}
	if r := j.Last; r != nil {
		took, requests, gone, received = r.Ended.Sub(r.Started).Seconds(), r.Requests, r.FirstGone, r.Received
	}
	return []jobMetric{
		{"mirrord_job_ok",
			"Whether the job is well: its last run was complete, maybe but for resources accepted as " +
				"missing, its file is accepted and it is not stale.", j.Health == OK},
		{"mirrord_job_running",
			"Whether a run is under way.", j.Activity == Running || j.Activity == Ending},
		{"mirrord_job_turn", "Whether the job's run has a turn: it works.", j.Turn},
		{"mirrord_job_paused", "Whether the job is paused by a user.", j.Activity == Paused},
		{"mirrord_job_refused", "Whether the job's file is refused.", j.Refused},
		{"mirrord_job_suspicious", "Whether the last run is held for review.", j.Health == Suspicious},
		{"mirrord_job_stale", "Whether the bound of staleness has passed.", j.Stale},
		{"mirrord_job_staleness_seconds",
			"Age of the oldest part of the mirror that was not verified since.", stale},
		{"mirrord_job_failures",
			"Runs that ended otherwise since the last one that was complete or had gaps.", j.Failures},
		{"mirrord_job_next_run_time_seconds", "When the next run is due, in Unix time.", j.Next},
		{"mirrord_job_last_run_time_seconds", "When the last run ended, in Unix time.", j.LastRun},
		{"mirrord_job_last_complete_time_seconds",
			"When the last run ended that was complete or had gaps, in Unix time.", j.Complete},
		{"mirrord_job_last_run_seconds", "How long the last run took.", took},
		{"mirrord_job_last_run_requests", "Requests of the last run.", requests},
		{"mirrord_job_last_run_first_gone",
			"URLs of the mirror that answered 404 or 410 for the first time in the last run, and " +
				"stay until a second look.", gone},
		{"mirrord_job_last_run_received_bytes", "Bytes of bodies of the last run, as they came.", received},
		{"mirrord_job_scrub_time_seconds",
			"When the scrub last read a part of the mirror, in Unix time.", j.Scrub.orNone().Last},
		{"mirrord_job_scrub_whole_time_seconds",
			"All stored bytes were read at or after this, in Unix time.", j.Scrub.orNone().Whole},
		{"mirrord_job_scrub_damaged", "Files of the mirror that are damaged now.", j.Scrub.orNone().Damaged},
		{"mirrord_job_scrub_healed",
			"Files that were damaged and are good again.", j.Scrub.orNone().Repaired},
		{"mirrord_job_version", "Number of the published version.", j.Version},
		{"mirrord_job_files", "Files of the published version.", j.Files},
		{"mirrord_job_bytes", "Size of the published version.", j.Bytes},
	}
}

// metrics writes one family after another; samples belong to the last family.
type metrics struct {
	b    *bufio.Writer
	name string
}

func (m *metrics) gauge(name, help string)   { m.family(name, help, "gauge") }
func (m *metrics) counter(name, help string) { m.family(name, help, "counter") }

func (m *metrics) family(name, help, kind string) {
	m.name = name
	m.b.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes a value with labels: name, value, name, value …
func (m *metrics) sample(v any, labels ...string) {
	x, _ := number(v)
	m.b.WriteString(m.name)
	for i := 0; i < len(labels); i += 2 {
		if i == 0 {
			m.b.WriteByte('{')
		} else {
			m.b.WriteByte(',')
		}
		m.b.WriteString(labels[i] + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(
			strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		m.b.WriteByte('}')
	}
	m.b.WriteString(" " + strconv.FormatFloat(x, 'g', -1, 64) + "\n")
}

// number is the value of a metric; not ok: it has no value.
func number(v any) (x float64, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			x = 1
		}
		return x, true
	case *time.Time:
		if v != nil && !v.IsZero() {
			x = float64(v.UnixMilli()) / 1000
		}
		return x, v != nil
	case float64:
		return v, true
	case nil:
		return 0, false
	}
	return float64(reflect.ValueOf(v).Int()), true
}
