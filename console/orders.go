// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/access"
	"mirrord/app"
	"mirrord/app/orders"
	"mirrord/job"
)

// wanted reads what a form orders.
func (v *visit) wanted() (w orders.Wish, err error) {
	field := func(name string) string { return strings.TrimSpace(v.r.PostFormValue(name)) }
	w = orders.Wish{
		URL:      field("url"),
		Scope:    field("scope"),
		Types:    words(field("types")),
		NotTypes: words(field("not_types")),
		First:    job.Order(field("first")),
		Language: field("language"),
		Forms:    v.r.PostForm["form"],
		Mail:     field("mail"),
		Fresh:    field("fresh"),
		Window:   field("window"),
		Part:     field("part") != "",
	}
	slices.Sort(w.Forms)
	w.Forms = slices.Compact(w.Forms)
	var bad []error
	number := func(name string) int64 {
		n, err := strconv.ParseInt(orZero(field(name)), 10, 64)
		if err != nil {
			bad = append(bad, app.Usagef("%s: %q is no number", name, access.Clip(field(name))))
		}
		return n
	}
	w.Depth, w.Files = number("depth"), number("files")
	megabytes := number("size")
	if megabytes > 1e9 {
		bad = append(bad, app.Usagef("size: %d MB are more than any disk has", megabytes))
	}
	w.Size = job.Size(megabytes * 1e6)
	gap, err := strconv.ParseFloat(orZero(field("delay")), 64)
	if err != nil || gap < 0 || gap > 3600 {
		bad = append(bad, app.Usagef("delay: %q is no number of seconds", access.Clip(field("delay"))))
	}
	w.Delay = time.Duration(gap * float64(time.Second))
	if at := field("start"); at != "" {
		if w.Start, err = time.Parse("2006-01-02T15:04", at); err != nil {
			bad = append(bad, app.Usagef("start: %q is not a time such as 2026-12-01T03:00", access.Clip(at)))
		}
	}
	if len(bad) > 0 {
		return w, bad[0]
	}
	return w, nil
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

// words are the words of a list that somebody typed.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
}

