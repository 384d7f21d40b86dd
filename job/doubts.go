// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// doubts records valid settings that are very likely not meant. A file with doubts is in force.
func (p *parser) doubts() {
	for _, k := range []struct {
		name  string
		globs []string
	}{
		{"scope.include", p.job.Scope.Include},
		{"scope.exclude", p.job.Scope.Exclude},
	} {
		for _, g := range k.globs {
			if parts := strings.Split(g, ", "); len(parts) > 1 {
				p.warn(k.name, fmt.Sprintf("%q is one glob, with a comma in it", g),
					fmt.Sprintf(`write a list: ["%s"]`, strings.Join(parts, `", "`)))
			} else if looksLikeRegexp(g) {
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
	for _, raw := range p.job.URLs {
		if strings.Contains(raw, "*") {
			p.warn("url", fmt.Sprintf("url %q: the * is a part of the address here", raw),
				"a url is where the mirror begins; [scope] says what belongs to it")
		}
	}
	p.doubtFiles()
}

// doubtFiles records names of files that depend on where the daemon was started.
func (p *parser) doubtFiles() {
	for _, f := range [][2]string{
		{"auth.password_file", p.job.Auth.Password.File},
		{"auth.proxy_password_file", p.job.Auth.ProxyPassword.File},
		{"auth.cookies_file", p.job.Auth.CookiesFile},
		{"tls.ca_file", p.job.TLS.CAFile},
	} {
		switch key, path := f[0], f[1]; {
		case (path == "") || strings.HasPrefix(path, "/"):
		case path[0] == '$' || path[0] == '~':
			p.warn(key, fmt.Sprintf("no shell reads the path %q, and it is taken as it stands", path),
				"write an absolute path")
		default:
			p.warn(key, fmt.Sprintf("the path %q depends on the working directory of the daemon", path),
				"write an absolute path")
		}
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
// clock; "" when some start of a month is in the window, or the job has none.
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
