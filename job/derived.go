// SPDX-License-Identifier: Apache-2.0

package job

import "time"

// maxURLLength is how long a URL can be at most, in bytes.
const maxURLLength = 32000

// setTraps sets the limits that Traps stands for.
func (l *Limits) setTraps() {
	switch l.Traps {
	case "strict":
		l.MaxRepeats, l.MaxStale, l.MaxURLLength = 2, 16, 1024
	case "off":
		l.MaxRepeats, l.MaxStale, l.MaxURLLength = 0, 0, maxURLLength
	default:
		l.MaxRepeats, l.MaxStale, l.MaxURLLength = 3, MaxStale, 2048
	}
}

// setTimeout sets the other times of an exchange by the one for the header.
func (p *Polite) setTimeout() {
	p.IdleTimeout = p.HeaderTimeout
	p.ConnectTimeout = max(time.Millisecond, min(p.HeaderTimeout/3, time.Minute))
}
