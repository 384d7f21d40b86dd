// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/access"
	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/nodes"
	"mirrord/app/search"
	"mirrord/app/serving"
	"mirrord/cluster/depot"
	"mirrord/cmd/mirrord/cli"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/serve"
	"mirrord/store"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	listen       string
	opened       net.Listener // takes the place of listen
	base         string
	hosts        []string
	alias, own   map[string]string
	https        bool
	proxy        string // in front, whose X-Forwarded-For is believed
	missing      string // what happens to URLs that are not mirrored
	stay         bool   // an old name of missing=page
	bar          bool
	forward      bool
	gateway      string // order of its sources; "": no gateway
	allowPrivate bool
	depot        string // that is followed; "": mirrors come in another way
	onDemand     bool   // older versions come from there when they are read
}

// The values of --missing.
const (
	missingPage     = "page"
	missingRedirect = "redirect"
)

func ServeCommand(a *cli.CLI) *cobra.Command {
	f := serveFlags{listen: "127.0.0.1:8080", missing: missingPage, bar: true}
	cmd := a.Command("serve", cli.Flags{
		"listen":          &f.listen,
		"base":            &f.base,
		"host":            &f.hosts,
		"alias":           &f.alias,
		"own":             &f.own,
		"https":           &f.https,
		"proxy":           &f.proxy,
		"missing":         &f.missing,
		"stay":            &f.stay,
		"bar":             &f.bar,
		"forward":         &f.forward,
		"gateway":         &f.gateway,
		"depot":           &f.depot,
		"depot-on-demand": &f.onDemand,
		"allow-private":   &f.allowPrivate,
	}, func(cmd *cobra.Command, args []string) error {
		return runServe(cmd.Context(), a, args, f)
	})
	cmd.Flags().Lookup("gateway").NoOptDefVal = "origin,mirror,equivalent"
	return cli.PlainDefaults(cmd, "alias", "own")
}

// options are those of the flags, without the mirrors.
func (f *serveFlags) options(a *cli.CLI) (o serve.Options, err error) {
	o = serve.Options{
		Base:            f.base,
		Hosts:           f.hosts,
		Aliases:         f.alias,
		HTTPS:           f.https,
		RedirectMissing: f.missing == missingRedirect && !f.stay,
		NoBar:           !f.bar,
		Log:             a.Log(),
	}
	if f.proxy != "" {
		if o.Proxies, err = access.ParseProxies(f.proxy); err != nil {
			err = env.Usagef("--proxy: %w", err)
		}
	}
	return o, err
}

func runServe(ctx context.Context, a *cli.CLI, names []string, f serveFlags) error {
	if f.missing != "" && f.missing != missingPage && f.missing != missingRedirect {
		return env.Usagef("--missing: %q is not page or redirect", f.missing)
	}
	if f.depot == "" && env.AreFiles(a.App(), names) { // a depot has names of mirrors
		return serveFiles(ctx, a, names, f)
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, scheduler.Suffix)
		if !job.ValidName(names[i]) {
			return env.Usagef("serve: %q is no file and cannot name a job", name)
		}
	}
	for name := range f.own {
		if !job.ValidName(name) {
			return env.Usagef("--own: %q cannot name a job", name)
		}
	}
	o, err := f.options(a)
	if err != nil {
		return err
	}
	open := a.App().MustState
	if f.depot != "" {
		open = a.App().MakeState
	}
	st, err := open()
	if err != nil {
		return err
	}
	defer st.Close()
	stop, err := f.follow(ctx, a, st, names)
	if err != nil {
		return err
	}
	defer stop()
	kept := &look.KeptVersions{State: st}
	defer kept.Close()
	sites := serve.NewStore(st, kept, nil)
	defer sites.Close()
	for _, name := range names {
		if _, err := sites.Site(name); err != nil {
			return fmt.Errorf("serve %s: %w", name, err)
		}
	}
	o.Sites, o.Texts = sites, search.TextsOf(st)
	if len(names) > 0 {
		o.Only = names
	}
	if h, err := os.Hostname(); err == nil && h != "" {
		o.Hosts = append(o.Hosts, h)
	}
	if f.forward || f.gateway != "" {
		fw, done, err := serving.Forwarding(a.App(), st.PublicNames, f.allowPrivate)
		if err != nil {
			return err
		}
		defer done()
		if f.forward {
			o.Forward = fw
		}
		if f.gateway != "" {
			o.Gateway = serving.GatewayOf(a.App(), st, fw, f.gateway)
		}
	}
	return listenAndServe(ctx, a, o, f)
}

