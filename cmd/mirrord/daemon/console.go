// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/access"
	"mirrord/app/daemon"
	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/nodes"
	"mirrord/app/orders"
	"mirrord/app/shares"
	"mirrord/cluster/engine"
	"mirrord/cluster/objects"
	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/cluster"
	"mirrord/console"
	"mirrord/console/api"
	"mirrord/internal/timed"
	"mirrord/scheduler/control"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/shared"
)

// consoleFlags are the flags of daemon about the console.
type consoleFlags struct {
	listen    string // "" opens it when mirrord console asks for it; consoleOff never
	hosts     []string
	proxy     string
	operators []string
	mirrors   string
	tls       string            // CERT,KEY: names of files
	oidc      string            // file of an OpenID provider
	greet     func(link string) // gets a link that logs in, instead of a line that says where the console is
}

const (
	consoleOff     = "off"
	consoleAddress = "127.0.0.1:9181" // where mirrord console opens it; another port when this one is taken
)

func (f *consoleFlags) flags() cli.Flags {
	return cli.Flags{
		"console":          &f.listen,
		"console-host":     &f.hosts,
		"console-proxy":    &f.proxy,
		"console-operator": &f.operators,
		"console-tls":      &f.tls,
		"console-oidc":     &f.oidc,
		"console-mirrors":  &f.mirrors,
	}
}

// trusted is the proxy that the keys name.
func (f *consoleFlags) trusted() (p console.Proxy, err error) {
	if f.proxy != "" {
		if p, err = console.ParseProxy(f.proxy); err != nil {
			return p, env.Usagef("console.proxy: %w", err)
		}
	}
	if p.Roles, err = console.ParseRoles(f.operators); err != nil {
		return p, env.Usagef("console.operators: %w", err)
	}
	if len(p.Roles) > 0 && len(p.From) == 0 {
		return p, env.Usagef("console.operators names users of a proxy: set console.proxy too")
	}
	u, err := url.Parse(f.mirrors)
	if f.mirrors != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		return p, env.Usagef("console.mirrors: %q is not an http or https address; give one like "+
			"http://127.0.0.1:8080", f.mirrors)
	}
	if f.tls != "" {
		if _, err := newCertFiles(f.tls, nil); err != nil {
			return p, env.Usagef("console.tls: %w", err)
		}
	}
	if f.oidc != "" {
		if _, err := access.ReadOIDC(f.oidc); err != nil {
			return p, env.Usagef("console.oidc: %w", err)
		}
	}
	if f.listen != "" && f.listen != consoleOff {
		if err := console.CheckAddress(f.listen, p, f.tls != ""); err != nil {
			return p, env.Usagef("console.listen: %w; the keys are console.proxy and console.tls", err)
		}
	}
	return p, nil
}

// scheme is that of the console's address.
func (f *consoleFlags) scheme() string {
	if f.tls != "" {
		return "https://"
	}
	return "http://"
}

// names are the host names by which the console is reached.
func (f *consoleFlags) names() []string {
	if host, _, err := net.SplitHostPort(f.listen); err == nil && host != "" {
		return append([]string{host}, f.hosts...)
	}
	return f.hosts
}

// consoleDoor opens the console: at the start of the daemon when its flags say so, else when mirrord console
// asks for it. It opens the console for the control socket.
type consoleDoor struct {
	nodes.Face
	daemon *daemon.Daemon  // of this machine
	ctx    context.Context // of the daemon: the API starts runs until it ends
	app    *env.App
	st     *store.State
	flags  consoleFlags
	log    *slog.Logger
	own    *orders.Orders
	users  *shares.ClusterUsers // those of all nodes; nil: this is no node of a cluster
	others *nodes.Everywhere    // likewise
	say    func(format string, args ...any)

	mu     sync.Mutex
	closed bool
	server *console.Server // nil until it is made
	calls  *api.Server     // likewise
	srv    *http.Server    // nil until it is open
	at     net.Addr
	served sync.WaitGroup
}

