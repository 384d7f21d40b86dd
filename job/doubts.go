// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// doubts records what is valid and very likely not what its author wants. A file with doubts is in force.
func (p *parser) doubts() {
	for _, k := range []struct {
		name  string
		globs []string
	}{
		{"scope.include", p.job.Scope.Include},
		{"scope.exclude", p.job.Scope.Exclude},
	} {
		for _, g := range k.globs {
			if looksLikeRegexp(g) {
				p.warn(k.name, fmt.Sprintf("glob %q looks like a regular expression", g), regexpHint)
			} else if k.name == "scope.exclude" && len(g) > 1 && strings.HasPrefix(g, "/") &&
				strings.HasSuffix(g, "/") && !strings.Contains(g, "*") {
				p.warn(k.name, fmt.Sprintf("glob %q excludes this one page", g),
					fmt.Sprintf("the whole directory is %q", g+"**"))
			}
		}
	}
	if start, opens := outsideWindow(p.job); start != "" {
		p.warn("schedule", fmt.Sprintf("schedule %q starts at %s, outside of window %q; every run waits until %s",
			p.job.Schedule, start, p.job.Window, opens), "move one of them if that is not meant")
	}
	if f := p.job.TLS.CAFile; f != "" && !strings.HasPrefix(f, "/") {
		p.warn("tls.ca_file", fmt.Sprintf("the path %q depends on the working directory of the daemon", f),
			"write an absolute path")
	}
}

const regexpHint = `in a glob * is any name and ** any path: "*.iso", "/ftp/**"`

// looksLikeRegexp reports whether a glob has what only regular expressions use. Some of these characters may
// stand in a path.
func looksLikeRegexp(glob string) bool {
	return regexp.MustCompile(`^\^|\$$|(^|/)\.[*+]|\\[.dws/]|\(.*\|.*\)|\[\^|\(\?`).MatchString(glob) &&
		!regexp.MustCompile(`^(\*\*/)?\.\*$`).MatchString(glob) // names that begin with a dot
}

// outsideWindow returns when the job starts first and when it then may make its first request, by its own
// clock; "" when some start of a month lies in the window, or when there is none.
func outsideWindow(j *Job) (start, opens string) {
	w, err := ParseWindow(j.Window)
	s, serr := ParseSchedule(j.Schedule)
	if err != nil || serr != nil || len(w) == 0 || s.Cron == nil {
		return "", ""
	}
	// Schedule and window go by the same clock, so that any zone will do.
	first := s.Cron.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Second))
	for at := first; at.Sub(first) < 31*24*time.Hour && !at.IsZero(); at = s.Cron.Next(at) {
		if w.Open(at) {
			return "", ""
		}
	}
	return first.Format("15:04"), w.Change(first).Format("15:04")
}
