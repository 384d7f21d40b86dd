// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"mirrord/app/access"
	"mirrord/internal/places"
)

// How many connections a listener has at most, as far as there are descriptors for them.
const (
	ConsoleConnections = 2048 // of which some show live pages
	StatusConnections  = 256
	ServeConnections   = 8192
)

// ControlReserve is how many descriptors are kept back for the control socket.
const ControlReserve = 32

// Bound bounds the connections of a server at a listener: to most, and to a quarter of the descriptors that
// the process may have. Addresses of proxies may have them all.
func Bound(l net.Listener, srv *http.Server, most int, p access.Proxies) net.Listener {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		most = int(min(uint64(most), max(uint64(limit.Cur)/4, 1)))
	}
	b := places.Bound(l, most, p.Peer)
	srv.ConnState = b.State
	return b
}

// Hasty bounds the time of bodies for a handler without logins.
func Hasty(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		access.BodyTime(w, r, access.BeforeLogin)
		h.ServeHTTP(w, r)
	})
}

// ServerOf is the server of a handler, with what all have of bounds.
func ServerOf(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
