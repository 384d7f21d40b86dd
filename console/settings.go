// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/app/orders"
	"mirrord/docs"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/scheduler/status"
	"mirrord/store/shared"
)

// settingsData is what the page of settings shows.
type settingsData struct {
	Orders  bool // orders can be placed
	Limits  orders.Limits
	Problem string
	Field   string
}

// Numbers are the inputs of the limits: name, label and value.
func (d settingsData) Numbers() [][3]any {
	l := d.Limits
	return [][3]any{
		{"orders", "Mirror requests within a day", l.Orders},
		{"looks", "Previews within a day", l.Looks},
		{"files", "Files of all within a day", l.Files},
		{"size", "Megabytes of all within a day", int64(l.Size) / 1e6},
		{"requests", "HTTP requests of all within a day", l.Requests},
		{"stored", "Megabytes of stored archives", int64(l.Stored) / 1e6},
		{"days", "Days that archives are kept", l.Days},
	}
}

// Gap is the least gap between two requests, in seconds.
func (d settingsData) Gap() float64 { return d.Limits.Delay.Duration().Seconds() }

// settingsPage shows what operators may set here.
func settingsPage(v *visit) error { return showSettings(v, http.StatusOK, nil, nil) }

func showSettings(v *visit, code int, l *orders.Limits, problem error) error {
	d := settingsData{Orders: v.Orders != nil}
	if d.Orders {
		d.Limits = v.Orders.Limits()
	}
	if l != nil {
		d.Limits = *l
	}
	if problem != nil {
		d.Problem = env.Remedied(problem)
		d.Field, _, _ = strings.Cut(d.Problem, ":")
	}
	return v.draw(code, "settings.html", "Settings", d)
}

// saveSettings puts limits of orders in force.
func saveSettings(v *visit) error {
	if v.Orders == nil {
		return errNoPage
	}
	l, err := limitsOf(v.r)
	if err == nil {
		err = v.Orders.SetLimits(l)
	}
	if env.FieldOf(err) == "" && isUsage(err) {
		return showSettings(v, http.StatusUnprocessableEntity, &l, err)
	}
	return v.done(act{about: fmt.Sprintf("limits of orders: %+v", l)}, err, "/settings")
}

// limitsOf reads limits of a form.
func limitsOf(r *http.Request) (l orders.Limits, err error) {
	var bad error
	number := func(name string) int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(r.PostFormValue(name)), 10, 64)
		if (err != nil || n < 0 || n > 1e9) && bad == nil {
			bad = env.Usagef("%s: want a number from 0 to a thousand millions", name)
		}
		return n
	}
	l = orders.Limits{
		Orders:   number("orders"),
		Looks:    number("looks"),
		Files:    number("files"),
		Size:     job.Size(number("size") * 1e6),
		Requests: number("requests"),
		Stored:   job.Size(number("stored") * 1e6),
		Days:     number("days"),
		Approve:  r.PostFormValue("approve") != "",
	}
	gap, err := strconv.ParseFloat(strings.TrimSpace(r.PostFormValue("delay")), 64)
	if (err != nil || gap < 0 || gap > 60) && bad == nil {
		bad = env.Usagef("delay: want seconds from 0 to 60")
	}
	l.Delay = orders.RequestGap(gap * float64(time.Second))
	return l, bad
}

// userRow is a user who is logged in.
type userRow struct {
	shared.SessionFact
	Sessions int
}

// passwordRow is a user who logs in with a password.
type passwordRow struct {
	Name, Role string
	Changed    time.Time
	Initial    bool // made by an operator
	Late       bool // and too old
}

// usersPage shows who is logged in here, and who can log in with a password. Users of a proxy have no
// session.
func usersPage(v *visit) error {
	var known []passwordRow
	if v.Passwords != nil {
		all, err := v.Passwords.Book.Users()
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			u := all[name]
			known = append(known, passwordRow{
				Name:    name,
				Role:    u.Role,
				Changed: u.Changed,
				Initial: u.Initial,
				Late:    u.Initial && v.Now().Sub(u.Changed) > access.InitialFor,
			})
		}
	}
	return v.show("users.html", "Users", struct {
		Rows  []userRow
		Known []passwordRow
		Proxy bool
	}{v.logins.users(v.accountNow), known, len(v.Proxy.From) > 0})
}

// logoutUser ends the sessions of a user.
func logoutUser(v *visit) error {
	name := v.r.PostFormValue("user")
	v.share(v.r) // also sessions that have just begun elsewhere
	n := v.logins.endUser(name)
	v.share(v.r)
	return v.done(act{about: fmt.Sprintf("%s: %s", name, count.Of(n, "session"))}, nil, "/users")
}

// aboutPage says what this is, and what the daemon is doing.
func aboutPage(v *visit) error {
	all := v.fresh.get()
	return v.show("about.html", "About", struct {
		Daemon status.Daemon
		Jobs   int
	}{all.Daemon, len(all.Jobs)})
}

// helpPage shows a page of the guide. It needs no login: who cannot log in needs it most.
func helpPage(v *visit) error {
	page := cmp.Or(v.r.PathValue("page"), docs.First)
	title, body, err := docs.HTML(page, "/help/")
	if errors.Is(err, fs.ErrNotExist) {
		return errNoPage
	}
	if err != nil {
		return err
	}
	return v.show("help.html", title, struct {
		Page string
		List []string
		Text template.HTML // our own
	}{page, docs.Contents(), template.HTML(body)})
}
