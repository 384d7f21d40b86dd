// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"math"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mirrord/fetch/reach"
)

// tapped is the machine's resolver, whose messages are read on their way. Package net knows the rules of the
// machine: /etc/hosts, nsswitch.conf, search domains, several servers, TCP after a truncated answer. It does
// not say how long an answer holds: that is in the messages. Where package net leaves the question to the
// system (cgo with mDNS, LDAP and the like), or answers from a file, there are no messages, and no lifetime.
type tapped struct {
	// connect connects to a server of the resolver; nil is the network
	connect func(ctx context.Context, network, server string) (net.Conn, error)
}

// lookup returns the addresses of a name and how long they hold, 0 if that is not known. Names below
// localhost have those of localhost (RFC 6761 §6.3), which few resolvers know, but browsers do.
func (t tapped) lookup(ctx context.Context, name string) ([]netip.Addr, time.Duration, error) {
	if reach.IsLocalhost(name) {
		name = "localhost"
	}
	h := heard{
		open:   map[dnsQuestion]uint16{},
		life:   math.MaxInt64,
		absent: math.MaxInt64,
	}
	connect := t.connect
	if connect == nil {
		connect = new(net.Dialer).DialContext
	}
	r := net.Resolver{Dial: func(ctx context.Context, network, server string) (net.Conn, error) {
		conn, err := connect(ctx, network, server)
		if err != nil {
			return nil, err
		}
		if udp, ok := conn.(*net.UDPConn); ok {
			return packetTap{udp, &h}, nil
		}
		return &streamTap{Conn: conn, heard: &h}, nil
	}}
	addrs, err := r.LookupNetIP(ctx, "ip", name)
	return addrs, h.lifetime(err), err
}

// dnsQuestion is what a message asks: a name in lower case and a type.
type dnsQuestion struct {
	name string
	kind dnsmessage.Type
}

// heard is what the messages of one lookup say of lifetimes. It is safe for concurrent use: package net asks
// for IPv4 and IPv6 at the same time.
type heard struct {
	mu     sync.Mutex
	open   map[dnsQuestion]uint16 // questions without an answer yet, and their IDs
	life   time.Duration          // the least of all records of the answers
	absent time.Duration          // the least of what answers without records say of that (RFC 2308 §5)
}

// lifetime is how long the outcome of the lookup holds. One with a question left open, such as that for IPv6,
// may be half of the truth.
func (h *heard) lifetime(err error) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	life := h.life
	if err != nil {
		life = h.absent
	}
	if len(h.open) > 0 || life == math.MaxInt64 {
		return 0
	}
	return life
}

// asked takes in a message to a server.
func (h *heard) asked(msg []byte) {
	var p dnsmessage.Parser
	head, err := p.Start(msg)
	if err != nil {
		return
	}
	q, err := p.Question()
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[questionOf(q)] = head.ID
}

func questionOf(q dnsmessage.Question) dnsQuestion {
	return dnsQuestion{strings.ToLower(q.Name.String()), q.Type}
}

// answered takes in a message of a server. Package net checks more and uses fewer of them; what it refuses
// can only shorten a lifetime here. A truncated packet is followed by a question over TCP.
func (h *heard) answered(msg []byte, packet bool) {
	var p dnsmessage.Parser
	head, err := p.Start(msg)
	if err != nil || !head.Response {
		return
	}
	q, err := p.Question()
	if err != nil || p.SkipAllQuestions() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if id, ok := h.open[questionOf(q)]; !ok || id != head.ID {
		return // of a server that was not asked
	}
	if head.RCode != dnsmessage.RCodeSuccess && head.RCode != dnsmessage.RCodeNameError {
		return
	}
	for {
		rr, err := p.AnswerHeader()
		if err != nil {
			break
		}
		h.life = min(h.life, seconds(rr.TTL))
		if p.SkipAnswer() != nil {
			break
		}
	}
	for {
		rr, err := p.AuthorityHeader()
		if err != nil {
			break
		}
		if rr.Type != dnsmessage.TypeSOA {
			if p.SkipAuthority() != nil {
				break
			}
			continue
		}
		soa, err := p.SOAResource()
		if err != nil {
			break
		}
		h.absent = min(h.absent, seconds(rr.TTL), seconds(soa.MinTTL))
	}
	if !packet || !head.Truncated {
		delete(h.open, questionOf(q))
	}
}

// seconds is a lifetime. One with its first bit set is 0 (RFC 2181 §8).
func seconds(ttl uint32) time.Duration {
	if ttl > math.MaxInt32 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

// packetTap is a connection to a server by UDP: a message a packet.
type packetTap struct {
	*net.UDPConn
	heard *heard
}

func (c packetTap) Write(b []byte) (int, error) {
	c.heard.asked(b)
	return c.UDPConn.Write(b)
}

func (c packetTap) Read(b []byte) (int, error) {
	n, err := c.UDPConn.Read(b)
	if err == nil {
		c.heard.answered(b[:n], true)
	}
	return n, err
}

// streamTap is one by TCP: one message, after its length in two bytes. It is not used concurrently.
type streamTap struct {
	net.Conn
	heard *heard
	got   []byte
}

func (c *streamTap) Write(b []byte) (int, error) {
	if len(b) > 2 {
		c.heard.asked(b[2:])
	}
	return c.Conn.Write(b)
}

func (c *streamTap) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.got = append(c.got, b[:n]...)
	if len(c.got) > 2 && len(c.got)-2 == int(c.got[0])<<8|int(c.got[1]) {
		c.heard.answered(c.got[2:], false)
	}
	return n, err
}
