// SPDX-License-Identifier: Apache-2.0

package badserver

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// Names is a resolver that changes its mind: each lookup of a name takes the next of its answers, and the
// last one stays. It is safe for concurrent use. The zero value knows no name.
type Names struct {
	mu      sync.Mutex
	answers map[string][]string
}

// Name makes a name answer these lists of addresses, with spaces between, in turn.
func (n *Names) Name(name string, answers ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.answers == nil {
		n.answers = map[string][]string{}
	}
	n.answers[name] = answers
}

// Lookup is that of fetch.Network.
func (n *Names) Lookup(_ context.Context, name string) (out []netip.Addr, _ error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.answers[name]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if len(all) > 1 {
		n.answers[name] = all[1:]
	}
	for s := range strings.FieldsSeq(all[0]) {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}
