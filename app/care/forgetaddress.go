// SPDX-License-Identifier: Apache-2.0

package care

import (
	"mirrord/app/env"
	"mirrord/fetch/reach"
)

// Forgotten is what became of one name.
type Forgotten struct {
	Name      string `json:"name"`
	Forgotten bool   `json:"forgotten"`
}

// ForgetAddresses lets host names that were once at public addresses be private. With an error it returns
// what was done before it.
func ForgetAddresses(a *env.App, names []string) ([]Forgotten, error) {
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	out := make([]Forgotten, 0, len(names))
	for _, name := range names {
		name = reach.Name(name)
		had, err := st.PublicNames.Forget(name)
		if err != nil {
			return out, err
		}
		out = append(out, Forgotten{Name: name, Forgotten: had})
	}
	return out, nil
}
