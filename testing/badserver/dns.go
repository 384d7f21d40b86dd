// SPDX-License-Identifier: Apache-2.0

package badserver

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// DNS is a name server on loopback. A name that it was not told of does not exist.
type DNS struct {
	addr string

	mu    sync.Mutex
	zone  map[string]DNSAnswer
	asked map[string]int
}

// DNSAnswer is how a server answers for a name.
type DNSAnswer struct {
	Addrs string        // with spaces between; none: the name exists without any
	Delay time.Duration // before the answer
}

// StartDNS runs a name server until the test ends.
func StartDNS(t testing.TB) *DNS {
	t.Helper()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &DNS{addr: udp.LocalAddr().String(), zone: map[string]DNSAnswer{}, asked: map[string]int{}}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		udp.Close()
		wg.Wait()
	})
	wg.Go(func() {
		b := make([]byte, 4096)
		for {
			n, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			msg := append([]byte(nil), b[:n]...)
			wg.Go(func() { d.answer(msg, func(b []byte) { udp.WriteTo(b, from) }) })
		}
	})
	return d
}

// Connect connects to the server for any address.
func (d *DNS) Connect(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, d.addr)
}

// Name makes the server say this of a name from now on.
func (d *DNS) Name(name string, a DNSAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.zone[name] = a
}

// Asked returns how often the server was asked for a name's IPv4 addresses.
func (d *DNS) Asked(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[name]
}

func (d *DNS) answer(msg []byte, send func([]byte)) {
	var p dnsmessage.Parser
	head, err := p.Start(msg)
	if err != nil {
		return
	}
	q, err := p.Question()
	if err != nil {
		return
	}
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	d.mu.Lock()
	a, ok := d.zone[name]
	if q.Type == dnsmessage.TypeA {
		d.asked[name]++
	}
	d.mu.Unlock()
	time.Sleep(a.Delay) // in a bubble, or as long as the test says
	m := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID:                 head.ID,
			Response:           true,
			RecursionDesired:   true,
			RecursionAvailable: true,
		},
		Questions: []dnsmessage.Question{q},
	}
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	}
	h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: dnsmessage.ClassINET}
	for s := range strings.FieldsSeq(a.Addrs) {
		switch ip := netip.MustParseAddr(s); {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			body := &dnsmessage.AAAAResource{AAAA: ip.As16()}
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: body})
		}
	}
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	send(b)
}
