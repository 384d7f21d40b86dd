// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/app/orders"
	"mirrord/internal/count"
)

// orderData is what the order form shows.
type orderData struct {
	Want      orders.Wish
	Problem   string
	Field     string // that the problem is about
	Limits    orders.Limits
	Left      orders.Limits
	Forms     []string
	Mails     bool
	Bookmark  template.URL
	Schedules [][2]string
}

// schedules are the choices of how often a mirror is kept fresh.
func schedules() [][2]string {
	return [][2]string{{"", "once"}, {"@daily", "every day"}, {"@weekly", "every week"},
		{"@monthly", "every month"}, {"continuous", "as often as it changes"}}
}

// Has reports whether a form is chosen.
func (d orderData) Has(form string) bool { return slices.Contains(d.Want.Forms, form) }

// More reports whether the problem is with what the form shows on demand.
func (d orderData) More() bool { return d.Problem != "" && d.Field != "url" && d.Field != "mail" }

// purpose says what a form of the result is for.
func purpose(form string) string {
	what := map[string]string{
		"phm":     "one ZIP that opens anywhere (phm)",
		"tar.zst": "a folder (tar.zst)",
		"zim":     "for Kiwix (zim)",
		"warc":    "a web archive (warc)",
		"wacz":    "for ReplayWeb.page (wacz)",
	}
	return cmp.Or(what[form], form)
}

// Megabytes is the size that is chosen.
func (d orderData) Megabytes() int64 { return int64(d.Want.Size) / 1e6 }

// Seconds is the gap that is chosen, Least that which is allowed.
func (d orderData) Seconds() float64 { return d.Want.Delay.Seconds() }

// Least is the gap that the operator allows.
func (d orderData) Least() float64 { return d.Limits.Delay.Duration().Seconds() }

// List is a list of words as it is typed.
func (d orderData) List(all []string) string { return strings.Join(all, ", ") }

// At is a time as its input has it.
func (d orderData) At(t time.Time) string { return orders.StartField(t) }

// orderPage shows the order form, filled in with an address, or with an earlier order.
func orderPage(v *visit) error {
	w := v.Orders.Suggest(v.user())
	w.URL = strings.TrimSpace(v.r.FormValue("url"))
	if like := v.r.FormValue("like"); like != "" {
		node, _ := orders.NodeOf(v.Orders, like, orders.ToAct)
		if node != "" && access.GuestOf(v.r) == nil {
			return v.passOn(node)
		}
		o, err := v.Orders.Seen(v.user(), like)
		if err != nil {
			return err
		}
		w = o.Want
		w.Start = time.Time{}
	}
	return v.orderForm(http.StatusOK, w, nil)
}

func (v *visit) orderForm(code int, w orders.Wish, problem error) error {
	d := orderData{
		Want:      w,
		Limits:    v.Orders.Limits(),
		Left:      v.Orders.Left(v.who.Name),
		Forms:     orders.Forms(),
		Mails:     v.Orders.Mail != nil,
		Schedules: schedules(),
	}
	if problem != nil {
		d.Problem = env.Remedied(problem)
		d.Field, _, _ = strings.Cut(d.Problem, ":")
	}
	to, _ := url.JoinPath(v.base(), "order")
	d.Bookmark = template.URL("javascript:location.href='" + template.JSEscapeString(to) +
		"?url='+encodeURIComponent(location.href)")
	return v.draw(code, "order.html", "Request a mirror", d)
}

// order returns the order that the address names.
func (v *visit) order() (orders.Ordered, error) { return v.Orders.Seen(v.user(), v.r.PathValue("n")) }

func (v *visit) user() orders.User {
	return orders.User{Name: v.who.Name, Operator: v.who.Operates(), Base: v.base()}
}

// draftOrder takes an order form: a preview follows. Problems are shown next to the input.
func draftOrder(v *visit) error {
	w, err := orders.ReadForm(v.r.PostForm)
	var o orders.Ordered
	if err == nil {
		o, err = v.Orders.Draft(v.user(), w)
	}
	if isUsage(err) {
		return v.orderForm(http.StatusUnprocessableEntity, w, err)
	}
	return v.done(act{about: w.String()}, err, orderPath(o))
}

