// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mirrord/app/daemon"
	"mirrord/app/env"
	"mirrord/app/life"
	"mirrord/app/nodes"
	"mirrord/app/ops"
	"mirrord/app/shares"
	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/cluster"
	"mirrord/internal/places"
	"mirrord/internal/regular"
	"mirrord/internal/systemd"
	"mirrord/internal/version"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/serve"
	"mirrord/store"
)

// daemonFlags are the flags of daemon.
type daemonFlags struct {
	socket, mode, listen string
	config               string // "": daemon.toml beside the jobs directory, if there is one
	maxRuns, maxParked   int64
	spread, poll, within time.Duration
	gc, scrub            time.Duration
	log, mail, from      string
	host, space          string
	maxState             job.Size
	listenHosts          []string
	mirrorz              string
	search               bool
	console              consoleFlags
	node                 cluster.NodeFlags
}

// defaultDaemonFlags are the flags of a daemon of which nothing is said.
func defaultDaemonFlags() daemonFlags {
	return daemonFlags{
		mode:    "0660",
		maxRuns: 4,
		spread:  scheduler.DefaultSpread,
		poll:    30 * time.Second,
		within:  25 * time.Second,
		gc:      env.TidyEvery,
		scrub:   30 * 24 * time.Hour,
		search:  true,
		node:    cluster.DefaultNodeFlags(),
	}
}

// notify says how messages leave this machine.
func (f *daemonFlags) notify() life.NotifyOptions {
	return life.NotifyOptions{Mail: f.mail, From: f.from, Host: f.host}
}

// statusHosts are the host names under which the status page is reached.
func (f *daemonFlags) statusHosts() []string {
	names := slices.Clone(f.listenHosts)
	if h, _, err := net.SplitHostPort(f.listen); err == nil && h != "" {
		names = append(names, h)
	}
	if h, err := os.Hostname(); err == nil && h != "" {
		names = append(names, h)
	}
	return names
}

// mirrorzSite reads what the key mirrorz names; nil without it.
func (f *daemonFlags) mirrorzSite() (*serve.MirrorzSite, error) {
	if f.mirrorz == "" {
		return nil, nil
	}
	text, err := regular.ReadSmall(f.mirrorz)
	if err != nil {
		return nil, env.Usagef("mirrorz: %w", err)
	}
	site, err := serve.ParseMirrorzSite(text)
	if err != nil {
		return nil, env.Usagef("mirrorz: %s: %w", f.mirrorz, err)
	}
	return site, nil
}

// The names of the sockets that systemd may have opened for us: FileDescriptorName= of their units.
const (
	FDControl = "control"
	fdStatus  = "status"
)

func Command(a *cli.CLI) *cobra.Command { return commandOf(a, new(daemonFlags)) }

// flags are the flags by name.
func (f *daemonFlags) flags() cli.Flags {
	all := cli.Flags{
		"config":      &f.config,
		"socket":      &f.socket,
		"socket-mode": &f.mode,
		"listen":      &f.listen,
		"listen-host": &f.listenHosts,
		"max-runs":    &f.maxRuns,
		"max-parked":  &f.maxParked,
		"max-state":   &f.maxState,
		"space":       &f.space,
		"spread":      &f.spread,
		"poll":        &f.poll,
		"stop-within": &f.within,
		"gc":          &f.gc,
		"scrub":       (*cli.Span)(&f.scrub),
		"mirrorz":     &f.mirrorz,
		"search":      &f.search,
		"log":         &f.log,
		"mail":        &f.mail,
		"mail-from":   &f.from,
		"host":        &f.host,
	}
	maps.Copy(all, f.console.flags())
	maps.Copy(all, f.node.Flags())
	return all
}

// commandOf is daemon with its flags in f.
func commandOf(a *cli.CLI, f *daemonFlags) *cobra.Command {
	*f = defaultDaemonFlags()
	cmd := a.Command("daemon", f.flags(), func(cmd *cobra.Command, _ []string) error {
		g, err := f.configured(a, cmd.Flags())
		if err != nil {
			return err
		}
		return runDaemon(cmd.Context(), a, g, cmd.Flags())
	})
	for _, s := range f.settings() {
		cmd.Flags().Lookup(s.Flag).Hidden = !slices.Contains(shownFlags(), s.Flag)
	}
	cmd.AddCommand(ReloadCommand(a), HealthCommand(a), NotifyTestCommand(a, "notify"))
	return cmd
}

