// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"strings"

	"mirrord/app/access"
)

// Role is what a user may do.
type Role = access.Role

// The roles.
const (
	Anonymous = access.Anonymous
	Read      = access.Read
	Order     = access.Order
	Operate   = access.Operate
)

// account is the user who makes a request.
type account struct {
	Name string
	Role Role
	via  string // how the account was authenticated: session or proxy
}

// Proxy is a reverse proxy that says who its users are. The zero value trusts no proxy.
type Proxy struct {
	From   access.Proxies  // from which Header is believed
	Header string          // that has the user's name
	Roles  map[string]Role // by user; * is every other one, who has the role read without it
}

// ParseProxy reads ADDRESS[=HEADER]: an address or prefix, and the header that is believed from there.
func ParseProxy(s string) (Proxy, error) {
	address, header, named := strings.Cut(s, "=")
	if !named {
		header = "Remote-User"
	}
	p := Proxy{Header: strings.TrimSpace(header)}
	const wrong = "%q: %q is no %s; want ADDRESS=HEADER, such as 10.0.0.5=Remote-User"
	if p.Header == "" || strings.ContainsAny(p.Header, " \t:\r\n") {
		return p, fmt.Errorf(wrong, s, header, "name of a header")
	}
	var err error
	if p.From, err = access.ParseProxies(address); err != nil {
		return p, fmt.Errorf(wrong, s, address, "address")
	}
	return p, nil
}

// ParseRoles reads a list of USER[=ROLE]; without a role it is operate.
func ParseRoles(list []string) (map[string]Role, error) {
	out := map[string]Role{}
	for _, s := range list {
		user, word, given := strings.Cut(s, "=")
		role := Operate
		if given {
			var err error
			if role, err = access.ParseRole(word); err != nil {
				return nil, fmt.Errorf("%q: %w", s, err)
			}
		}
		if user == "" {
			return nil, fmt.Errorf("%q names no user; want USER or USER=ROLE", s)
		}
		if user == "*" && role == Operate {
			return nil, fmt.Errorf("%q makes everybody an operator; name the users", s)
		}
		out[user] = role
	}
	return out, nil
}

// account is that of a user whom the proxy names. A header that came twice is not believed: one of them
// may be the client's.
func (p *Proxy) account(values []string) (account, bool) {
	if len(values) != 1 {
		return account{}, false
	}
	name := strings.TrimSpace(values[0])
	if name == "" || len(name) > maxUser {
		return account{}, false
	}
	role, known := p.Roles[name]
	if !known {
		role = max(p.Roles["*"], Read)
	}
	return account{Name: name, Role: role, via: "proxy"}, true
}

// maxUser is how many bytes the name of a user may have.
const maxUser = 200
