package fetch

import (
	"context"
	"net"
)

// GuardedDial returns a dial function that connects as an exchange under o would: it refuses addresses that a mirror may not reach with
// ErrForbiddenAddress, after DNS, at the moment of the connect call. Of o it uses AllowPrivate, AllowHosts and ConnectTimeout. It is safe
// for concurrent use.
func GuardedDial(o Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	o.Proxy = "" // the caller's connections go where they are dialled
	return newGuard(o.withDefaults()).dial
}
