// SPDX-License-Identifier: Apache-2.0

//go:build browser

package console

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mirrord/app/daemon"
	"mirrord/scheduler/status"
)

// glance is a daemon whose mirrors are in many states.
func glance(now time.Time) func(d *fakeDaemon) {
	return func(d *fakeDaemon) {
		d.titles = map[string]daemon.MirrorTitle{}
		for i, x := range []struct {
			name, title, host string
			health            status.Health
			activity          status.Activity
			hours             int
			why               string
		}{
			{"samba", "Samba documentation", "www.samba.org", status.Suspicious, status.Idle, 30,
				"1 204 of 1 902 files would be removed"},
			{"handbook", "FreeBSD Handbook", "docs.freebsd.org", status.Failed, status.Idle, 75,
				"no address of docs.freebsd.org is known"},
			{"kestrel", "Kestrel Point Observatory", "kestrel.example", status.OK, status.Idle, 2, ""},
			{"kernel", "Kernel newbies", "kernelnewbies.org", status.OK, status.Running, 26, ""},
			{"wiki", "Town wiki", "wiki.town.example", status.Gaps, status.Idle, 5, "2 pictures are missing"},
			{"museum", "Museum of maps", "maps.example", status.Stale, status.Idle, 400, ""},
			{"press", "Press archive", "press.example", status.OK, status.Paused, 70, ""},
			{"recipes", "", "recipes.example", status.New, status.Idle, 0, ""},
		} {
			j := testJobs(1)[0]
			checked, next := now.Add(-time.Duration(x.hours)*time.Hour), now.Add(time.Duration(3+i)*time.Hour)
			j.Name, j.Health, j.Activity, j.Next, j.Timezone = x.name, x.health, x.activity, &next, "UTC"
			j.Files, j.Bytes, j.Verified, j.Published = 90+i*i*431, 3e6*int64(1+(i*5)%7)+4e5, &checked, &checked
			j.Disk = &status.Disk{Total: j.Bytes*int64(4+i%3)/2 + 2e5}
			if x.why != "" {
				j.Reasons = []string{x.why}
			}
			if x.activity == status.Running {
				j.Progress = &status.Progress{
					Phase:   status.Retrieving,
					Done:    412,
					Queued:  253,
					Elapsed: 90 * time.Second,
				}
			}
			if x.health == status.New {
				j.Version, j.Verified, j.Published, j.Disk = 0, nil, nil, nil
			} else {
				j.Last = &status.Run{Verdict: status.VerdictComplete, Ended: checked}
				if x.health == status.Gaps {
					j.Last.Verdict, j.Last.Gaps = status.VerdictGaps, 2
				}
				d.titles[x.name] = daemon.MirrorTitle{Title: x.title, Primary: "https://" + x.host, Entry: "index.html"}
			}
			d.jobs = append(d.jobs, j)
		}
		for i := range 3 {
			at := now.Add(-time.Duration(72-24*i) * time.Hour)
			d.bad = append([]status.Run{{Verdict: status.VerdictError, Started: at}}, d.bad...)
		}
		for i := range 24 {
			r := status.Run{Verdict: status.VerdictComplete, Changed: i * 13 % 17, Published: true}
			if i%11 == 4 {
				r.Verdict = status.VerdictGaps
			}
			d.runs = append(d.runs, r)
		}
	}
}

// The list of mirrors in many states, for the guide: as it is on a desktop, in the dark, and on a phone.
func TestListInBrowser(t *testing.T) {
	c := newChromium(t, func(o *Options) { o.Mirrors = "https://mirrors.example" })
	c.with(glance(c.now))
	for _, kind := range []struct {
		suffix, scheme string
		width          int64
	}{{"", "light", 1280}, {"-dark", "dark", 1280}, {"-phone", "light", 390}} {
		c.look(kind.scheme, kind.width)
		c.goTo("/")
		c.wait("Review changes")
		if got := c.ask(`String(document.documentElement.scrollWidth > innerWidth)`); got != "false" {
			t.Errorf("%s: wider than the screen", kind.suffix)
		}
		c.shotOfScreen("console-list" + kind.suffix + ".png")
		const opens = `(() => { const m = document.getElementById("more-wiki")
			document.querySelector("[popovertarget=more-wiki]").scrollIntoView({block: "center"})
			document.querySelector("[popovertarget=more-wiki]").click()
			const r = m.getBoundingClientRect()
			return String(m.matches(":popover-open") && r.height > 150 && r.left >= 0 && r.right <= innerWidth) })()`
		if got := c.ask(opens); got != "true" {
			t.Errorf("%s: the menu of a row does not open within the screen", kind.suffix)
		}
		c.shotOfScreen("list-menu" + kind.suffix + ".png")
	}
}

