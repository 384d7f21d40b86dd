// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"sync/atomic"
	"time"

	"mirrord/fetch"
	"mirrord/testing/storetest"
)

// TwoPeers are what two daemons of a cluster ask: one owner of all sites, and hosts that a test gives out.
type TwoPeers struct {
	*storetest.Owner
	Has atomic.Pointer[map[string]bool]
}

func (p *TwoPeers) Want(map[string]string, []string, string) {}

func (p *TwoPeers) Changed() <-chan struct{} { return nil }

func (p *TwoPeers) Done(string, fetch.Observation) {}

func (p *TwoPeers) Turn(string, fetch.Politeness, time.Time) (again time.Time) {
	return again
}

func (p *TwoPeers) Shared() map[string]bool {
	if has := p.Has.Load(); has != nil {
		return *has
	}
	return nil
}
