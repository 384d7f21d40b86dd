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
	d.do(cli.ExitOK, "no users", "console", "user", "list")
	const form = `^[a-z2-7]{5}(-[a-z2-7]{5}){3}\n$`
	given := strings.TrimSpace(d.do(cli.ExitOK, form, "console", "user", "add", "ann", "--role", "operate"))
	d.do(cli.ExitUsage, "already", "console", "user", "add", "ann")
	d.do(cli.ExitUsage, "cannot be a name", "console", "user", "add", "a b")
	d.do(cli.ExitUsage, "is no role", "console", "user", "add", "bob", "--role", "king")
	d.do(cli.ExitUsage, "no user", "console", "user", "password", "bob")
	d.do(cli.ExitUsage, "no password", "console", "user", "add", "bob", "--stdin")

	v := browser()
	v.see(http.StatusUnauthorized, `type="password"`, "/", nil)
	v.see(http.StatusOK, "that you were given", "/login", url.Values{"name": {"ann"}, "password": {given}})
	const mine = "correct horse battery"
	v.see(http.StatusOK, "ann · operate", "/password",
		url.Values{"name": {"ann"}, "password": {given}, "new": {mine}, "again": {mine}})
	d.do(cli.ExitOK, "ann +operate +of [0-9-]+\n", "console", "user", "list")
	d.do(cli.ExitOK, "", "console", "user", "role", "ann", "read")
	given = strings.TrimSpace(d.do(cli.ExitOK, form, "console", "user", "password", "ann"))
	v.see(http.StatusUnauthorized, "is wrong", "/login", url.Values{"name": {"ann"}, "password": {mine}})
	v.see(http.StatusOK, "ann · read", "/password",
		url.Values{"name": {"ann"}, "password": {given}, "new": {mine}, "again": {mine}})
	admin := d.visit()
	admin.see(http.StatusOK, "set password of user", "/audit", nil)
	d.do(cli.ExitOK, "", "console", "user", "remove", "ann")
	d.do(cli.ExitUsage, "no user", "console", "user", "remove", "ann")
	browser().see(http.StatusUnauthorized, "mirrord console", "/login",
		url.Values{"name": {"ann"}, "password": {mine}})
}