// The menu of a row opens by the keyboard, has the focus next, pauses and resumes its mirror and closes with
// Escape, with and without scripts.
func TestMenuByKeyboard(t *testing.T) {
	c := newChromium(t, nil)
	c.with(func(d *fakeDaemon) { d.jobs = testJobs(2) })
	const menu = `document.getElementById("more-job0001")`
	for _, on := range []bool{true, false} {
		c.scripts(on)
		c.goTo("/")
		c.ask(`document.querySelector("[popovertarget=more-job0001]").focus() || ""`)
		c.keys("\r")
		c.until(menu + `.matches(":popover-open")`)
		c.keys("\t")
		c.until(menu + `.contains(document.activeElement)`)
		c.keys(kb.Escape)
		c.until(`!` + menu + `.matches(":popover-open") && document.activeElement.matches("[popovertarget=more-job0001]")`)
		c.keys("\r")
		for range 8 {
			if c.ask(`document.activeElement.textContent`) != "Pause" {
				c.keys("\t")
			}
		}
		c.until(menu + `.contains(document.activeElement)`)
		c.keys("\r")
		c.wait("Paused: no run")
	}
	c.with(func(d *fakeDaemon) {
		if want := []string{"pause job0001", "pause job0001"}; !slices.Equal(d.did, want) {
			t.Errorf("the daemon did %q", d.did)
		}
	})
}

// keys types.
func (c *chromium) keys(keys string) {
	c.Helper()
	if err := chromedp.Do(c.ctx, chromedp.KeyEvent(keys)); err != nil {
		c.Fatal(err)
	}
}

// Several mirrors are selected, run, paused, downloaded and deleted by the keyboard alone, with and without
// scripts, and the list stays as it was filtered.
func TestBulkInBrowser(t *testing.T) {
	a := mirrored(t)
	file := filepath.Join(a.Jobs, "site.toml")
	c := newChromium(t, func(o *Options) { o.App = a })
	c.with(func(d *fakeDaemon) {
		d.jobs = append(testJobs(3), status.Job{Name: "site", Version: 2, File: file})
	})
	const picked = `document.querySelectorAll("input[name=job]:checked").length == `
	for _, on := range []bool{true, false} {
		c.scripts(on)
		c.goTo("/?q=job")
		c.press("Select all")
		c.until(picked + "3")
		c.press("Select none")
		c.until(picked + `0 && document.body.innerText.includes("Select all")`)
		c.press("Select all")
		c.until(picked + "3")
		c.press("Run")
		c.wait("The run was requested.")
		c.until(`location.search.includes("q=job")`)
		c.pick("job0001")
		c.press("Pause")
		c.wait("Paused: no run")
		c.pick("job0001")
		c.press("Resume")
		c.wait("Resumed.")
		c.pick("job0002")
		c.press("Download…")
		c.wait("Each is one file")
	}
	c.goTo("/?q=site")
	c.pick("site")
	c.press("Delete…")
	c.wait("This would be deleted for good")
	c.press("Delete for good")
	c.wait("Deleted, with job file")
	if _, err := os.Stat(file); err == nil {
		t.Error("the job file is still there")
	}
	var want []string
	for range 2 {
		for _, job := range testJobs(3) {
			want = append(want, "run "+job.Name+" accept=false full=false now=false")
		}
		want = append(want, "pause job0001", "resume job0001")
	}
	c.with(func(d *fakeDaemon) {
		if !slices.Equal(d.did, want) {
			t.Errorf("the daemon did %q", d.did)
		}
	})
}

// pick selects a mirror in the list by the keyboard.
func (c *chromium) pick(job string) {
	c.Helper()
	box := fmt.Sprintf(`document.querySelector("input[name=job][value=%s]")`, job)
	c.until(box + ` != null`)
	c.ask(box + `.focus() || ""`)
	c.keys(" ")
	c.until(box + `.checked`)
}
