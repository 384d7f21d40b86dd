// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"
	"testing"
	"time"

	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// memory is a site in memory.
type memory struct {
	records  []record.Resource
	links    map[uint32][]uint32
	observed []record.Observation
	table    *urls.Table // of the case
	reads    int         // of all records
}

func (m *memory) Resources(f func(*record.Resource) error) error {
	m.reads++
	for i := range m.records {
		rec := m.records[i]
		if err := f(&rec); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Get(u site.URL) (rec record.Resource, ok bool, err error) {
	for _, rec := range m.records {
		if rec.URL == u {
			return rec, true, nil
		}
	}
	return rec, false, nil
}

func (m *memory) TargetsOf(id uint32) ([]byte, error) {
	return record.AppendTargets(nil, m.links[id]), nil
}

func (m *memory) Observations(f func(*record.Observation) error) error {
	for i := range m.observed {
		if err := f(&m.observed[i]); err != nil {
			return err
		}
	}
	return nil
}

func parse(t *testing.T, raw string) site.URL {
	t.Helper()
	u, _, err := site.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// known makes a case of run 7 for version 3 of a site with these records; the first one is the entry point's.
// Version 2 has 100 files.
func known(t *testing.T, records ...record.Resource) *Case {
	t.Helper()
	run := urls.Run{Number: 7, Version: 3}
	full := urls.New()
	table := full.Settled()
	table.Reserve(uint32(len(records)))
	for i := range records {
		records[i].ID = uint32(i)
		table.Load(&records[i], run)
	}
	return &Case{
		Seeds:   []site.URL{records[0].URL},
		Limits:  job.Limits{MaxDelete: 0.1, MaxFailures: 0.01},
		Run:     run,
		Live:    &record.Version{Number: 2, Files: 100},
		Table:   table,
		Records: &memory{records: records, links: map[uint32][]uint32{}, table: full},
		Why:     func(site.URL) string { return "" },
		Texts:   said{}, // no text can be read
		Parts: PartFacts{
			Began:   time.Unix(1_000_000, 0),
			Now:     time.Unix(1_000_900, 0),
			Covers:  func(u site.URL) bool { return u.Hostname() == "h" },
			Refused: func(uint32) bool { return false },
		},
	}
}

// page is a page that was in version 2 and answered in run 7 as it was.
func page(t *testing.T, raw string) record.Resource {
	return record.Resource{
		URL:     parse(t, raw),
		Path:    raw[len("http://h/"):],
		Outcome: site.Unchanged,
		Status:  304,
		MIME:    "text/html",
		InSet:   true,
		Run:     7,
		Changed: 1,
		Moved:   1,
		Shape:   5,
		Size:    1000,
		Body:    record.PackBody,
	}
}

// first is the case of a first run that found one page.
func first(t *testing.T) *Case {
	c := known(t, page(t, "http://h/"))
	c.Live, c.Run.Version = nil, 1
	return c
}

// wantReasons checks what the rules of a stage conclude, and returns it.
func wantReasons(t *testing.T, at Stage, c *Case, verdict result.Verdict, reasons ...string) []Ruling {
	t.Helper()
	rulings, err := Judge(at, c)
	if err != nil {
		t.Fatal(err)
	}
	var j Judgement
	j.Add(rulings...)
	if (j.Verdict != verdict) || !slices.Equal(j.Reasons, reasons) {
		t.Errorf("got %v, %q; want %v, %q", j.Verdict, j.Reasons, verdict, reasons)
	}
	return rulings
}

func pages(t *testing.T, raw ...string) (out []record.Resource) {
	for _, u := range raw {
		out = append(out, page(t, u))
	}
	return out
}