func orderPath(o orders.Ordered) string { return "/orders/" + o.Path() }

// orderRow is an order as a page shows it.
type orderRow struct {
	orders.Ordered
	Place   orders.QueuePlace
	Own     bool
	Streams bool   // it changes by itself
	On      string // the other node on which its archives lie
	Silent  bool   // that one is not part of the cluster now
}

func (v *visit) orderRow(o orders.Ordered) *orderRow {
	r := &orderRow{Ordered: o, Own: o.By == v.who.Name}
	if o.State == orders.Waits {
		r.Place = v.Orders.Place(o.OrderID)
	}
	r.Streams = o.State == orders.Looking || o.State == orders.Waits || o.State == orders.Runs ||
		o.State == orders.Asks
	on, there := v.Orders.LiesOn(&o)
	r.On, r.Silent = on, !there
	return r
}

// Minutes is about how long an order waits.
func (r orderRow) Minutes() string { return count.Took(r.Place.Wait.Round(time.Minute)) }

// Class is that of its verdict or state, for colours.
func (r orderRow) Class() string {
	switch r.State {
	case orders.Done:
		return r.Result.Verdict
	case orders.Failed, orders.Refused:
		return "failed"
	case orders.Asks:
		return "gaps"
	}
	return "new"
}

// ordersPage lists the orders of a user; operators see all.
func ordersPage(v *visit) error {
	page := orders.Newest(v.Orders, v.user(), 0, perPage)
	var rows []*orderRow
	for _, o := range page.Orders {
		rows = append(rows, v.orderRow(o.Ordered))
	}
	return v.show("orders.html", "Mirror requests", struct {
		Rows []*orderRow
		More int
		Left orders.Limits
	}{rows, page.More, v.Orders.Left(v.who.Name)})
}

// anOrder shows an order.
func anOrder(v *visit) error {
	o, err := v.order()
	if err != nil {
		return err
	}
	return v.show("oneorder.html", "Request "+o.Ref(), v.orderRow(o))
}

// liveOrder streams where an order stands, until its page is another one.
func liveOrder(v *visit) error {
	o, err := v.order()
	if err != nil {
		return err
	}
	first := orders.State(v.r.FormValue("state")) // that of the page
	look := func() (part []byte, over bool) {
		o, err := v.Orders.Get(o.OrderID)
		if err != nil || o.State != first {
			return nil, true
		}
		row := v.orderRow(o)
		part, err = v.part("orderlive", row)
		return part, err != nil || !row.Streams
	}
	return stream(v, look)
}

// orderAct does something with an order, and redirects back to it. An empty what: the name of the operation.
func (v *visit) orderAct(what string, do func(o orders.Ordered) error) error {
	o, err := v.order()
	if err == nil {
		err = do(o)
	}
	return v.done(act{what: what, about: "order " + v.r.PathValue("n") + " " + o.Want.URL}, err,
		orderPath(o))
}

func placeOrder(v *visit) error {
	return v.orderAct("", func(o orders.Ordered) error {
		return v.Orders.PlaceOrder(o.OrderID, v.user(), v.r.PostFormValue("ask") != "")
	})
}

func cancelOrder(v *visit) error {
	return v.orderAct("", func(o orders.Ordered) error { return v.Orders.Cancel(o.OrderID) })
}

func judgeOrder(v *visit) error {
	yes := v.r.PostFormValue("do") == "approve"
	what := "refuse an order"
	if yes {
		what = "approve an order"
	}
	return v.orderAct(what, func(o orders.Ordered) error {
		return v.Orders.Judge(o.OrderID, v.who.Name, yes, v.r.PostFormValue("why"))
	})
}

func keepOrder(v *visit) error {
	return v.orderAct("", func(o orders.Ordered) error {
		return v.Orders.KeepFresh(o.OrderID, v.who.Operates(), v.r.PostFormValue("fresh"),
			strings.TrimSpace(v.r.PostFormValue("window")))
	})
}

// orderFile sends an archive of an order.
func orderFile(v *visit) error {
	return v.Orders.SendArchive(v.w, v.r, v.user(), v.r.PathValue("n"), v.r.PathValue("name"))
}
