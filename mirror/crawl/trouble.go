// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"errors"
	"fmt"
	"time"

	"mirrord/mirror/frontier"
	"mirrord/mirror/run"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// hostWaits are the hosts that asked to be left alone for longer than a run waits, each with the time until
// which they are, in Unix seconds. Only the runs of one process share their politeness.
type hostWaits map[string]int64

// hostsFact is where a site keeps them.
const hostsFact = "waiting hosts"

// note takes in what a run learned. Ended waits are forgotten.
func (w *hostWaits) note(waits map[string]time.Time, now time.Time) {
	next := hostWaits{}
	for host, at := range *w {
		if at > now.Unix() {
			next[host] = at
		}
	}
	for host, until := range waits {
		next[host] = until.Unix()
	}
	*w = next
}

// loadHostErrors reads what earlier runs knew of troubles of URLs and origins that outlive a run. Without
// that more is requested, and nothing is lost.
func loadHostErrors(s *run.Session, hosts *hostWaits) (err error) {
	*hosts, _, err = urls.ReadFact[hostWaits](s.Site.Notes, hostsFact)
	return errors.Join(err, s.Waits.Load(s.Site.Notes), s.Silent.Load(s.Site.Notes))
}

// owed returns what reports whether a known URL is requested regardless of the plan.
func owed(s *run.Session) func(id uint32) bool {
	now, probes := s.Now(), s.Silent.AnyProbed(s.Run.Number)
	return func(id uint32) bool {
		if s.Provenance.Owed(id) || s.Waits.Due(id, now) {
			return true
		}
		if !probes {
			return false
		}
		turn, _ := s.Silent.Turn(s.Table.URL(id).Origin(), s.Run.Number)
		return turn == urls.OriginProbed
	}
}

// saveHostErrors keeps the troubles for the next run. whole says that the run was not cut short; when an
// entry point does not answer either, the network may be down, and no origin is to blame.
func saveHostErrors(s *run.Session, hosts *hostWaits, t *frontier.HostErrors, whole bool) error {
	if whole && len(t.DownEntries()) == 0 {
		s.Silent.EndRun(s.Run.Number, s.Now().Unix(), t.MuteOrigins(), t.HasAnswered)
	}
	const what = "servers without an answer in %d runs or more: only every %dth run requests them"
	for _, origin := range s.Silent.WrittenOff() {
		if u, _, err := site.Parse(origin + "/"); err == nil {
			s.Notes.Add(fmt.Sprintf(what, urls.WrittenOffAfter, urls.WrittenOffRuns), u)
		}
	}
	hosts.note(t.HostWaits(), s.Now())
	return errors.Join(s.Silent.Keep(s.Site.Notes), s.Waits.Keep(s.Site.Notes),
		urls.WriteFact(s.Site.Notes, hostsFact, hosts))
}
