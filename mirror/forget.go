// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"log/slog"

	"mirrord/mirror/scope"
	"mirrord/mirror/takedown"
	"mirrord/store"
)

// What was taken out of a mirror for good, as packages scope and takedown have it.
type (
	TakeDown  = scope.TakeDown
	TakeDowns = scope.TakeDowns
	Sought    = takedown.Sought
	// TakeDownWork is the rest of the work of take-downs.
	TakeDownWork = scope.TakeDownWork
)

// The rest of the work of take-downs.
const (
	EraseLeft  = scope.EraseLeft
	SharedLeft = scope.SharedLeft
)

// Forgotten returns what was taken out of a mirror, from the facts of its site.
func Forgotten(facts scope.KeptFacts) (*TakeDowns, error) { return scope.TakeDownsOf(facts) }

// FindToForget finds what a take-down takes out of a mirror.
func FindToForget(s *store.Site, d TakeDown) (*Sought, error) { return takedown.Find(s, d) }

// Forget notes that something is to be taken out of a mirror: it is no longer requested. FinishForgetting
// takes it out. No run may be under way.
func Forget(s *store.Site, what ...TakeDown) error { return takedown.Begin(s, what) }

// FinishForgetting takes out of a mirror what Forget kept, also what an earlier process began. It returns
// what cannot be read and may hold something of it. Bodies that sites share are collected by
// store.State.CollectBlobs; SharedForgotten notes that.
func FinishForgetting(
	ctx context.Context, st *store.State, s *store.Site, log *slog.Logger,
) (left []string, err error) {
	return takedown.Finish(ctx, st, s, log)
}

// SharedForgotten notes that the bodies that sites share were collected since FinishForgetting.
func SharedForgotten(s *store.Site) error { return takedown.SharedDone(s) }

// AllowAgain lets something be mirrored again that was taken down. The next run requests everything.
func AllowAgain(s *store.Site, what string) (was bool, err error) { return takedown.Allow(s, what) }
