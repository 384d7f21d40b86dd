// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/store/shared"
)

// UserInfo is a user who logs in with a password.
type UserInfo struct {
	Name     string    `json:"name"`
	Role     string    `json:"role"`
	Changed  time.Time `json:"changed"`         // when the password was set
	First    bool      `json:"first,omitempty"` // another user made the password: its owner chooses a new one
	Password string    `json:"password,omitempty"`
}

// newPassword makes a password for a user, or takes one that was chosen, and returns the user to store.
func newPassword(a *env.App, name, chosen string) (made string, u shared.UserFact, err error) {
	password := chosen
	if chosen == "" {
		made = access.NewPassword()
		password = made
	} else if err := access.CheckPassword(name, chosen); err != nil {
		return "", u, env.Usagef("%w", err)
	}
	return made, shared.UserFact{
		Hash:    access.NewHasher(0).Hash(password),
		Initial: made != "",
		Changed: a.Clock().UTC().Truncate(time.Second),
	}, nil
}

// AddUser makes a user. Without a password one is made, with which the user has to choose another one.
func AddUser(a *env.App, name, role, password string) (*UserInfo, error) {
	_, err := access.ParseRole(role)
	if err = errors.Join(access.CheckName(name), err); err != nil {
		return nil, env.Usagef("%w", err)
	}
	made, u, err := newPassword(a, name, password)
	if err != nil {
		return nil, err
	}
	u.Role = role
	err = changeAccess(a, a.MakeState, "add user", name, func(facts shared.ConsoleFacts) error {
		return facts.ChangeUser(name, func(was *shared.UserFact) (*shared.UserFact, error) {
			if was != nil {
				return nil, env.Usagef("there is a user %s already: mirrord console user password makes a new "+
					"password, mirrord console user role changes the role", name)
			}
			return &u, nil
		})
	})
	return userOf(name, u, made), err
}

// SetPassword gives a user another password, as AddUser does. All sessions of the user end.
func SetPassword(a *env.App, name, password string) (*UserInfo, error) {
	made, u, err := newPassword(a, name, password)
	if err != nil {
		return nil, err
	}
	err = changeUser(a, "set password of user", name, func(was *shared.UserFact) *shared.UserFact {
		u.Role = was.Role
		return &u
	})
	return userOf(name, u, made), err
}

// SetRole gives a user another role.
func SetRole(a *env.App, name, role string) error {
	if _, err := access.ParseRole(role); err != nil {
		return env.Usagef("%w", err)
	}
	return changeUser(a, "set role "+role+" of user", name, func(u *shared.UserFact) *shared.UserFact {
		u.Role = role
		return u
	})
}

// RemoveUser removes a user. All sessions of the user end.
func RemoveUser(a *env.App, name string) error {
	return changeUser(a, "remove user", name, func(*shared.UserFact) *shared.UserFact { return nil })
}

// changeUser changes a user who is there, and notes it in the audit log.
func changeUser(a *env.App, what, name string, change func(*shared.UserFact) *shared.UserFact) error {
	return changeAccess(a, a.MustWriteState, what, name, func(facts shared.ConsoleFacts) error {
		return facts.ChangeUser(name, func(was *shared.UserFact) (*shared.UserFact, error) {
			if was == nil {
				return nil, env.Usagef("there is no user %s: mirrord console user list shows all", name)
			}
			return change(was), nil
		})
	})
}

func userOf(name string, u shared.UserFact, made string) *UserInfo {
	return &UserInfo{
		Name:     name,
		Role:     u.Role,
		Changed:  u.Changed,
		First:    u.Initial,
		Password: made,
	}
}

// Users lists all users by name.
func Users(a *env.App) ([]UserInfo, error) {
	return listAccess(a, shared.ConsoleFacts.Users, func(name string, u shared.UserFact) UserInfo {
		return *userOf(name, u, "")
	})
}
