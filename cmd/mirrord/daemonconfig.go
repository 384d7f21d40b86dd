// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mirrord/app/env"
	"mirrord/internal/regular"
	"mirrord/job"
)

// configName is the name of the daemon's settings, beside the jobs directory.
const configName = "daemon.toml"

// setting is a key of daemon.toml and the flag that sets the same. Without a key the flag is all there is,
// and nobody needs it.
type setting struct {
	job.Key
	flag  string
	field any  // pointer into daemonFlags
	live  bool // a reload puts it in force
	stays bool // the flag is as good as the key: what nodes start with differs
}

// settings are the keys of daemon.toml, in the order of the reference.
func (f *daemonFlags) settings() []setting {
	row := func(flag, name, typ, example, doc string, field any) setting {
		return setting{
			Key: job.Key{
				Name:    name,
				Type:    typ,
				Example: example,
				Doc:     doc,
			},
			flag:  flag,
			field: field,
		}
	}
	live := func(s setting) setting {
		s.live = true
		return s
	}
	c := &f.console
	return append([]setting{
		row("listen", "listen", "address", `"127.0.0.1:9180"`,
			"Address of status page, metrics and health checks.", &f.listen),
		row("listen-host", "listen_hosts", "list of hosts", `["status.example.org"]`,
			"Further names under which that page is reached.", &f.listenHosts),
		row("socket", "socket", "path", `"/run/mirrord/mirrord.sock"`, "The control socket.", &f.socket),
		row("socket-mode", "socket_mode", "text", `"0600"`, "File mode of the control socket.", &f.mode),
		row("log", "log", "text", `"json"`, "Form of the log: text, json or journal.", &f.log),
		live(row("host", "host", "text", `"mirror1"`, "Name of this machine in messages.", &f.host)),
		row("max-runs", "max_runs", "number", "8", "Most runs that work concurrently.", &f.maxRuns),
		row("max-parked", "max_parked", "number", "64", "Runs besides that wait. 0: 4 times max_runs.", &f.maxParked),
		live(row("max-state", "max_state", "size", `"2TB"`, "Most bytes of all mirrors together. 0 is no limit.",
			&f.maxState)),
		row("space", "space", "name", `"library"`, "Space of the jobs that name none.", &f.space),
		row("gc", "gc", "duration", `"12h"`, "Time between two garbage collections. 0: never.", &f.gc),
		row("scrub", "scrub", "duration", `"90d"`, "Time in which all stored bytes are read once. 0: never.", &f.scrub),
		row("mirrorz", "mirrorz", "path", `"/etc/mirrord/mirrorz.json"`, "File with the site's part of mirrorz.json.",
			&f.mirrorz),

		live(row("mail", "mail.via", "text", `"smtp://localhost"`,
			"How mail leaves: the path of a sendmail, or smtp://[USER@]HOST[:PORT].", &f.mail)),
		live(row("mail-from", "mail.from", "address", `"mirrord@example.org"`, "Sender of mail.", &f.from)),

		row("console", "console.listen", "address", `"127.0.0.1:9181"`, `Address of the console; "off": never.`,
			&c.listen),
		row("console-host", "console.hosts", "list of hosts", `["mirror.example.org"]`,
			"Further names under which the console is reached.", &c.hosts),
		row("console-proxy", "console.proxy", "text", `"127.0.0.1=X-Remote-User"`,
			"ADDRESS[=HEADER] of a proxy that logs users in.", &c.proxy),
		row("console-operator", "console.operators", "list of texts", `["ada=operate"]`, "USER[=ROLE] of that proxy.",
			&c.operators),
		row("console-tls", "console.tls", "text", `"/etc/mirrord/cert.pem,/etc/mirrord/key.pem"`,
			"CERT,KEY: files of a certificate and its key.", &c.tls),
		row("console-oidc", "console.oidc", "path", `"/etc/mirrord/oidc.toml"`, "File of an OpenID login.", &c.oidc),
		row("console-mirrors", "console.mirrors", "URL", `"http://127.0.0.1:8080"`, "URL of mirrord serve.", &c.mirrors),

		row("spread", "", "duration", "", "", &f.spread),
		row("poll", "", "duration", "", "", &f.poll),
		row("stop-within", "", "duration", "", "", &f.within),
	}, f.node.settings()...)
}