// open opens the listener unless it is open. The caller holds the lock.
func (d *consoleDoor) open() error {
	if d.srv != nil {
		return nil
	}
	switch {
	case d.closed:
		return control.WithCode(errors.New("the daemon is ending"), control.ErrConflict)
	case d.flags.listen == consoleOff:
		return control.WithCode(errors.New("the console of this daemon is off, by console.listen or --console"),
			control.ErrConflict)
	}
	proxy, err := d.flags.trusted()
	if err != nil {
		return err
	}
	has, err := access.NewBook(shared.NewConsoleFacts(d.st.Shared), d.st.Now).HasUsers()
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	has = has || d.flags.oidc != ""
	if !has && console.CheckAddress(cmp.Or(d.flags.listen, consoleAddress), proxy, false) != nil {
		return fmt.Errorf("console: %s can be reached from other machines, and no user can log in there: "+
			"make a user first, with mirrord console user add", d.flags.listen)
	}
	if err := d.make(proxy); err != nil {
		return err
	}
	l, err := d.listen()
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	d.at = l.Addr()
	d.srv = cli.ServerOf(d.server, d.log)
	d.srv.WriteTimeout = 2 * time.Minute
	srv := d.srv
	if d.flags.tls != "" {
		cert, err := newCertFiles(d.flags.tls, d.log)
		if err != nil {
			d.srv = nil
			l.Close()
			return fmt.Errorf("console: %w", err)
		}
		l = tls.NewListener(l, cert.config())
	}
	l = cli.Bound(l, srv, cli.ConsoleConnections, proxy.From)
	d.served.Go(func() { d.calls.Run(d.ctx) })
	d.served.Go(func() { srv.Serve(l) }) // it ends when close ends it
	if d.flags.greet != nil {
		link, _ := d.server.LoginLink(d.flags.scheme()+reached(d.at), "you", console.Operate)
		d.flags.greet(link)
		return nil
	}
	d.say("console at %s%s/: mirrord console logs you in\n", d.flags.scheme(), d.at)
	return nil
}

// make makes the console, which needs no listener for what other nodes pass on. The caller holds the lock.
func (d *consoleDoor) make(proxy console.Proxy) error {
	if d.server != nil {
		return nil
	}
	provider, err := d.provider()
	if err != nil {
		return err
	}
	facts := shared.NewConsoleFacts(d.st.Shared)
	book := access.NewBook(facts, d.st.Now)
	var others nodes.OtherNodes
	if d.others != nil {
		others = d.others
	}
	d.calls = api.New(api.Options{
		Daemon: nodes.Remote{Face: d.Face},
		App:    d.app,
		Facts:  facts,
		Acts:   d.Acts,
		Book:   book,
		Texts:  daemon.IndexOf(d.daemon),
		Orders: d.own,
		Others: others,
		Save:   func(e jobs.JobEdit) error { return d.server.SaveJob(e) },
		Now:    d.st.Now,
		Log:    d.log,
	})
	var exchange func(context.Context)
	if d.users != nil {
		exchange = func(ctx context.Context) { d.users.Exchange(ctx) }
	}
	d.server, err = console.New(console.Options{
		Daemon: d.Face,
		App:    d.app,
		Facts:  facts,
		API:    d.calls,
		Others: others,
		Passwords: &console.Passwords{
			Book:   book,
			Hasher: access.NewHasher(0),
			Change: facts.ChangeUser,
		},
		OIDC:     provider,
		Proxy:    proxy,
		Exchange: exchange,
		Orders:   d.own,
		Texts:    daemon.IndexOf(d.daemon),
		Hosts:    d.flags.names(),
		Mirrors:  d.flags.mirrors,
		Keep:     time.Second,
		Now:      d.st.Now,
		Log:      d.log,
	})
	return err
}

// provider logs users in; nil without one.
func (d *consoleDoor) provider() (*access.OIDC, error) {
	if d.flags.oidc == "" {
		return nil, nil
	}
	c, err := access.ReadOIDC(d.flags.oidc)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return access.NewOIDC(c, d.st.Now)
}

