// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"slices"
)

// Role is what a user or token may do. Each includes those before it.
type Role int

// The roles.
const (
	Anonymous Role = iota
	Read           // see mirrors, versions and why things are as they are
	Order          // and order mirrors
	Operate        // and run, decide and change jobs
)

// roleNames are the roles as they are written.
func roleNames() []string { return []string{"", "read", "order", "operate"} }

func (r Role) String() string { return roleNames()[r] }

// ParseRole reads a role.
func ParseRole(s string) (Role, error) {
	if i := slices.Index(roleNames(), s); i > 0 {
		return Role(i), nil
	}
	return Anonymous, fmt.Errorf("%q is no role: want read, order or operate", s)
}

// RoleOf is the role of a stored fact; Anonymous when it cannot be read.
func RoleOf(s string) Role {
	r, _ := ParseRole(s)
	return r
}
