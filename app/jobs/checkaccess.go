// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/internal/regular"
	"mirrord/job"
)

// daemonEyes is what the daemon of a state sees of the machine: with its rights, its environment and its
// mounts, as far as the caller may know these.
type daemonEyes struct {
	user      env.FileOwner
	root      string // its root directory, for a look at its mounts; "" when no daemon runs
	lookupEnv func(string) (string, bool)
	ownEnv    bool // lookupEnv is the caller's: the environment of the daemon is not known
}

// eyesOf returns what the daemon of the state sees, or would see when it were started.
func eyesOf(a *env.App) daemonEyes {
	e := daemonEyes{user: a.StateOwner(), lookupEnv: a.LookupEnv, ownEnv: true}
	if e.lookupEnv == nil {
		e.lookupEnv = func(string) (string, bool) { return "", false }
	}
	dir, err := a.State()
	if err != nil {
		return e
	}
	by, ok, err := env.DaemonOf(dir)
	if !ok || err != nil || by.PID == os.Getpid() {
		return e
	}
	proc := fmt.Sprintf("/proc/%d", by.PID)
	if data, err := regular.ReadSmall(proc + "/environ"); err == nil {
		env := map[string]string{}
		for line := range strings.SplitSeq(string(data), "\x00") {
			if k, v, ok := strings.Cut(line, "="); ok {
				env[k] = v
			}
		}
		e.lookupEnv = func(k string) (string, bool) { v, ok := env[k]; return v, ok }
		e.ownEnv = false
	}
	e.root = proc + "/root"
	return e
}

// named is a value of a job and the key that has it.
type namedPath struct{ key, path string }

// needs returns the files and variables that a run of the job reads, by key.
func needs(j *job.Job) (files, vars []namedPath) {
	_, _, proxyPassword := j.ProxyServer()
	secrets := map[string]job.Secret{
		"auth.password_file":       j.Auth.Password,
		"auth.proxy_password_file": proxyPassword,
		"notify.webhook":           j.Notify.Webhook,
		"notify.webhook_key":       j.Notify.WebhookKey,
	}
	for name, s := range j.Auth.Headers {
		secrets["auth.headers."+name] = s
	}
	for _, key := range slices.Sorted(maps.Keys(secrets)) {
		switch s := secrets[key]; {
		case s.Env != "":
			if key = strings.TrimSuffix(key, "_file"); key == "auth.proxy_password" {
				key = "proxy"
			}
			vars = append(vars, namedPath{key, s.Env})
		case s.File != "":
			files = append(files, namedPath{key, s.File})
		}
	}
	for _, f := range []namedPath{
		{"auth.cookies_file", j.Auth.CookiesFile},
		{"tls.ca_file", j.TLS.CAFile},
	} {
		if f.path != "" {
			files = append(files, f)
		}
	}
	return files, vars
}

// accessWarnings says what a run of the job will not get at, each with what to do.
func (e daemonEyes) accessWarnings(j *job.Job) (lines []string) {
	files, vars := needs(j)
	for _, v := range vars {
		if s, ok := e.lookupEnv(v.path); ok && s != "" {
			continue
		}
		where := "in the environment of the daemon"
		if e.ownEnv {
			where = "here"
		}
		lines = append(lines, fmt.Sprintf("%s: environment variable %s is not set %s; set it where the daemon is "+
			"started, such as /etc/default/mirrord, and restart it", v.key, v.path, where))
	}
	dir := filepath.Dir(filepath.Clean(j.Publish.Dir))
	if j.Publish.Dir != "" && e.root != "" && env.ReadOnlyAt(e.root+dir) {
		lines = append(lines, fmt.Sprintf(
			"publish.dir: %s is read-only for the daemon; with systemd: sudo systemctl edit mirrord, and [Service] "+
				"ReadWritePaths=%s", dir, dir))
	}
	look := func() {
		for _, f := range files {
			if line := e.fileWarning(f); line != "" {
				lines = append(lines, line)
			}
		}
		hooks := j.Hooks.Commands()
		for _, key := range slices.Sorted(maps.Keys(hooks)) {
			if line := e.hookWarning(namedPath{key, hooks[key][0]}); line != "" {
				lines = append(lines, line)
			}
		}
		if line := e.publishWarning(j.Publish.Dir); line != "" {
			lines = append(lines, line)
		}
	}
	if err := env.AsUser(e.user, look); err != nil {
		lines = append(lines, err.Error())
	}
	return lines
}

// fileWarning says why a file cannot be used, "" when it can.
func (e daemonEyes) fileWarning(f namedPath) string {
	data, err := regular.ReadSmall(f.path)
	cause := err
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		cause = p.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s: there is no file %s; make it, readable by user %s", f.key, f.path, e.user)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%s: user %s may not read %s; give it the file (chown %s), or a group of it (chmod g+r)",
			f.key, e.user, f.path, e.user)
	case err != nil:
		return fmt.Sprintf("%s: %s cannot be read: %v; name an ordinary file", f.key, f.path, cause)
	case strings.TrimSpace(string(data)) == "":
		return fmt.Sprintf("%s: file %s is empty; write the value into it", f.key, f.path)
	case f.key == "tls.ca_file" && !x509.NewCertPool().AppendCertsFromPEM(data):
		return fmt.Sprintf("%s: %s holds no certificate in PEM form; put the authority's certificate there",
			f.key, f.path)
	}
	return ""
}

// hookWarning says why a program cannot be run, "" when it can.
func (e daemonEyes) hookWarning(f namedPath) string {
	fi, err := os.Stat(f.path)
	if err == nil && !fi.Mode().IsRegular() {
		return fmt.Sprintf("%s: %s is no program; name an ordinary file", f.key, f.path)
	}
	if err == nil {
		err = env.MayRun(f.path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s: there is no program %s; the runs of the job report it and continue", f.key, f.path)
	case err != nil:
		return fmt.Sprintf("%s: user %s may not run %s; allow it (chmod a+rx)", f.key, e.user, f.path)
	}
	return ""
}

// publishWarning says why publish.dir cannot be made or moved, "" when it can.
func (e daemonEyes) publishWarning(link string) string {
	if link == "" {
		return ""
	}
	link = filepath.Clean(link)
	dir := filepath.Dir(link)
	if fi, err := os.Lstat(link); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
		return files.NotALink(link).Error()
	}
	err := env.MayWrite(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("publish.dir: there is no directory %s; make it and give it to user %s", dir, e.user)
	case err != nil:
		return fmt.Sprintf("publish.dir: user %s may not write into %s; give it the directory (chown %s %s)",
			e.user, dir, e.user, dir)
	}
	return ""
}
