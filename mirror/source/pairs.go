// SPDX-License-Identifier: Apache-2.0

package source

import (
	"time"

	"mirrord/replica/hosts"
	"mirrord/store/shared"
)

// PairFacts keeps the results of testing two base URLs for being replicas. Its methods may be called from
// several goroutines.
type PairFacts interface {
	// SavePair keeps the result of a test, instead of an earlier one of the same URLs in the same order.
	SavePair(shared.PairRecord) error
	// LoadPair returns the last test of two base URLs in this order; ok is false when there was none.
	LoadPair(base1, base2 string) (p shared.PairRecord, ok bool, err error)
	// Pairs lists all that were tested, by base URLs.
	Pairs() ([]shared.PairRecord, error)
}

// renewAfter is the age of a test of a replica at which a complete run makes another one; it is valid for
// hosts.TestedFor.
const renewAfter = 10 * 24 * time.Hour

// PairOf makes a record of a verdict on two base URLs.
func PairOf(v *hosts.PairVerdict, base1, base2 string, tested time.Time) shared.PairRecord {
	return shared.PairRecord{
		Base1:     base1,
		Base2:     base2,
		Tested:    tested.UTC().Truncate(time.Second),
		Level:     v.Level.String(),
		Mirrors:   v.Level.Mirrors(),
		Confident: v.Confident,
		Equal:     v.Interchangeable(),
		Good:      v.Good,
		Answered:  v.Answered,
		Tests:     len(v.Tests),
		SoftPages: v.Soft,
		Alias:     v.Alias,
		RootOnly:  v.RootOnly,
		SamePaths: v.Equal(),
	}
}

// KeepPair keeps the result of a test. One without a decision, because too few requests were answered, does
// not replace a decision that is still valid.
func KeepPair(st PairFacts, p shared.PairRecord) error {
	if !isDecided(&p) {
		old, ok, err := st.LoadPair(p.Base1, p.Base2)
		valid := ok && isDecided(&old) && p.Tested.Sub(old.Tested).Abs() <= hosts.TestedFor
		if err != nil || valid {
			return err
		}
	}
	return st.SavePair(p)
}

// isDecided reports whether a test came to a decision.
func isDecided(p *shared.PairRecord) bool {
	return p.Mirrors || p.Level == hosts.Mismatch.String()
}

// isValid reports whether a test came to a decision and is not older than age, nor of a clock that was ahead
// by more than that.
func isValid(p *shared.PairRecord, now time.Time, age time.Duration) bool {
	return now.Sub(p.Tested).Abs() <= age && isDecided(p)
}
