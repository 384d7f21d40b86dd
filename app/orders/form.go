// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/job"
)

// WishForm is a wish as users send it, in JSON or in the fields of a web form, see ReadForm.
type WishForm struct {
	URL      string   `json:"url"` // without a scheme it is https
	Scope    string   `json:"scope"`
	Depth    int64    `json:"depth"`           // links; 0: no limit
	Files    int64    `json:"files"`           // the most; without it the rest of the day's quota
	Bytes    int64    `json:"bytes"`           // the most, of all bodies
	Types    []string `json:"types,omitempty"` // as scope.types of a job
	NotTypes []string `json:"not_types,omitempty"`
	// which pages come first: linked (the default), breadth, depth or path
	First    string    `json:"first,omitempty"`
	Language string    `json:"language,omitempty"` // Accept-Language of the requests
	Delay    float64   `json:"delay"`              // seconds
	Forms    []string  `json:"forms"`              // archives; without it phm
	Mail     string    `json:"mail,omitempty"`     // address that gets mail when it is ready
	Start    time.Time `json:"start,omitzero"`     // not before
	Fresh    string    `json:"fresh,omitempty"`    // schedule of a job that keeps it fresh
	Window   string    `json:"window,omitempty"`   // hours of that job
	Part     bool      `json:"part,omitempty"`     // a part is enough when there is more
}

// FormOf is a wish as it is sent.
func FormOf(w Wish) WishForm {
	return WishForm{
		URL:      w.URL,
		Scope:    w.Scope,
		Depth:    w.Depth,
		Files:    w.Files,
		Bytes:    int64(w.Size),
		Types:    w.Types,
		NotTypes: w.NotTypes,
		First:    string(w.First),
		Language: w.Language,
		Delay:    w.Delay.Seconds(),
		Forms:    w.Forms,
		Mail:     w.Mail,
		Start:    w.Start,
		Fresh:    w.Fresh,
		Window:   w.Window,
		Part:     w.Part,
	}
}

// Wish is what the form says. Draft finds fault with it.
func (f *WishForm) Wish() Wish {
	forms := slices.Clone(f.Forms)
	slices.Sort(forms)
	return Wish{
		URL:      strings.TrimSpace(f.URL),
		Scope:    f.Scope,
		Depth:    f.Depth,
		Files:    f.Files,
		Size:     job.Size(f.Bytes),
		Types:    f.Types,
		NotTypes: f.NotTypes,
		First:    job.Order(f.First),
		Language: strings.TrimSpace(f.Language),
		Delay:    time.Duration(min(max(f.Delay, -1), 3600) * float64(time.Second)),
		Forms:    slices.Compact(forms),
		Mail:     strings.TrimSpace(f.Mail),
		Start:    f.Start,
		Fresh:    f.Fresh,
		Window:   strings.TrimSpace(f.Window),
		Part:     f.Part,
	}
}

// startLayout is a time as browsers send it, in UTC.
const startLayout = "2006-01-02T15:04"

// StartField is a time as the field of a web form has it; "" for none.
func StartField(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(startLayout)
}

// ReadForm reads the fields of a web form, which are named as the keys of WishForm, but for two: size, in
// megabytes, and form, once for each that is chosen. What can be read is returned with the first problem.
func ReadForm(fields url.Values) (Wish, error) {
	field := func(name string) string { return strings.TrimSpace(fields.Get(name)) }
	f := WishForm{
		URL:      field("url"),
		Scope:    field("scope"),
		Types:    words(field("types")),
		NotTypes: words(field("not_types")),
		First:    field("first"),
		Language: field("language"),
		Forms:    fields["form"],
		Mail:     field("mail"),
		Fresh:    field("fresh"),
		Window:   field("window"),
		Part:     field("part") != "",
	}
	var problem error
	wrong := func(name, format string) {
		if problem == nil {
			problem = env.Usagef("%s: "+format, name, access.Clip(field(name)))
		}
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(cmp.Or(field(name), "0"), 10, 64)
		if err != nil {
			wrong(name, "%q is no number")
		}
		return n
	}
	f.Depth, f.Files = number("depth"), number("files")
	megabytes := number("size")
	if megabytes > 1e9 {
		wrong("size", "%s MB are more than any disk has")
	}
	f.Bytes = min(megabytes, 1e9) * 1e6
	gap, err := strconv.ParseFloat(cmp.Or(field("delay"), "0"), 64)
	if err != nil || math.IsNaN(gap) {
		gap = 0
		wrong("delay", "%q is no number of seconds")
	}
	f.Delay = gap
	if at := field("start"); at != "" {
		if f.Start, err = time.Parse(startLayout, at); err != nil {
			wrong("start", "%q is not a time such as 2026-12-01T03:00")
		}
	}
	return f.Wish(), problem
}

// words are the words of a typed list.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
}
