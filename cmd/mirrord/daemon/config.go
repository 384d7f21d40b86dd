// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/regular"
	"mirrord/job"
)

// configName is the name of the daemon's cli.Settings, beside the jobs directory.
const configName = "daemon.toml"

// settings are the keys of daemon.toml, in the order of the reference.
func (f *daemonFlags) settings() []cli.DaemonKey { return cli.DaemonKeys(f.flags()) }

// shownFlags are the flags of daemon that its help has; all others work, and are keys of daemon.toml.
func shownFlags() []string { return []string{"config", "listen", "console", "cluster"} }

// configPath is where the settings are; named: --config says so.
func (f *daemonFlags) configPath(a *cli.CLI) (name string, named bool) {
	if f.config != "" {
		return f.config, true
	}
	return filepath.Join(filepath.Dir(filepath.Clean(a.JobsDir())), configName), false
}

// configured returns the flags with what daemon.toml says where the command line says nothing.
func (f daemonFlags) configured(a *cli.CLI, given *pflag.FlagSet) (daemonFlags, error) {
	out, none := f, defaultDaemonFlags()
	rows, defaults := out.settings(), none.settings()
	var keys []job.Key
	for i, s := range rows {
		field := s.Field
		if given.Changed(s.Flag) { // checked, and not used
			field = reflect.New(reflect.TypeOf(s.Field).Elem()).Interface()
		} else {
			reflect.ValueOf(s.Field).Elem().Set(reflect.ValueOf(defaults[i].Field).Elem())
		}
		if s.Name != "" {
			keys = append(keys, s.To(field))
		}
	}
	name, named := f.configPath(a)
	data, err := regular.Read(name, job.MaxFile)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return out, nil
	}
	if err != nil {
		return f, env.Usagef("--config: %w", err)
	}
	if err := job.ReadKeys(name, data, keys); err != nil {
		return f, env.Usagef("%w", err)
	}
	return out, nil
}

// warnOldFlags says of each old flag of the command line what replaces it.
func (f *daemonFlags) warnOldFlags(a *cli.CLI, given *pflag.FlagSet, log *slog.Logger) {
	name, _ := f.configPath(a)
	for _, s := range f.settings() {
		switch flag := given.Lookup(s.Flag); {
		case s.Stays || flag == nil || !flag.Changed || !flag.Hidden:
		case s.Name == "":
			log.Warn("old flag: it works, and is no longer needed", "flag", "--"+s.Flag)
		default:
			log.Warn("old flag: it works; write the key", "flag", "--"+s.Flag, "key", s.Name, "file", name)
		}
	}
}

// changedFrom returns the keys in which two settings differ: those that a reload puts in force, and others.
func (f *daemonFlags) changedFrom(old *daemonFlags) (live, others []string) {
	was := old.settings()
	for i, s := range f.settings() {
		switch {
		case reflect.DeepEqual(s.Field, was[i].Field):
		case s.Live:
			live = append(live, s.Name)
		default:
			others = append(others, s.Name)
		}
	}
	return live, others
}

// rereads returns what reads the settings again and puts in force what can be.
func (f daemonFlags) rereads(
	a *cli.CLI, given *pflag.FlagSet, log *slog.Logger, use func(daemonFlags) error,
) func() error {
	now := f
	var mu sync.Mutex
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		next, err := now.configured(a, given)
		if err != nil {
			return err
		}
		if _, err = next.console.trusted(); err != nil {
			return err
		}
		live, waiting := next.changedFrom(&now)
		if len(live) > 0 {
			if err := use(next); err != nil {
				return err
			}
			log.Info("settings in force", "keys", strings.Join(live, " "))
		}
		if len(waiting) > 0 { // no warning: that is left out when it comes again
			log.Info("settings take effect when the daemon starts again", "keys", strings.Join(waiting, " "))
		}
		now = next
		return nil
	}
}