// runDaemon runs until ctx ends. flags are those of the command line.
func runDaemon(ctx context.Context, a *cli.CLI, f daemonFlags, flags *pflag.FlagSet) (err error) {
	mode, err := strconv.ParseUint(f.mode, 8, 32)
	if err != nil || mode > 0o777 {
		return env.Usagef("socket_mode %s is no file mode such as 0660", f.mode)
	}
	if f.maxRuns < 1 {
		return env.Usagef("max_runs %d: at least 1", f.maxRuns)
	}
	if f.maxParked < 0 {
		return env.Usagef("max_parked %d: at least 0", f.maxParked)
	}
	if _, err := f.console.trusted(); err != nil {
		return err
	}
	if _, err := f.mirrorzSite(); err != nil {
		return err
	}
	level := slog.LevelInfo
	if a.Verbose {
		level = slog.LevelDebug
	}
	log, err := DaemonLog(a.Stderr, f.log, level, a.LookupEnv)
	if err != nil {
		return err
	}
	f.warnOldFlags(a, flags, log)
	x := a.App()
	x.Log, x.AsOwner = log, false // its service says as whom it runs
	x.Warn = func(line string) { log.Warn("left out", "what", line) }
	about := status.Daemon{PID: os.Getpid(), Version: version.Text(), Started: time.Now()}
	tell := f.notify()
	if err := life.CheckNotify(x, tell); err != nil { // before anything is made
		return err
	}
	st, err := x.MakeState()
	if err != nil {
		return err
	}
	defer func(st *store.State) { err = errors.Join(err, st.Close()) }(st)
	given, err := systemd.Listeners(a.LookupEnv, os.Getpid())
	if err != nil {
		return err
	}
	socket, err := socketPath(a, f.socket, st.Dir)
	if err != nil {
		return err
	}
	if l := given[FDControl]; l != nil {
		socket = l.Addr().String()
	}
	lock, err := env.TakeState(st.Dir, env.Owner{PID: os.Getpid(), Socket: socket}, fs.FileMode(mode))
	if err != nil {
		return err
	}
	defer lock.Close()
	var n *cluster.Membership
	var cluster shares.Peers
	var sites shares.Travels
	var users *shares.ClusterUsers
	if f.node.On(a) {
		n, err = f.node.Join(ctx, a, x, st, int(f.maxRuns))
		if err != nil {
			return err
		}
		defer n.Release()
		defer n.Take(x)()
		own, err := x.MakeState() // whose sites the cluster owns; the other one reads
		if err != nil {
			return err
		}
		defer own.Close()
		st, cluster = own, n
		users = shares.NewClusterUsers(st, n.Jobs.Facts, log)
		if n.Depot != nil {
			sites = n.Depot
		}
	}

	spread := f.spread
	if spread == 0 {
		spread = -1
	}
	d, err := daemon.NewDaemon(x, st, daemon.DaemonOptions{
		MaxRuns:    int(f.maxRuns),
		MaxParked:  int(f.maxParked),
		Spread:     spread,
		StopWithin: f.within,
		MaxState:   f.maxState,
		Space:      f.space,
		Cluster:    cluster,
		Depot:      sites,
		Users:      users,
		Notify:     tell,
		About:      about,
	})
	if err != nil {
		return err
	}
	d.Settings = f.rereads(a, flags, log, func(f daemonFlags) error {
		return daemon.UseSettings(d, f.notify(), f.maxState)
	})
	var face nodes.Face = d
	var all *nodes.Everywhere
	var found *nodes.ClusterFound
	if n != nil {
		if all, err = nodes.Join(d, n, users, callsOf(x, log)); err != nil {
			return err
		}
		defer all.Close()
		found = nodes.ShareFound(d, n, n.Jobs.Facts)
		face, all.Follows = all, f.node.Follow
	}
	own, err := openOrders(ctx, x, st, d, int(f.maxRuns), n)
	if err != nil {
		return err
	}
	door := &consoleDoor{
		Face:   face,
		daemon: d,
		ctx:    ctx,
		app:    x,
		st:     st,
		flags:  f.console,
		log:    log,
		own:    own,
		users:  users,
		others: all,
		say:    a.Printf,
	}
	servers, err := daemonServers(a, door, log, f, given, socket, fs.FileMode(mode))
	if err == nil {
		err = door.start()
	}
	if err == nil && n != nil {
		err = door.takePassed()
	}
	if err != nil {
		return err
	}
	log.Info("daemon started", "version", version.Text(), "pid", os.Getpid(), "state", st.Dir, "jobs",
		d.About().Jobs, "socket", socket)
	// before the first request, which may wait at a socket of systemd; problems are logged
	_, _ = d.Reload()

	work, end := context.WithCancel(context.WithoutCancel(ctx)) // work that continues until the runs have ended
	defer end()
	var wg sync.WaitGroup
	failed := make(chan error, len(servers)) // one result each
	for _, s := range servers {
		wg.Go(func() {
			if err := s.srv.Serve(s.Listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	wg.Go(func() { d.Tell(work) })
	wg.Go(func() { cli.Attend(a, ctx, work, d, log) })
	wg.Go(func() { watch(ctx, d, f.poll) })
	wg.Go(func() { d.Upkeep.Tidy(ctx, f.gc) })
	wg.Go(func() { d.Upkeep.Scrub(ctx, f.scrub) })
	wg.Go(func() { daemon.IndexOf(d).Keep(ctx, f.search) })
	wg.Go(func() { own.Run(ctx) })
	wg.Go(func() { d.Files.FollowShare(ctx) })
	if n != nil {
		wg.Go(func() { n.Jobs.Follow(ctx, d) })
		wg.Go(func() { users.Follow(ctx, func() { nodes.HeedPauses(d) }) })
		wg.Go(func() { (&nodes.ClusterPairs{State: st, Facts: n.Jobs.Facts, Log: log}).Follow(ctx) })
		wg.Go(func() { found.Follow(ctx) })
		wg.Go(func() { n.KeepDepot(ctx, d, f.node.Follow, log) })
	}
	running := make(chan error, 1)
	until, stop := context.WithCancel(ctx)
	defer stop()
	go func() { running <- d.Schedule(until) }()
	select {
	case err = <-running:
	case err = <-failed:
		stop()
		err = errors.Join(err, <-running)
	}
	log.Info("daemon ends")
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	for _, s := range servers {
		if s.srv.Shutdown(late) != nil {
			s.srv.Close()
		}
	}
	door.close(late)
	end()
	stop()
	if !endsWithin(&wg, lastWait) { // as tidying up may, that removes a large version; kill -9 does no more harm
		log.Warn("some work did not end in time; it is done again when the daemon starts again")
	}
	if given[FDControl] == nil {
		os.Remove(socket) // one that stays does no harm: the lock says who lives
	}
	return err
}

// lastWait is how long other work than runs may take to end: longer than the last messages take.
const lastWait = 10 * time.Second

// endsWithin waits for goroutines, but not for ever.
func endsWithin(wg *sync.WaitGroup, most time.Duration) bool {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// socketPath is where commands reach the daemon; it is in the lock file, so that they find it.
func socketPath(a *cli.CLI, flag, state string) (string, error) {
	if flag != "" {
		return filepath.Abs(flag)
	}
	if d, ok := a.LookupEnv("RUNTIME_DIRECTORY"); ok && d != "" {
		return filepath.Join(filepath.SplitList(d)[0], "mirrord.sock"), nil
	}
	return filepath.Join(state, "daemon.sock"), nil
}

// callsOf makes the handler of what other nodes of a cluster ask of a daemon.
func callsOf(x *env.App, log *slog.Logger) func(control.API) http.Handler {
	return func(d control.API) http.Handler { return ops.NewServer(ops.Host{Daemon: d, App: x}, log) }
}

// daemonServers opens the control socket and, when wanted, the listener of the status page, or takes those
// that systemd has opened.
func daemonServers(
	a *cli.CLI, d *consoleDoor, log *slog.Logger, f daemonFlags, given map[string]net.Listener, socket string,
	mode fs.FileMode,
) (all []listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range all {
				l.Close()
			}
		}
	}()
	attach := func(l net.Listener, h http.Handler) {
		all = append(all, listener{l, cli.ServerOf(h, log)})
	}
	l := given[FDControl]
	if l == nil {
		if l, err = control.Listen(socket, mode); err != nil {
			return all, err
		}
	}
	calls := ops.NewServer(ops.Host{Daemon: d, App: d.app, Open: d.OpenConsole}, log)
	attach(places.Reserve(l, cli.ControlReserve), calls)
	all[0].srv.ConnContext = control.WithPeer
	if l = given[fdStatus]; l == nil && f.listen != "" {
		if l, err = net.Listen("tcp", f.listen); err != nil {
			return all, err
		}
	}
	if l != nil {
		page, err := serve.NewStatus(d.Status)
		if err != nil {
			return all, err
		}
		mux := http.NewServeMux()
		control.Observe(mux, d)
		mux.Handle("/", page)
		site, err := f.mirrorzSite()
		if err != nil {
			return all, err
		}
		fronts := serve.NewFronts(serve.FrontOptions{All: d.Fronts, Site: site})
		mux.Handle("GET "+serve.TunasyncPath, fronts)
		mux.Handle("GET "+serve.MirrorzPath, fronts)
		var h http.Handler = mux
		// a socket in the file system has no name that could lead elsewhere
		if strings.HasPrefix(l.Addr().Network(), "tcp") {
			h = serve.OwnHosts(f.statusHosts(), "listen_hosts", mux)
		}
		attach(l, cli.Hasty(h))
		// who asks and does not read gives his connection back; on the socket answers may last as long as a run
		last := &all[len(all)-1]
		last.srv.WriteTimeout = time.Minute
		last.Listener = cli.Bound(l, last.srv, cli.StatusConnections, nil)
		a.Printf("status page at http://%s/\n", l.Addr())
	}
	return all, nil
}

// watch reads the jobs directory at once, when it changes, on SIGHUP, and from time to time.
func watch(ctx context.Context, d *daemon.Daemon, poll time.Duration) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	again := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
				if err := daemon.ReadSettings(d); err != nil {
					d.Log.Error("settings stay as they were", "err", err)
				}
			}
			select {
			case <-ctx.Done():
			case again <- struct{}{}:
			}
		}
	})
	d.Watch(ctx, poll, again)
	wg.Wait()
}
