// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/store"
	"mirrord/store/shared"
)

// TokenRequest asks for a token of the API, or, when Hook is set, for a key that signs calls.
type TokenRequest struct {
	Name    string
	Role    string        // read, order or operate
	Hook    string        // the job that signed calls start
	Expires time.Duration // 0: never
}

// TokenInfo is a token of the API, or a key that signs calls.
type TokenInfo struct {
	Name    string    `json:"name"`
	Role    string    `json:"role,omitempty"`
	Hook    string    `json:"hook,omitempty"` // the job that signed calls start
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Secret  string    `json:"secret,omitempty"` // only when it was just made
}

// AddToken makes a token. Its secret is in the result, and nowhere else: only its digest is stored. A key
// that signs calls is stored as it is, because a signature cannot be checked without it.
func AddToken(a *env.App, r TokenRequest) (*TokenInfo, error) {
	if err := access.CheckName(r.Name); err != nil {
		return nil, env.Usagef("%w", err)
	}
	now := a.Clock().UTC().Truncate(time.Second)
	var expires time.Time
	if r.Expires > 0 {
		expires = now.Add(r.Expires)
	}
	var secret, about string
	var f shared.TokenFact
	if r.Hook != "" {
		if _, err := a.FindJob(r.Hook); err != nil {
			return nil, err
		}
		r.Hook = strings.TrimSuffix(r.Hook, ".toml")
		secret, f = access.NewHookKey(r.Hook, now, expires)
		about = r.Name + ", signs calls for " + r.Hook
	} else {
		role, err := access.ParseRole(r.Role)
		if err != nil {
			return nil, env.Usagef("%w", err)
		}
		secret, f = access.NewToken(role, now, expires)
		about = r.Name + ", role " + r.Role
	}
	err := changeAccess(a, a.MakeState, "add token", about, func(facts shared.ConsoleFacts) error {
		return facts.ChangeToken(r.Name, func(was *shared.TokenFact) (*shared.TokenFact, error) {
			if was != nil {
				return nil, env.Usagef("there is a token %s already: remove it first, or choose another name", r.Name)
			}
			return &f, nil
		})
	})
	if err != nil {
		return nil, err
	}
	t := tokenOf(r.Name, f)
	t.Secret = secret
	return &t, nil
}

func tokenOf(name string, f shared.TokenFact) TokenInfo {
	return TokenInfo{
		Name:    name,
		Role:    f.Role,
		Hook:    f.Hook,
		Created: f.Created,
		Expires: f.Expires,
	}
}

// Tokens lists all tokens by name.
func Tokens(a *env.App) ([]TokenInfo, error) {
	return listAccess(a, shared.ConsoleFacts.Tokens, tokenOf)
}

// listAccess lists tokens or users by name; none when there is no state yet.
func listAccess[Fact, Info any](
	a *env.App, read func(shared.ConsoleFacts) (map[string]Fact, error), info func(string, Fact) Info,
) (out []Info, err error) {
	st, ok, err := a.OpenState()
	if err != nil || !ok {
		return nil, err
	}
	all, err := read(shared.NewConsoleFacts(st.Shared))
	if err = errors.Join(err, st.Close()); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, info(name, all[name]))
	}
	return out, nil
}

// RemoveToken removes a token; a daemon refuses it within a second.
func RemoveToken(a *env.App, name string) error {
	return changeAccess(a, a.MustWriteState, "remove token", name, func(facts shared.ConsoleFacts) error {
		return facts.ChangeToken(name, func(was *shared.TokenFact) (*shared.TokenFact, error) {
			if was == nil {
				return nil, env.Usagef("there is no token %s: mirrord console token list shows all", name)
			}
			return nil, nil
		})
	})
}

// changeAccess changes who may do what, and notes it in the audit log.
func changeAccess(
	a *env.App, open func() (*store.State, error), what, about string, change func(shared.ConsoleFacts) error,
) error {
	st, err := open()
	if err != nil {
		return err
	}
	facts := shared.NewConsoleFacts(st.Shared)
	if err = change(facts); err == nil {
		err = facts.AddAudit(shared.AuditEntry{
			At:    a.Clock().UTC(),
			Who:   commander(),
			From:  "command",
			What:  what,
			About: about,
		})
		if err != nil {
			err = fmt.Errorf("it is done, but not in the audit log: %w", err)
		}
	}
	return errors.Join(err, st.Close())
}

// commander is the name of the user who gives a command.
func commander() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "a user"
}
