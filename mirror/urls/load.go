// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"fmt"

	"mirrord/store/record"
)

// Stored is what a site knows of its URLs. *facts.Records is one.
type Stored interface {
	// Known is how many numbers URLs have.
	Known() (uint32, error)
	// Resources calls f for the record of each URL that has one. A record is valid during the call.
	Resources(f func(rec *record.Resource) error) error
	// Replay calls newURL and done for what the journal of an unfinished run has, in the order in which it
	// came.
	Replay(
		newURL func(id uint32, u record.NewURL) error,
		done func(rec *record.Resource, targets []byte, linked bool) error,
	) error
}

// Loading says what a table is filled from, and for which run.
type Loading struct {
	From Stored
	Run  Run
	Bad  func(error) error // makes an error of damage of a bad record
	// gets each record, of one URL the latest last; may be nil
	Visit func(rec *record.Resource, answered bool)
}

// Fill fills an empty table from the stored records, and returns what the mirror takes. answered says of a
// record that Visit gets whether it is an outcome of this run.
func (t Settled) Fill(l Loading) (room Room, err error) {
	n, err := l.From.Known()
	if err != nil {
		return room, err
	}
	t.Reserve(n)
	put := func(rec *record.Resource) error {
		if rec.ID >= n || rec.Target > n || rec.Referrer > n {
			return l.Bad(fmt.Errorf("record of %s: it names a number that no URL has", rec.URL))
		}
		was, answered := t.Load(rec, l.Run)
		if rec.InSet && !was {
			room = room.Add(RoomOf(rec))
		} else if was && !rec.InSet {
			room = room.Add(RoomOf(rec).Neg())
		}
		if l.Visit != nil {
			l.Visit(rec, answered)
		}
		return nil
	}
	if err := l.From.Resources(put); err != nil {
		return room, err
	}
	err = l.From.Replay(func(id uint32, u record.NewURL) error {
		if id >= n || u.Referrer > n {
			return l.Bad(fmt.Errorf("journal: %s: it names a number that no URL has", u.URL))
		}
		t.LoadNew(id, u.URL, Referral{From: u.Referrer, Depth: u.Depth, Requisite: u.Requis})
		return nil
	}, func(rec *record.Resource, _ []byte, _ bool) error { return put(rec) })
	return room, err
}