// orderData is what the order form shows.
type orderData struct {
	Want      orders.Wish
	Problem   string
	Field     string // that the problem is about
	Limits    orders.Limits
	Left      orders.Remaining
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

// Scopes are the choices of what is taken in.
func (d orderData) Scopes() [][2]string {
	return [][2]string{{"directory", "what lies below this address"}, {"host", "the whole host"},
		{"domain", "all hosts of the domain"}}
}

// Firsts are the choices of which pages come first.
func (d orderData) Firsts() [][2]string {
	return [][2]string{{"linked", "what many pages link to"}, {"breadth", "what is few links away"},
		{"depth", "what is many links away"}, {"path", "directory after directory"}}
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
func (d orderData) At(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04")
}

// orderPage shows the order form, filled in with an address, or with an earlier order.
func orderPage(v *visit) error {
	w := v.o.Orders.Suggest(v.who.Name)
	w.URL = strings.TrimSpace(v.r.FormValue("url"))
	if like := v.r.FormValue("like"); like != "" {
		o, err := v.order(like)
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
		Limits:    v.o.Orders.Limits(),
		Left:      v.o.Orders.Left(v.who.Name),
		Forms:     orders.Forms(),
		Mails:     v.o.Orders.Mails(),
		Schedules: schedules(),
	}
	if problem != nil {
		d.Problem = app.Remedied(problem)
		d.Field, _, _ = strings.Cut(d.Problem, ":")
	}
	to, _ := url.JoinPath(v.base(), "order")
	d.Bookmark = template.URL("javascript:location.href='" + template.JSEscapeString(to) +
		"?url='+encodeURIComponent(location.href)")
	return v.draw(code, "order.html", "Order a mirror", d)
}

func (v *visit) user() orders.User {
	return orders.User{Name: v.who.Name, Operator: v.who.Operates(), Base: v.base()}
}

// draftOrder takes an order form: a preview follows. What is wrong is shown beside what was filled in.
func draftOrder(v *visit) error {
	w, err := v.wanted()
	var o orders.Ordered
	if err == nil {
		o, err = v.o.Orders.Draft(v.user(), w)
	}
	if usage, is := errors.AsType[*app.Error](err); is && usage.Kind == app.Usage {
		return v.orderForm(http.StatusUnprocessableEntity, w, err)
	}
	return v.done(act{what: "draft an order", about: w.String()}, err, orderPath(o.Number))
}

func orderPath(n uint64) string { return "/orders/" + strconv.FormatUint(n, 10) }

// order is one that the visitor may see: their own, or for operators any.
func (v *visit) order(number string) (orders.Ordered, error) {
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return orders.Ordered{}, errNoPage
	}
	o, err := v.o.Orders.Get(n)
	if err == nil && o.By != v.who.Name && !v.who.Operates() {
		err = orders.ErrNone
	}
	return o, err
}

// orderRow is an order as a page shows it.
type orderRow struct {
	orders.Ordered
	Place   orders.QueuePlace
	Own     bool
	Too     string // why it is more than what is ordered
	Streams bool   // it changes by itself
}

func (v *visit) orderRow(o orders.Ordered) orderRow {
	r := orderRow{Ordered: o, Own: o.By == v.who.Name}
	if o.State == orders.Waits {
		r.Place = v.o.Orders.Place(o.Number)
	}
	r.Streams = o.State == orders.Looking || o.State == orders.Waits || o.State == orders.Runs ||
		o.State == orders.Asks
	return r
}

// Minutes is about how long an order waits.
func (r orderRow) Minutes() string { return r.Place.Wait.Round(time.Minute).String() }

// Takes is how long all that the preview estimates takes at least.
func (r orderRow) Takes() time.Duration { return r.Ordered.Takes() }

// Words says where it stands.
func (r orderRow) Words() string { return r.State.Words() }

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

// Ready reports whether there is something to download.
func (r orderRow) Ready() bool { return r.State == orders.Done }

// ordersPage lists the orders of a user; operators see all.
func ordersPage(v *visit) error {
	user := v.who.Name
	if v.who.Operates() {
		user = ""
	}
	all := v.o.Orders.List(user)
	more := max(0, len(all)-perPage)
	var rows []orderRow
	for _, o := range all[:len(all)-more] {
		rows = append(rows, v.orderRow(o))
	}
	return v.draw(http.StatusOK, "orders.html", "Orders", struct {
		Rows []orderRow
		More int
		Left orders.Remaining
	}{rows, more, v.o.Orders.Left(v.who.Name)})
}

// anOrder shows an order.
func anOrder(v *visit) error {
	o, err := v.order(v.r.PathValue("n"))
	if err != nil {
		return err
	}
	return v.draw(http.StatusOK, "oneorder.html", "Order "+strconv.FormatUint(o.Number, 10), v.orderRow(o))
}

// liveOrder streams where an order stands, until its page is another one.
func liveOrder(v *visit) error {
	o, err := v.order(v.r.PathValue("n"))
	if err != nil {
		return err
	}
	first := orders.State(v.r.FormValue("state")) // that of the page
	look := func() (part []byte, over bool) {
		o, err := v.o.Orders.Get(o.Number)
		if err != nil || o.State != first {
			return nil, true
		}
		row := v.orderRow(o)
		part, err = v.part("orderlive", row)
		return part, err != nil || !row.Streams
	}
	return stream(v, fmt.Sprintf("order %d %s", o.Number, access.Clip(string(first))), look)
}

// orderAct does something with an order, and leads back to it.
func (v *visit) orderAct(what string, do func(o orders.Ordered) error) error {
	o, err := v.order(v.r.PathValue("n"))
	if err == nil {
		err = do(o)
	}
	return v.done(act{what: what, about: "order " + v.r.PathValue("n") + " " + o.Want.URL}, err,
		orderPath(o.Number))
}

func placeOrder(v *visit) error {
	return v.orderAct("place an order", func(o orders.Ordered) error {
		return v.o.Orders.PlaceOrder(o.Number, v.user(), v.r.PostFormValue("ask") != "")
	})
}

func cancelOrder(v *visit) error {
	return v.orderAct("cancel an order", func(o orders.Ordered) error { return v.o.Orders.Cancel(o.Number) })
}

func judgeOrder(v *visit) error {
	yes := v.r.PostFormValue("do") == "approve"
	what := "refuse an order"
	if yes {
		what = "approve an order"
	}
	return v.orderAct(what, func(o orders.Ordered) error {
		return v.o.Orders.Judge(o.Number, v.who.Name, yes, access.Clip(v.r.PostFormValue("why")))
	})
}

func keepOrder(v *visit) error {
	return v.orderAct("keep an order fresh", func(o orders.Ordered) error {
		return v.o.Orders.KeepFresh(o.Number, v.who.Operates(), v.r.PostFormValue("fresh"),
			strings.TrimSpace(v.r.PostFormValue("window")))
	})
}

// downloadFor is how long a download may take.
const downloadFor = 24 * time.Hour

// orderFile sends an archive of an order.
func orderFile(v *visit) error {
	o, err := v.order(v.r.PathValue("n"))
	if err != nil {
		return err
	}
	name := v.r.PathValue("name")
	path, err := v.o.Orders.Archive(o.Number, name)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return v.download(f, name)
}

// download sends a file that is saved and never shown.
func (v *visit) download(f *os.File, name string) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	// a server that cannot move its deadline sends what it can
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(downloadFor))
	h := v.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	http.ServeContent(v.w, v.r, "", fi.ModTime(), f)
	return nil
}
