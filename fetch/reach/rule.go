// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Rule is one element of polite.allow_private: an address, a range of addresses or a host name, at some ports
// or at all.
type Rule struct {
	prefix netip.Prefix // invalid in a rule of a name
	name   string
	ports  []uint16 // sorted; none means all
}

// ParseRule reads "10.0.0.0/8:80,443", "10.0.0.7:8080", "[fd00::/8]:443", "fd00::1" or "host:8080". Without
// ports it is all of them. An error says what to write instead, where that is known.
func ParseRule(s string) (Rule, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	host, ports, err := splitRule(text)
	if err != nil {
		return Rule{}, err
	}
	var r Rule
	if r.ports, err = parsePorts(ports); err != nil {
		return Rule{}, err
	}
	switch ip, iperr := netip.ParseAddr(host); {
	case strings.Contains(host, "/"):
		r.prefix, err = parsePrefix(host)
	case iperr == nil:
		ip = ip.WithZone("").Unmap()
		r.prefix = netip.PrefixFrom(ip, ip.BitLen())
	default:
		r.name, err = parseName(host)
	}
	if err != nil {
		return Rule{}, err
	}
	if NeverReachable(host) {
		return Rule{}, fmt.Errorf("%s: the metadata services of clouds are never reached", host)
	}
	return r, nil
}

// splitRule parts the host of a rule from its ports.
func splitRule(s string) (host, ports string, err error) {
	if strings.Contains(s, "://") {
		_, rest, _ := strings.Cut(s, "://")
		rest, _, _ = strings.Cut(rest, "/")
		return "", "", fmt.Errorf("a URL is neither an address nor a host; write %q", rest)
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, rest, ok := strings.Cut(inner, "]")
		if !ok || (rest != "" && rest[0] != ':') {
			return "", "", fmt.Errorf("a bracket is not closed, or no port follows it")
		}
		return inner, strings.TrimPrefix(rest, ":"), portsGiven(rest)
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return s, "", nil // IPv6 without brackets has no port
	}
	from := strings.LastIndexByte(s, '/') + 1 // the colons of a range lie before its slash
	if _, err := netip.ParsePrefix(s); err == nil {
		return s, "", nil
	}
	if i := strings.LastIndexByte(s, ':'); i >= from {
		return s[:i], s[i+1:], portsGiven(s[i:])
	}
	return s, "", nil
}

func portsGiven(rest string) error {
	if rest == ":" {
		return fmt.Errorf("no port follows the colon")
	}
	return nil
}

func parsePorts(s string) (ports []uint16, err error) {
	if s == "" {
		return nil, nil
	}
	for p := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(p), 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%q is not a port; ports are numbers from 1 to 65535, with commas between them", p)
		}
		ports = append(ports, uint16(n))
	}
	slices.Sort(ports)
	return slices.Compact(ports), nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{},
			fmt.Errorf("%q is not a range of addresses; ranges look like 10.0.0.0/8 or [fd00::/8]", s)
	}
	if m := p.Masked(); m != p {
		return netip.Prefix{}, fmt.Errorf("%s has bits behind its length; write %s", p, m)
	}
	return p, nil
}

func parseName(s string) (string, error) {
	name := Name(s)
	bad := func(r rune) bool {
		return !(r == '-' || r == '_' || r == '.' || ('0' <= r && r <= '9') || ('a' <= r && r <= 'z'))
	}
	if name == "" || len(name) > 253 || strings.ContainsFunc(name, bad) || strings.Contains(s, "..") ||
		name[0] == '.' {
		return "", fmt.Errorf("%q is neither an address nor a host name", s)
	}
	return name, nil
}

// Name returns a host in the form in which it is compared and remembered: lower case, without brackets, zone
// and trailing dot.
func Name(host string) string {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if i := strings.IndexByte(host, '%'); i >= 0 {
		host = host[:i]
	}
	return strings.TrimSuffix(host, ".")
}

// allows reports whether a rule lets a target be at its address.
func (r Rule) allows(name string, port uint16, ip netip.Addr) bool {
	if len(r.ports) > 0 && !slices.Contains(r.ports, port) {
		return false
	}
	if r.name != "" {
		return r.name == name
	}
	return ip.IsValid() && (r.prefix.Contains(ip.WithZone("").Unmap()) || r.prefix.Contains(plain(ip)))
}

// String writes the rule as ParseRule reads it.
func (r Rule) String() string {
	host := r.name
	switch {
	case host != "":
	case r.prefix.IsSingleIP():
		host = r.prefix.Addr().String()
	default:
		host = r.prefix.String()
	}
	if len(r.ports) == 0 {
		return host
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	ports := make([]string, len(r.ports))
	for i, p := range r.ports {
		ports[i] = strconv.Itoa(int(p))
	}
	return host + ":" + strings.Join(ports, ",")
}