// follow copies the mirrors of a depot until stop is called. Those that are named come first.
func (f *serveFlags) follow(
	ctx context.Context, a *cli.CLI, st *store.State, names []string,
) (stop func(), err error) {
	if f.depot == "" {
		return func() {}, nil
	}
	if _, ok, err := env.DaemonOf(st.Dir); ok || err != nil {
		return nil, errors.Join(err, env.Usagef("--depot: a daemon runs on %s; give the reader a state directory "+
			"of its own, with --state", st.Dir))
	}
	env := a.App()
	r := &nodes.Reader{
		State: st,
		Open: func(ctx context.Context) (*depot.Depot, error) {
			return depots.ReadDepot(ctx, env, f.depot, f.onDemand)
		},
		Log: a.Log(),
	}
	if len(names) > 0 {
		r.Only = map[string]bool{}
		for _, name := range names {
			r.Only[name] = true
		}
		if err := r.Look(ctx); err != nil {
			a.Log().Warn("the depot cannot be read; mirrors are served as they are here", "err", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Follow(ctx)
	}()
	return func() {
		cancel()
		<-done
	}, nil
}

// serveFiles serves archives.
func serveFiles(ctx context.Context, a *cli.CLI, names []string, f serveFlags) (err error) {
	if f.gateway != "" {
		return env.Usagef("serve: --gateway is for mirrors of a state: the registry says what it serves")
	}
	if f.forward {
		return env.Usagef("serve: --forward is for mirrors that have a job: its rules say what may be requested")
	}
	o, err := f.options(a)
	if err != nil {
		return err
	}
	environ, shown := a.AppWithNote()
	files, err := serving.OpenFiles(ctx, environ, names)
	shown()
	if err != nil {
		return fmt.Errorf("serve %w", err)
	}
	defer files.Close()
	texts, done, err := search.TextsOfFiles(ctx, a.App(), files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	o.Sites, o.Texts = files, texts
	return listenAndServe(ctx, a, o, f)
}

// listener is one address that is served.
type listener struct {
	net.Listener
	srv *http.Server
}

// listenAndServe serves until ctx ends, or one listener fails, and then lets requests under way finish for a
// moment.
func listenAndServe(ctx context.Context, a *cli.CLI, o serve.Options, f serveFlags) error {
	srv, err := serve.New(o)
	if err != nil {
		return env.Usagef("%w", err)
	}
	var all []listener
	add := func(l net.Listener, h http.Handler, what string) {
		s := cli.ServerOf(cli.Hasty(h), a.Log())
		all = append(all, listener{cli.Bound(l, s, cli.ServeConnections, o.Proxies), s})
		a.Printf("serving %s at http://%s/\n", what, l.Addr())
	}
	listen := func(addr string, h http.Handler, what string) error {
		l, err := net.Listen("tcp", addr)
		if err == nil {
			add(l, h, what)
		}
		return err
	}
	if f.opened != nil {
		add(f.opened, srv, "mirrors")
	} else {
		err = listen(f.listen, srv, "mirrors")
	}
	for _, name := range slices.Sorted(maps.Keys(f.own)) {
		if err == nil {
			err = listen(f.own[name], srv.Site(name), name)
		}
	}
	if err != nil {
		for _, l := range all {
			l.Close()
		}
		return err
	}
	ended := make(chan error, len(all)) // one result each
	for _, l := range all {
		go func() { ended <- l.srv.Serve(l.Listener) }()
	}
	left := len(all)
	select {
	case <-ctx.Done():
	case err = <-ended:
		left--
	}
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	for _, l := range all {
		if l.srv.Shutdown(late) != nil {
			l.srv.Close() // who still reads after that time is cut off
		}
	}
	for range left {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}
