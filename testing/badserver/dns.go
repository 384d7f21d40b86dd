// SPDX-License-Identifier: Apache-2.0

package badserver

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// DNS is a name server on loopback, by UDP and TCP. A name that it was not told of does not exist.
type DNS struct {
	addr string

	mu    sync.Mutex
	zone  map[string]DNSAnswer
	asked map[string]int
}

// DNSAnswer is how a server answers for a name.
type DNSAnswer struct {
	Addrs  string // with spaces between; none: the name exists without any
	TTL    uint32 // of the addresses
	Alias  string // a canonical name that stands before them, with AliasTTL
	Absent uint32 // lifetime of a negative answer, in the SOA record; 0: no such record is sent
	None   bool   // the name does not exist
	// what goes wrong
	Fails    bool          // SERVFAIL
	Silent   bool          // no answer
	No6      bool          // SERVFAIL for IPv6 alone
	Cut      bool          // by UDP only the bit "truncated"
	Forged   bool          // a packet with another ID and a lifetime of 0 comes first
	Delay    time.Duration // before the answer
	AliasTTL uint32
}

// StartDNS runs a name server until the test ends.
func StartDNS(t testing.TB) *DNS {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d := &DNS{addr: l.Addr().String(), zone: map[string]DNSAnswer{}, asked: map[string]int{}}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
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
			wg.Go(func() { d.answer(msg, true, func(b []byte) { udp.WriteTo(b, from) }) })
		}
	})
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(10 * time.Second))
				var size [2]byte
				if _, err := io.ReadFull(conn, size[:]); err != nil {
					return
				}
				msg := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(conn, msg); err != nil {
					return
				}
				d.answer(msg, false, func(b []byte) {
					conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
				})
			})
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

// Asked returns how often the server was asked for a name's IPv4 addresses, by UDP or TCP.
func (d *DNS) Asked(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[name]
}

func (d *DNS) answer(msg []byte, packet bool, send func([]byte)) {
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
	if !ok {
		a = DNSAnswer{None: true}
	}
	time.Sleep(a.Delay) // in a bubble, or as long as the test says
	if a.Silent {
		return
	}
	if a.Forged && packet {
		send(a.message(head.ID+1, q, true, 0))
	}
	send(a.message(head.ID, q, packet, a.TTL))
}

// message is an answer in the form in which it is sent.
func (a DNSAnswer) message(id uint16, q dnsmessage.Question, packet bool, ttl uint32) []byte {
	m := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID:                 id,
			Response:           true,
			RecursionDesired:   true,
			RecursionAvailable: true,
		},
		Questions: []dnsmessage.Question{q},
	}
	pack := func() []byte {
		b, err := m.Pack()
		if err != nil {
			panic(err)
		}
		return b
	}
	switch {
	case a.Fails, a.No6 && q.Type == dnsmessage.TypeAAAA:
		m.RCode = dnsmessage.RCodeServerFailure
		return pack()
	case a.Cut && packet:
		m.Truncated = true
		return pack()
	case a.None:
		m.RCode = dnsmessage.RCodeNameError
	}
	name := q.Name
	record := func(kind dnsmessage.Type, ttl uint32, body dnsmessage.ResourceBody) dnsmessage.Resource {
		h := dnsmessage.ResourceHeader{
			Name:  name,
			Type:  kind,
			Class: dnsmessage.ClassINET,
			TTL:   ttl,
		}
		return dnsmessage.Resource{Header: h, Body: body}
	}
	if a.Alias != "" {
		to := dnsmessage.MustNewName(a.Alias + ".")
		alias := record(dnsmessage.TypeCNAME, a.AliasTTL, &dnsmessage.CNAMEResource{CNAME: to})
		m.Answers = append(m.Answers, alias)
		name = to
	}
	found := false
	for s := range strings.FieldsSeq(a.Addrs) {
		switch ip := netip.MustParseAddr(s); {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, record(q.Type, ttl, &dnsmessage.AResource{A: ip.As4()}))
			found = true
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, record(q.Type, ttl, &dnsmessage.AAAAResource{AAAA: ip.As16()}))
			found = true
		}
	}
	if !found && a.Absent > 0 {
		m.Authorities = append(m.Authorities, record(dnsmessage.TypeSOA, 3600, &dnsmessage.SOAResource{
			NS:     name,
			MBox:   name,
			MinTTL: a.Absent,
		}))
	}
	return pack()
}