// settings are the keys about a cluster.
func (n *nodeFlags) settings() []setting {
	row := func(flag, name, typ, example, doc string, field any) setting {
		return setting{
			Key: job.Key{
				Name:    name,
				Type:    typ,
				Example: example,
				Doc:     doc,
			},
			flag:  flag,
			field: field,
			stays: true,
		}
	}
	return []setting{
		row("cluster", "cluster.servers", "list of URLs", `["nats://a:4222"]`, "The keepers of the cluster.", &n.servers),
		row("cluster-secret", "cluster.secret_file", "path", `"/etc/mirrord/secret"`, "File with the cluster's secret.",
			&n.secret),
		row("cluster-ca", "cluster.ca_file", "path", `"/etc/mirrord/ca.pem"`, "Who signs for its keepers.", &n.ca),
		row("node", "cluster.node", "name", `"a"`, "Name of this machine there.", &n.name),
		row("jobs-source", "cluster.jobs_source", "true or false", "true", "The job files here are the cluster's.",
			&n.source),
		row("follow", "cluster.follow", "true or false", "true", "Have all mirrors of the depot, to read.", &n.follow),
		row("depot", "cluster.depot", "address", `"s3://bucket/prefix"`, "Where sites are between runs.", &n.depot),
		row("depot-on-demand", "cluster.depot_on_demand", "true or false", "true", "Fetch older versions when read.",
			&n.onDemand),
		row("depot-gc", "cluster.depot_gc", "duration", `"14d"`, "Time between two collections of it. 0: never.",
			&n.depotGC),
		row("keepers", "cluster.keepers", "number", "3", "How many keepers the cluster has.", &n.keepers),
		row("keeper", "cluster.keeper", "address", `"10.0.0.1:4222"`, "Be a keeper at this address.", &n.keeper.listen),
		row("keeper-routes", "cluster.keeper_routes", "address", `"10.0.0.1:6222"`, "Address for other keepers.",
			&n.keeper.routes),
		row("join", "cluster.join", "list of addresses", `["10.0.0.2:6222"]`, "Such addresses of others.",
			&n.keeper.peers),
		row("keeper-cert", "cluster.keeper_cert", "path", `"/etc/mirrord/cert.pem"`, "Its certificate.", &n.keeper.cert),
		row("keeper-key", "cluster.keeper_key", "path", `"/etc/mirrord/key.pem"`, "The key of that.", &n.keeper.key),
	}
}

// shownFlags are the flags of daemon that its help has; all others work, and are keys of daemon.toml.
func shownFlags() []string { return []string{"config", "listen", "console", "cluster"} }

// configPath is where the settings are; named: --config says so.
func (f *daemonFlags) configPath(a *cli) (name string, named bool) {
	if f.config != "" {
		return f.config, true
	}
	return filepath.Join(filepath.Dir(filepath.Clean(a.jobsDir())), configName), false
}

// configured returns the flags with what daemon.toml says where the command line says nothing.
func (f daemonFlags) configured(a *cli, given *pflag.FlagSet) (daemonFlags, error) {
	out, none := f, defaultDaemonFlags()
	rows, defaults := out.settings(), none.settings()
	var keys []job.Key
	for i, s := range rows {
		field := s.field
		if given.Changed(s.flag) { // checked, and not used
			field = reflect.New(reflect.TypeOf(s.field).Elem()).Interface()
		} else {
			reflect.ValueOf(s.field).Elem().Set(reflect.ValueOf(defaults[i].field).Elem())
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
func (f *daemonFlags) warnOldFlags(a *cli, given *pflag.FlagSet, log *slog.Logger) {
	name, _ := f.configPath(a)
	for _, s := range f.settings() {
		switch flag := given.Lookup(s.flag); {
		case s.stays || flag == nil || !flag.Changed || !flag.Hidden:
		case s.Name == "":
			log.Warn("old flag: it works, and is no longer needed", "flag", "--"+s.flag)
		default:
			log.Warn("old flag: it works; write the key", "flag", "--"+s.flag, "key", s.Name, "file", name)
		}
	}
}

// changedFrom returns the keys in which two settings differ: those that a reload puts in force, and others.
func (f *daemonFlags) changedFrom(old *daemonFlags) (live, others []string) {
	was := old.settings()
	for i, s := range f.settings() {
		switch {
		case reflect.DeepEqual(s.field, was[i].field):
		case s.live:
			live = append(live, s.Name)
		default:
			others = append(others, s.Name)
		}
	}
	return live, others
}

// rereads returns what reads the settings again and puts in force what can be.
func (f daemonFlags) rereads(
	a *cli, given *pflag.FlagSet, log *slog.Logger, use func(daemonFlags) error,
) func() error {
	now := f
	return func() error {
		next, err := now.configured(a, given)
		if err != nil {
			return err
		}
		if _, err = next.console.trusted(); err != nil {
			return err
		}
		live, others := next.changedFrom(&now)
		if len(live) > 0 {
			if err := use(next); err != nil {
				return err
			}
			log.Info("settings in force", "keys", strings.Join(live, " "))
		}
		if len(others) > 0 {
			log.Warn("settings take effect when the daemon starts again", "keys", strings.Join(others, " "))
		}
		now = next
		return nil
	}
}

// durationFlag adds a flag of a time in the units of job files.
func durationFlag(cmd *cobra.Command, to *time.Duration, name, usage string) {
	cmd.Flags().Func(name, usage, func(s string) (err error) {
		*to, err = job.ParseDuration(s)
		return err
	})
}

// sizeFlag adds a flag of a size in the units of job files.
func sizeFlag(cmd *cobra.Command, to *job.Size, name, usage string) {
	cmd.Flags().Func(name, usage, func(s string) (err error) {
		if *to, err = job.ParseSize(s); err != nil {
			return fmt.Errorf("size: %w", err)
		}
		return nil
	})
}