// openOrders takes over what users have ordered; work is done by Run.
func openOrders(
	ctx context.Context, a *env.App, st *store.State, d *daemon.Daemon, maxRuns int, n *cluster.Membership,
) (*orders.Orders, error) {
	own, err := orders.OwnNetworks()
	if err != nil {
		a.Log.Warn("orders may reach public addresses of this machine", "err", err)
	}
	x := *a
	x.Hosts = d.Politeness
	var cluster orders.NodeSessions
	var archives objects.Store
	if n != nil {
		cluster = engine.Sessions{Engine: n.Engine}
		if n.Depot != nil {
			archives = n.Depot.Store
		}
	}
	o := orders.Options{
		Cluster: cluster,
		Depot:   archives,
		App:     &x,
		Facts:   orders.OnMachine(st),
		Free:    func() (int64, error) { return disk.FreeBytes(st.Dir) },
		Room:    d.DiskRoom,
		Own:     own,
		Now:     st.Now,
		// beside the runs of jobs, of which there are at most maxRuns
		Workers: min(2, maxRuns),
		Log:     a.Log,
		Mail:    d.Mail,
		Reload: func() error {
			_, err := d.Reload()
			return err
		},
	}
	for {
		var opened *orders.Orders
		if err = nil; n != nil {
			o.Facts, err = orders.InCluster(n.SharedFacts, st, n.Me(), a.Log)
		}
		if err == nil {
			opened, err = orders.New(o)
		}
		if !errors.Is(err, orders.ErrKeepers) {
			return opened, err
		}
		a.Log.Warn("this node waits", "err", err)
		if timed.Wait(ctx, keepersAgain) != nil {
			return nil, err
		}
	}
}

// keepersAgain is the pause before a node that starts asks keepers again.
const keepersAgain = time.Second

func (d *consoleDoor) listen() (net.Listener, error) {
	if d.flags.listen != "" {
		return net.Listen("tcp", d.flags.listen)
	}
	if l, err := net.Listen("tcp", consoleAddress); err == nil {
		return l, nil
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// start opens the console when the flags want it at the start, and refuses flags that make no sense.
func (d *consoleDoor) start() error {
	if _, err := d.flags.trusted(); err != nil {
		return err
	}
	if d.flags.listen == "" || d.flags.listen == consoleOff {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open()
}

// takePassed lets other nodes have requests answered here, with or without a listener.
func (d *consoleDoor) takePassed() error {
	proxy, err := d.flags.trusted()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err = d.make(proxy); err == nil {
		d.others.Take(access.Below+"/", d.server.Passed())
	}
	return err
}

// close ends the console and waits for it.
func (d *consoleDoor) close(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	srv := d.srv
	if d.server != nil {
		d.server.Close()
	}
	d.mu.Unlock()
	if srv != nil && srv.Shutdown(ctx) != nil {
		srv.Close()
	}
	d.served.Wait()
}

// Own implements control.Owning.
func (d *consoleDoor) Own() control.API { return d.daemon }

// OpenConsole makes a link that logs in.
func (d *consoleDoor) OpenConsole(who string, r control.OpenRequest) (out control.OpenLink, err error) {
	role := console.Operate
	if r.Role != "" {
		if role, err = access.ParseRole(r.Role); err != nil {
			return out, fmt.Errorf("%w: %w", control.ErrInvalid, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return out, err
	}
	out.User, out.Role = who, role.String()
	out.URL, out.Expires = d.server.LoginLink(d.flags.scheme()+reached(d.at), who, role)
	return out, nil
}

// reached is where a browser of this machine reaches an address.
func reached(at net.Addr) string {
	if t, ok := at.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", t.Port)
	}
	return at.String()
}

func ConsoleCommand(a *cli.CLI) *cobra.Command {
	r := control.OpenRequest{Role: console.Operate.String()}
	cmd := a.Command("console", cli.Flags{"role": &r.Role}, func(cmd *cobra.Command, _ []string) error {
		link, err := consoleLink(cmd.Context(), a, r)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(link)
		}
		a.Printf("%s\n", link.URL)
		return nil
	})
	cmd.AddCommand(UserCommand(a), TokenCommand(a))
	return cmd
}

// consoleLink asks the daemon for a link that logs in to its console.
func consoleLink(ctx context.Context, a *cli.CLI, r control.OpenRequest) (link control.OpenLink, err error) {
	if _, err := access.ParseRole(r.Role); err != nil {
		return link, env.Usagef("--role: %w", err)
	}
	c, err := a.App().Commander(ctx)
	if err == nil && c == nil {
		err = errors.New("no daemon runs on this state directory; start one with mirrord daemon")
	}
	if err != nil {
		return link, err
	}
	link, err = cli.Answer(ctx, func(ctx context.Context) (control.OpenLink, error) {
		return c.OpenConsole(ctx, r)
	})
	return link, cli.ClientError(err)
}
