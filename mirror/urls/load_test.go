// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"errors"
	"fmt"
	"testing"

	"mirrord/site"
	"mirrord/store/record"
)

// records is a site with some records and the journal of an unfinished run.
type records struct {
	known  uint32
	stored []*record.Resource
	news   map[uint32]string
	done   []*record.Resource
}

func (s *records) Known() (uint32, error) { return s.known, nil }

func (s *records) Resources(f func(*record.Resource) error) error {
	for _, rec := range s.stored {
		if err := f(rec); err != nil {
			return err
		}
	}
	return nil
}

func (s *records) Replay(
	newURL func(uint32, record.NewURL) error, done func(*record.Resource, []byte, bool) error,
) error {
	for id, u := range s.news {
		if err := newURL(id, record.NewURL{URL: u}); err != nil {
			return err
		}
	}
	for _, rec := range s.done {
		if err := done(rec, nil, false); err != nil {
			return err
		}
	}
	return nil
}

// A table is filled from records and journal, the latest record of a URL counts, and the mirror takes its
// present members.
func TestFill(t *testing.T) {
	a, b := site.Canonical("http://h/a"), site.Canonical("http://h/b")
	from := &records{
		known: 3,
		stored: []*record.Resource{
			{ID: 0, URL: a, Outcome: site.Fetched, InSet: true, Size: 10, Run: 1},
			{ID: 1, URL: b, Outcome: site.Fetched, InSet: true, Size: 20, Run: 1},
		},
		news: map[uint32]string{2: "http://h/c"},
		done: []*record.Resource{{ID: 1, URL: b, Outcome: site.Gone, Size: 20, Run: 2}},
	}
	var visits []string
	table := New().Settled()
	room, err := table.Fill(Loading{From: from, Run: Run{
		Number:  2,
		Version: 2,
	}, Visit: func(rec *record.Resource, answered bool) {
		visits = append(visits, fmt.Sprint(rec.ID, answered))
	}})
	if err != nil || (room != Room{Files: 1, Bytes: 10}) || fmt.Sprint(visits) != "[0 false 1 false 1 true]" {
		t.Error(err, room, visits)
	}
	if table.Len() != 3 || table.State(1).InSet() || !table.State(1).Answered() ||
		table.URL(2).String() != "http://h/c" {
		t.Errorf("%d, %+v, %s", table.Len(), table.State(1), table.URL(2))
	}
}

// A number that no URL has is damage.
func TestFillDamaged(t *testing.T) {
	u := site.Canonical("http://h/a")
	bad := errors.New("damaged")
	for name, from := range map[string]*records{
		"record":   {known: 1, stored: []*record.Resource{{ID: 1, URL: u}}},
		"target":   {known: 1, stored: []*record.Resource{{URL: u, Target: 2}}},
		"referrer": {known: 1, done: []*record.Resource{{URL: u, Referrer: 2}}},
		"journal":  {known: 1, news: map[uint32]string{1: "http://h/b"}},
	} {
		_, err := New().Settled().Fill(Loading{
			From: from,
			Bad:  func(err error) error { return errors.Join(bad, err) },
		})
		if !errors.Is(err, bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
