// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"mirrord/app/access"
	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/app/ops"
	"mirrord/app/orders"
	"mirrord/app/spaces"
	"mirrord/docs"
	"mirrord/internal/count"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

//go:embed pages static
var files embed.FS

// commandTexts has a line for each command that the console has too: the text, " = ", and what a page has
// instead. Its buttons belong to the form "fix".
//
//go:embed pages/commands.txt
var commandTexts string

func parsePages() (*template.Template, error) {
	t := template.New("pages").Funcs(template.FuncMap{
		"ago":   func(now, t time.Time) template.HTML { return timeTag(t, ago(now, t)) },
		"since": func(now, t time.Time) string { return count.Ago(now.Sub(t)) },
		"share": func(n, of int64) int64 { return 100 * n / of },
		"soon":  func(now, t time.Time, zone string) template.HTML { return timeTag(t, soon(now, t, zone)) },
		"when":  when,
		"exact": exact,
		"guide": docs.Title,
		"size":  count.Bytes,
		"rate":  rateText,
		"took":  count.Took,
		"prose": prose,
		"lost":  care.SayLost,

		"address": addressAttr,

		"shown":   status.Shown,
		"growth":  look.Growth,
		"forms":   orders.Forms,
		"purpose": purpose,
		"path":    jobPath,
		"add":     func(a, b int) int { return a + b },
		"n":       count.OfAny,
		"digits":  digits,
		"run":     func(j *status.Job) string { return runID(*j) },
		"pair":    pairPath,
		"view":    viewPath,
		"last":    func(s string) string { return s[strings.LastIndexByte(s, '/')+1:] },
	})
	return t.ParseFS(files, "pages/*.html")
}

