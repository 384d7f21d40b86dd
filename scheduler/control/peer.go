// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"net"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerKey is the key of a connection's user id in the context of its requests.
type peerKey struct{}

// WithPeer is the ConnContext of an http.Server on a Unix socket: requests know the user at its other end.
func WithPeer(ctx context.Context, conn net.Conn) context.Context {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if cerr != nil || err != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, cred.Uid)
}

// PeerName is the name of the user at the other end of the socket: "socket" when it is not known.
func PeerName(ctx context.Context) string {
	uid, ok := ctx.Value(peerKey{}).(uint32)
	if !ok {
		return "socket"
	}
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "user " + id
}
