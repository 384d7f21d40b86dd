// SPDX-License-Identifier: Apache-2.0

//go:build browser

package console

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/app/access"
	"mirrord/app/orders"
	"mirrord/scheduler/status"
	"mirrord/store/shared"
	"mirrord/testing/mirrortest"
	"mirrord/testing/orderstest"
)

// What operators do, in a browser with and without scripts, by the keyboard: accept, bring a version back,
// change a job file, decide about an order, change what users may have, search, log out and in by a password.
func TestFlowsInBrowser(t *testing.T) {
	a, all := mirrored(t), orderFrom(t)
	users := &fakeUsers{users: map[string]shared.UserFact{}}
	h := access.NewHasher(64)
	c := newChromium(t, func(o *Options) {
		o.App, o.Orders, o.Texts = a, all, &fakeTexts{wanted: true}
		o.Passwords = &Passwords{Book: access.NewBook(users, o.Now), Hasher: h, Change: users.change}
	})
	users.set(h, "ann", Operate, annsPassword, false, c.now)
	file := filepath.Join(a.Jobs, "site.toml")
	c.with(func(d *fakeDaemon) {
		held := &status.Run{Verdict: status.VerdictSuspicious, Waiting: []string{"8 removed"}, Ended: c.now}
		d.jobs = []status.Job{{
			Name:    "site",
			Version: 2,
			File:    file,
			Health:  status.Suspicious,
			Last:    held,
		}}
	})
	for i, on := range []bool{true, false} {
		c.scripts(on)
		c.goTo("/jobs/site")
		c.press("Approve and publish")
		c.wait("The run that was held for review is being published.")

		from, to := 2+i, 1+i // a restored version becomes a new one
		c.goTo(fmt.Sprintf("/jobs/site/diff?from=%d&to=%d", from, to))
		c.press(fmt.Sprintf("Restore version %d", to))
		c.wait("The older version is published again")

		c.goTo("/jobs/site/file")
		c.fill("f.limits.max_depth", fmt.Sprint(7+i))
		c.press("Check, and show what changes")
		c.wait("What it changes")
		c.press("Save this")
		c.wait("The job file was saved")
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), fmt.Sprintf("max_depth = %d", 7+i)) {
			t.Errorf("%v, the file has\n%s", err, text)
		}

		w := orders.Wish{
			URL:   "http://site.example/docs/",
			Scope: "directory",
			Files: int64(5000 + i), // more than anybody may have
			Size:  1e6,
			Forms: []string{"phm"},
		}
		bob := orders.User{Name: "bob"}
		o, err := all.Draft(bob, w)
		if err != nil {
			t.Fatal(err)
		}
		orderstest.Until(t, all, o.OrderID, orders.Draft)
		if err := all.PlaceOrder(o.OrderID, bob, true); err != nil {
			t.Fatal(err)
		}
		c.goTo(fmt.Sprintf("/orders/%s", o.Ref()))
		c.press("Approve")
		orderstest.Until(t, all, o.OrderID, orders.Done)
		// The page that answers reloads itself when the order is done, if scripts run: each would take the
		// place of the next.
		c.until(fmt.Sprintf(`document.readyState == "complete" && !(%t && document.getElementById("stream")) &&
			![...document.querySelectorAll("button")].some(b => b.textContent == "Approve")`, on))

		c.goTo("/settings")
		c.fill("days", fmt.Sprint(30+i))
		c.press("Save")
		c.wait("The settings are in force.")
		if days := all.Limits().Days; days != int64(30+i) {
			t.Errorf("archives stay for %d days", days)
		}

		c.goTo("/find")
		c.fill("q", "winbind")
		c.press("Search")
		c.wait("25 results")

		c.press("Log out")
		c.wait("Password")
		c.fill("name", "ann")
		c.fill("password", "wrong")
		c.press("Log in")
		c.wait("is wrong")
		c.fill("name", "ann")
		c.fill("password", annsPassword)
		c.press("Log in")
		c.wait("ann · operate")
	}
	c.with(func(d *fakeDaemon) {
		const accept = "run site accept=true full=false now=false"
		if n := strings.Count(strings.Join(d.did, ";"), accept); n != 2 {
			t.Errorf("done: %v", d.did)
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.seen {
		if !strings.HasPrefix("http://"+at, c.base+"/") {
			t.Errorf("a request for %s", at)
		}
	}
}

// A live page whose reader is logged out elsewhere shows how to log in.
func TestLiveLogoutInBrowser(t *testing.T) {
	c := newChromium(t, nil)
	c.with(func(d *fakeDaemon) {
		d.jobs = testJobs(1)
		d.jobs[0].Activity = status.Running
		d.jobs[0].Progress = &status.Progress{Phase: status.Retrieving, Done: 17}
	})
	c.goTo("/jobs/job0000")
	c.wait("17 done")
	c.srv.logins.endUser("ann")
	c.wait("mirrord console")
	c.until(`document.querySelectorAll("main").length === 1`)
}

// A mirror is previewed, and saved, in a browser with and without scripts, by the keyboard; a page that is
// open shows the estimate by itself. The pictures are those of the guide.
func TestNewInBrowser(t *testing.T) {
	a := mirrored(t)
	a.Network = mirrortest.OneServer{At: orderSite(t)}
	c := newChromium(t, func(o *Options) { o.App = a })
	for i, on := range []bool{true, false} {
		c.scripts(on)
		c.goTo("/new")
		c.fill("url", fmt.Sprintf("http://site%d.example/docs/", i))
		c.fill("name", fmt.Sprintf("docs%d", i))
		c.press("Preview")
		c.until(`location.search.includes("every=")`)
		for !on && c.ask(`String(document.body.innerText.includes("these are all"))`) != "true" {
			time.Sleep(300 * time.Millisecond) // a page without scripts does not renew itself
			c.goTo(c.ask(`location.pathname + location.search`))
		}
		c.wait("4: these are all")
		if on {
			for _, kind := range []struct {
				suffix, scheme string
				width          int64
			}{{"", "light", 1280}, {"-dark", "dark", 1280}, {"-phone", "light", 390}} {
				c.look(kind.scheme, kind.width)
				if got := c.ask(`String(document.documentElement.scrollWidth > innerWidth)`); got != "false" {
					t.Errorf("%s: wider than the screen", kind.suffix)
				}
				c.ask(`(() => { const e = document.querySelector("form.order > p:last-child").lastChild
					e.data = e.data.replace(/ \S+\.$/, " /var/lib/mirrord/jobs.d."); return e.data })()`)
				c.shotOfScreen("console-new" + kind.suffix + ".png")
			}
		}
		c.press("Save and run")
		c.until(`location.pathname.startsWith("/jobs/docs")`)
		if _, err := os.Stat(filepath.Join(a.Jobs, fmt.Sprintf("docs%d.toml", i))); err != nil {
			t.Error(err)
		}
	}
}
