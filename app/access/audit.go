// SPDX-License-Identifier: Apache-2.0

package access

import (
	"log/slog"
	"strings"

	"mirrord/store/shared"
)

// AuditLog keeps who did what. shared.ConsoleFacts has it.
type AuditLog interface {
	AddAudit(shared.AuditEntry) error
}

// Record writes an entry of the audit log, there and in the daemon's log under the name of the door that it
// came by. err is what became of the act.
func Record(log *slog.Logger, door string, to AuditLog, e shared.AuditEntry, err error) {
	e.What, e.About = Clip(e.What), Clip(e.About)
	if err != nil {
		e.Error = Clip(err.Error())
	}
	log.Info(door, "who", e.Who, "from", e.From, "what", e.What, "job", e.Job, "about", e.About, "err", e.Error)
	if err := to.AddAudit(e); err != nil {
		log.Error("the audit log was not written", "err", err)
	}
}

// Clip cuts a text that anybody may have sent to 500 characters of valid UTF-8.
func Clip(s string) string {
	const longest = 500
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return strings.ToValidUTF8(s, "?")
}
