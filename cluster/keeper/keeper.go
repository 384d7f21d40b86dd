// SPDX-License-Identifier: Apache-2.0

// Package keeper runs a NATS server inside of this process: one of the one, three or five that keep what a
// cluster shares. Only the build with the tag keeper has it in the program, because of its size.
package keeper

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options say which keeper this is.
type Options struct {
	Name   string // among the keepers
	Dir    string // for its files
	Listen string // HOST:PORT for workers; "": only this process
	Routes string // HOST:PORT for the other keepers; "": there are none
	Peers  []string
	Secret string       // of the cluster, for workers and keepers; "": none
	TLS    Certificates // none: connections are not encrypted
	Log    *slog.Logger
}

// Certificates names the files of a keeper that encrypts its connections. The certificate has the hosts
// of Listen and Routes, for servers and for clients, as keepers are clients of one another.
type Certificates struct {
	Cert, Key string
	CA        string // that signed the certificates of all keepers; "": one that the system trusts
}

// Server is a keeper that runs. It is safe for concurrent use.
type Server struct {
	o     Options
	end   chan struct{} // closed by Close
	ended chan struct{} // closed when nothing watches the server
	once  sync.Once     // closes end

	mu  sync.Mutex
	srv *server.Server
}

// startWithin is how long the server may take to listen.
const startWithin = 30 * time.Second

// lookEvery is how often the keeper looks whether its server still keeps.
const lookEvery = 30 * time.Second

// Start starts a keeper. Acknowledged writes are on the disk: the server syncs each write. A server that
// stopped to keep because the disk was full is started again when there is room.
func Start(o Options) (*Server, error) {
	srv, err := start(o)
	if err != nil {
		return nil, err
	}
	k := &Server{
		o:     o,
		end:   make(chan struct{}),
		ended: make(chan struct{}),
		srv:   srv,
	}
	go k.watch()
	return k, nil
}

func start(o Options) (*server.Server, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("start keeper: %w", err)
	}
	var opts server.Options
	// accounts and clusters that are built in Go lose stream leaders after a restart, nats-server issue 6890
	text, err := config(o)
	if err == nil {
		err = opts.ProcessConfigString(text)
	}
	if err != nil {
		return nil, fmt.Errorf("start keeper: %w", err)
	}
	opts.NoSigs, opts.DontListen = true, o.Listen == ""
	srv, err := server.NewServer(&opts)
	if err != nil {
		return nil, fmt.Errorf("start keeper: %w", err)
	}
	srv.SetLogger(serverLog{o.Log}, false, false)
	srv.Start()
	if !srv.ReadyForConnections(startWithin) {
		stop(srv)
		return nil, errors.New("start keeper: it does not listen; see the log")
	}
	return srv, nil
}

func stop(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

// watch looks after the server until Close.
func (k *Server) watch() {
	defer close(k.ended)
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-k.end:
			return
		case <-t.C:
			if err := k.revive(); err != nil {
				k.o.Log.Error("the keeper has stopped; free some space on its disk", "err", err)
			}
		}
	}
}

// revive starts a server again that no longer keeps, as soon as its disk takes writes.
func (k *Server) revive() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.srv.JetStreamEnabled() {
		return nil
	}
	try := filepath.Join(k.o.Dir, "room")
	err := os.WriteFile(try, make([]byte, 1<<20), 0o600)
	if err = errors.Join(err, os.Remove(try)); err != nil {
		return err
	}
	stop(k.srv)
	srv, err := start(k.o)
	if err != nil {
		return err
	}
	k.srv = srv
	k.o.Log.Warn("the keeper had stopped for lack of room on the disk, and was started again")
	return nil
}

//go:embed nats.conf
var configuration string

// config is the server's configuration file.
func config(o Options) (string, error) {
	// what a server by itself keeps does not become the part of one among several, but at times a bit of it
	kind := "one"
	if o.Routes != "" {
		kind = "several"
	}
	var who *url.Userinfo
	if o.Secret != "" {
		who = url.UserPassword("keeper", o.Secret)
	}
	var others []string
	for _, p := range o.Peers {
		others = append(others, (&url.URL{Scheme: "nats-route", User: who, Host: p}).String())
	}
	t, err := template.New("").Parse(configuration)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, struct {
		Options
		Store  string
		Others []string
	}{o, filepath.Join(o.Dir, kind), others})
	return b.String(), err
}

// InProcessConn implements nats.InProcessConnProvider: this process reaches its keeper so.
func (k *Server) InProcessConn() (net.Conn, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.srv.InProcessConn()
}

// Close ends the server. What it has acknowledged is kept.
func (k *Server) Close() {
	k.once.Do(func() { close(k.end) })
	<-k.ended
	stop(k.srv)
}

// serverLog writes the server's messages into ours. What a keeper notices in the ordinary course is of no
// interest.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) {
	l.log.Debug("keeper", "said", fmt.Sprintf(format, v...))
}
func (l serverLog) Warnf(format string, v ...any) {
	l.log.Warn("keeper", "said", fmt.Sprintf(format, v...))
}
func (l serverLog) Errorf(format string, v ...any) {
	l.log.Error("keeper", "said", fmt.Sprintf(format, v...))
}
func (l serverLog) Fatalf(format string, v ...any) {
	l.log.Error("keeper", "said", fmt.Sprintf(format, v...))
}
func (l serverLog) Debugf(string, ...any) {}
func (l serverLog) Tracef(string, ...any) {}