// prose is a text about a job as its page shows it: with times and days as elsewhere, and without those
// commands.
func prose(job, text string) template.HTML {
	lines := strings.NewReplacer("JOB", job, "PAGE", jobPath(job, ""), "\n", " = ").Replace(commandTexts)
	pairs := strings.Split(strings.TrimSuffix(lines, " = "), " = ")
	at := regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\dZ| UTC)`)
	text = strings.NewReplacer(pairs...).Replace(template.HTMLEscapeString(text))
	text = at.ReplaceAllStringFunc(text, func(s string) string {
		t, err := time.Parse("2006-01-02 15:04", s[:10]+" "+s[11:16])
		if err != nil {
			return s
		}
		return string(when(t))
	})
	day := regexp.MustCompile(`\b(since|on) \d{4}-\d\d-\d\d\b`)
	return template.HTML(day.ReplaceAllStringFunc(text, func(s string) string {
		word, date, _ := strings.Cut(s, " ")
		t, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return s
		}
		return word + t.Format(` <time datetime="2006-01-02">2 Jan 2006</time>`)
	}))
}

// addressAttr is an attribute with an address of mirrord serve as it stands. Package html/template escapes
// quotes and parentheses in addresses, which makes the URL in one of a Memento another URL.
func addressAttr(name, to string) template.HTMLAttr {
	return template.HTMLAttr(name + `="` + html.EscapeString(to) + `"`)
}

// digits is a number in groups of three digits.
func digits(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// rateText is the rate at which the bytes of a run come; "" while it cannot be told.
func rateText(p *status.Progress) string {
	if p.Elapsed <= time.Second {
		return ""
	}
	return count.Bytes(int64(float64(p.Bytes)/p.Elapsed.Seconds())) + "/s"
}

// drawn is what the templates get.
type drawn struct {
	Title string
	Who   account
	Here  string // path of the page, without its query
	Job   string // that the page is about; ""
	Now   time.Time
	Said  string // what the act before came to
	Data  any

	Finds    bool // there are the pages Find and Replicas
	Spaces   bool // there are some
	Orders   bool // the visitor may order
	MayOrder bool // and download, also where there are no orders
}

// Operates and the like let templates ask for rights.
func (a account) Operates() bool { return a.Role >= Operate }

// In reports whether a user is logged in.
func (a account) In() bool { return a.Role > Anonymous }

// Session reports whether there is a session to end.
func (a account) Session() bool { return a.via == "session" }

// show sends a page.
func (v *visit) show(name, title string, data any) error {
	return v.draw(http.StatusOK, name, title, data)
}

// draw sends a page with a status.
func (v *visit) draw(code int, name, title string, data any) error {
	d := drawn{
		Title: title,
		Who:   v.who,
		Here:  v.r.URL.Path,
		Job:   v.job,
		Now:   v.Now(),
		Said:  said(v.r.FormValue("said")),
		Data:  data,

		Finds:    v.Texts != nil,
		Spaces:   v.App != nil && spaces.HasSpaces(v.App),
		Orders:   v.Orders != nil && v.who.Role >= Order,
		MayOrder: v.who.Role >= Order,
	}
	var b bytes.Buffer
	if err := v.pages.ExecuteTemplate(&b, name, d); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	send(v.w, v.r, code, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// send sends a text, compressed for a client that wants that.
func send(w http.ResponseWriter, r *http.Request, code int, kind string, body []byte) {
	gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		w.Write(body) // an error means that the client has disconnected
	})).ServeHTTP(w, r)
}

// said is what the page after an act says of it, by a word in its address: no text of an address is shown.
func said(word string) string {
	switch word {
	case "going":
		return "A run is under way already; this is it."
	case "changed":
		return "The password was changed. Other sessions of yours have ended."
	case "refused":
		return "The job file was saved, and the daemon refuses it: see below."
	}
	all := ops.Table()
	if i := slices.IndexFunc(all, func(o ops.Operation) bool { return o.Name == word }); i >= 0 {
		return all[i].Done
	}
	return ""
}

// fail sends the page of an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, who account, err error) {
	code, what := http.StatusInternalServerError, ""
	_, large := errors.AsType[*http.MaxBytesError](err)
	said, _ := errors.AsType[*env.Error](err)
	_, isProvider := errors.AsType[oidcError](err)
	_, away := errors.AsType[*access.AwayError](err)
	if errors.Is(err, errLogin) && isFeed(r) && s.Passwords != nil {
		w.Header().Set("WWW-Authenticate", `Basic realm="mirrord feeds: a token as the password"`)
	}
	wrong, isWrong := errors.AsType[*control.MethodError](err)
	if errors.Is(err, errLogin) && r.Header.Get("HX-Request") != "" {
		w.Header().Set("HX-Refresh", "true") // the form of the login is a page of its own
	}
	switch {
	case errors.Is(err, errLogin) && s.asks():
		s.askLogin(w, r, "")
		return
	case errors.Is(err, errLogin):
		code = http.StatusUnauthorized
		what = "Run the command “mirrord console” on the machine of the daemon: it prints a link that logs you in."
	case errors.Is(err, errLink):
		code, what = http.StatusForbidden, "The command “mirrord console” makes a new one."
	case errors.Is(err, errTries): // no page, which would cost more than the refused request
		w.Header().Set("Retry-After", strconv.Itoa(int(triesFor.Seconds())))
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	case errors.Is(err, errRole), errors.Is(err, errCrossOrigin), errors.Is(err, errClear),
		errors.Is(err, access.ErrNoRole):
		code = http.StatusForbidden
	case errors.Is(err, access.ErrGoing):
		code, what = http.StatusForbidden, "Go to /login and begin again."
	case isProvider:
		code, what = http.StatusBadGateway, "Try again; an operator finds more in the audit log."
	case away:
		code = http.StatusBadGateway
		what = "Try again in a minute. If the node is gone for good, mirrord cluster remove says so."
	case isWrong:
		w.Header().Set("Allow", wrong.Allow)
		code, what = http.StatusMethodNotAllowed, "Go to the page that this form or link belongs to."
	case errors.Is(err, errNoPage), errors.Is(err, control.ErrNotFound), errors.Is(err, home.ErrNoSite),
		errors.Is(err, record.ErrNoVersion):
		code = http.StatusNotFound
	case errors.Is(err, disk.ErrLocked), said != nil && said.Kind == env.Locked:
		code, what = http.StatusConflict, "A run or a command works on it. Try again when that has ended."
	case errors.Is(err, control.ErrConflict), errors.Is(err, jobs.ErrJobMoved):
		code = http.StatusConflict
	case errors.Is(err, errExports), errors.Is(err, errOwn), errors.Is(err, errStreams):
		code = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "60")
	case errors.Is(err, control.ErrInvalid), errors.Is(err, errForm), isUsage(err):
		code = http.StatusBadRequest
	case large:
		code, what = http.StatusRequestEntityTooLarge, fmt.Sprintf("At most %s.", count.Bytes(most))
	default:
		s.Log.Error("console", "path", r.URL.Path, "err", err)
	}
	v := &visit{
		Server: s,
		w:      w,
		r:      r,
		who:    who,
	}
	says := struct{ Why, Do string }{env.Remedied(err), what}
	if code == http.StatusInternalServerError && !who.Operates() { // it may name paths of the machine
		says.Why = "This cannot be shown now. The operator finds the reason in the log of the daemon."
	}
	if derr := v.draw(code, "error.html", http.StatusText(code), says); derr != nil {
		s.Log.Error("console", "err", derr)
		http.Error(w, http.StatusText(code), code)
	}
}

// static adds the style sheet and the script, which need no login.
func (s *Server) static() error {
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		return err
	}
	for _, e := range entries {
		body, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			return err
		}
		kind := mime.TypeByExtension(path.Ext(e.Name()))
		s.mux.HandleFunc("GET /static/"+e.Name(), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=3600")
			send(w, r, http.StatusOK, kind, body)
		})
	}
	return nil
}
