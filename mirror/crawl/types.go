// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"mirrord/mirror/frontier"
	"mirrord/mirror/parse"
	"mirrord/mirror/run"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/store/record"
)

// noteLeads notes where the entry points led when they were last requested: of any type, it belongs to
// the mirror.
func noteLeads(s *run.Session) {
	if s.Rules.Types == nil {
		return
	}
	for id := range s.Table.Settled().Leads(s.Rules.Seeds) {
		s.Traits.Note(id, urls.IsLead)
	}
}

// refusedNow says why the rules of the job refuse what the mirror has of a URL; "" when they do not.
func refusedNow(s *run.Session, rec *record.Resource, is urls.State) string {
	if ok, reason := s.Rules.Allow(rec.URL, frontier.PurposeOf(is)); !ok {
		return reason
	}
	if !is.InSet() || s.Traits.Is(rec.ID, urls.IsLead) {
		return ""
	}
	mime := parse.TypeOf(rec.MIME, relocate.Format(rec.Format))
	why, _ := s.Rules.Types.Refuses(mime, rec.URL, is.Requisite())
	return why
}
