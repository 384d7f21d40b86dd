// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"mirrord/fetch"
	"mirrord/mirror/frontier"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
)

var _ frontier.SharedTurn = (*scheduler.RunTurn)(nil)

// hostsHeld returns the hosts that runs make requests of, or wait for.
func hostsHeld(hosts []fetch.HostState) []status.HostHeld {
	var out []status.HostHeld
	for _, h := range hosts {
		if len(h.Jobs) == 0 {
			continue
		}
		out = append(out, status.HostHeld{
			Host:     h.Host,
			Jobs:     h.Jobs,
			Waiting:  h.Waiting,
			Requests: h.InFlight,
			Next:     h.Next,
		})
	}
	return out
}
