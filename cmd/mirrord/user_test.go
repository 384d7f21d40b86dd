// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// A user who was added logs in, chooses a password, loses it, and gets in again.
func TestUsers(t *testing.T) {
	d := startDaemon(t, t.TempDir(), t.TempDir(), "--console", "127.0.0.1:0")
	link := strings.TrimSpace(d.do(cli.ExitOK, "", "open"))
	base, _, _ := strings.Cut(link, "/login")
	browser := func() *visitor {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		v := &visitor{T: t, http: &http.Client{Jar: jar}, base: base}
		t.Cleanup(v.http.CloseIdleConnections)
		return v
	}
	d.do(cli.ExitOK, "no users", "user", "list")
	const form = `^[a-z2-7]{5}(-[a-z2-7]{5}){3}\n$`
	given := strings.TrimSpace(d.do(cli.ExitOK, form, "user", "add", "ann", "--role", "operate"))
	d.do(cli.ExitUsage, "already", "user", "add", "ann")
	d.do(cli.ExitUsage, "cannot be a name", "user", "add", "a b")
	d.do(cli.ExitUsage, "is no role", "user", "add", "bob", "--role", "king")
	d.do(cli.ExitUsage, "no user", "user", "password", "bob")
	d.do(cli.ExitUsage, "no password", "user", "add", "bob", "--stdin")

	v := browser()
	v.see(http.StatusUnauthorized, `type="password"`, "/", nil)
	v.see(http.StatusOK, "that you were given", "/login", url.Values{"name": {"ann"}, "password": {given}})
	const mine = "correct horse battery"
	v.see(http.StatusOK, "ann: operate", "/password",
		url.Values{"name": {"ann"}, "password": {given}, "new": {mine}, "again": {mine}})
	d.do(cli.ExitOK, "ann +operate +of [0-9-]+\n", "user", "list")
	d.do(cli.ExitOK, "", "user", "role", "ann", "read")
	given = strings.TrimSpace(d.do(cli.ExitOK, form, "user", "password", "ann"))
	v.see(http.StatusUnauthorized, "is wrong", "/login", url.Values{"name": {"ann"}, "password": {mine}})
	v.see(http.StatusOK, "ann: read", "/password",
		url.Values{"name": {"ann"}, "password": {given}, "new": {mine}, "again": {mine}})
	admin := d.visit()
	admin.see(http.StatusOK, "set password of user", "/audit", nil)
	d.do(cli.ExitOK, "", "user", "remove", "ann")
	d.do(cli.ExitUsage, "no user", "user", "remove", "ann")
	browser().see(http.StatusUnauthorized, "mirrord open", "/login",
		url.Values{"name": {"ann"}, "password": {mine}})
}
