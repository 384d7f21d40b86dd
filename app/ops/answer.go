// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strconv"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/scheduler/control"
	"mirrord/serve/find"
	"mirrord/store/home"
	"mirrord/store/record"
)

// most is how many bytes a request may have.
const most = 64 << 10

// every is how often a client hears where a run stands.
const every = 250 * time.Millisecond

// Answer does what a request asks for and answers. An error is not answered yet.
func (o Operation) Answer(w http.ResponseWriter, r *http.Request, a Act, log *slog.Logger) error {
	in := o.In()
	err := o.read(w, r, in)
	if err != nil {
		return err
	}
	v, err := o.Do(r.Context(), a, in)
	if err != nil {
		return err
	}
	b, runs := v.(*begun)
	switch {
	case runs:
		log.Info("asked for", "what", o.Name, "job", a.Job, "attached", b.attached, "accept", b.request.Accept,
			"full", b.request.Full, "now", b.request.Now, "set", keysOf(b.request.Set))
		b.answer(w, r, log)
	case o.Risk > Reads:
		log.Info("asked for", "what", o.Name, "job", a.Job, "user", a.Who)
		fallthrough
	default:
		send(w, log, http.StatusOK, v)
	}
	return nil
}

// read decodes the arguments of a request: from its body, of which nothing is an empty one, or from its query
// when it only reads or deletes.
func (o Operation) read(w http.ResponseWriter, r *http.Request, into any) error {
	if _, none := into.(*None); none {
		return nil
	}
	if o.Risk != Changes {
		return o.invalid("", readValues(r.URL.Query(), into))
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return o.invalid("body: ", err)
	}
	return nil
}

// invalid is the error of arguments that cannot be read; nil without err. It names the operation by the last
// element of its path.
func (o Operation) invalid(in string, err error) error {
	if err == nil {
		return nil
	}
	return &control.Error{Code: control.Invalid, Message: path.Base(o.Call) + ": " + in + err.Error()}
}

// ReadValues sets the fields of a struct from a query or a form. The tag bounds of a number is its least and
// greatest value, and what it is when it is not given.
func ReadValues(q url.Values, into any) error {
	if err := readValues(q, into); err != nil {
		return fmt.Errorf("%w: %w", control.ErrInvalid, err)
	}
	return nil
}

func readValues(q url.Values, into any) error {
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(q.Has(name))
		case reflect.Int:
			bounds := cmp.Or(v.Type().Field(i).Tag.Get("bounds"), "0,1000000000,0")
			least, rest, _ := strings.Cut(bounds, ",")
			greatest, otherwise, _ := strings.Cut(rest, ",")
			n, err := strconv.Atoi(cmp.Or(q.Get(name), otherwise))
			lo, _ := strconv.Atoi(least)
			hi, _ := strconv.Atoi(greatest)
			if err != nil || n < lo || n > hi {
				return fmt.Errorf("%s is a number from %s to %s", name, least, greatest)
			}
			f.SetInt(int64(n))
		case reflect.Uint64:
			if text := q.Get(name); text != "" {
				n, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					return fmt.Errorf("%s is a number", name)
				}
				f.SetUint(n)
			}
		case reflect.String:
			f.SetString(q.Get(name))
		}
	}
	return nil
}

// answer says where a run stands until it has ended, or once when the client does not wait.
func (b *begun) answer(w http.ResponseWriter, r *http.Request, log *slog.Logger) {
	if !b.request.Wait {
		e := control.Event{Attached: &b.attached}
		select { // for a moment, so that the answer can say what it waits for
		case <-time.After(every / 2):
		case <-b.Done():
		case <-r.Context().Done():
		}
		if j, err := b.progress(); err == nil {
			e.Job = &j
		}
		send(w, log, http.StatusAccepted, e)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	enc, flush := json.NewEncoder(w), http.NewResponseController(w)
	event := func(e control.Event) bool { return enc.Encode(e) == nil && flush.Flush() == nil }
	if !event(control.Event{Attached: &b.attached}) {
		return
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-r.Context().Done():
			return // the run continues
		case <-b.Done():
			res, err := b.Result()
			if err != nil {
				event(control.Event{Error: &control.Error{Code: CodeOf(err), Message: err.Error()}})
				return
			}
			event(control.Event{Run: &res})
			return
		case <-t.C:
			if j, err := b.progress(); err == nil && !event(control.Event{Job: &j}) {
				return
			}
		}
	}
}

// keysOf leaves out the values of KEY=VALUE: they may be secrets.
func keysOf(set []string) []string {
	var out []string
	for _, kv := range set {
		key, _, _ := strings.Cut(kv, "=")
		out = append(out, strings.TrimSpace(key))
	}
	return out
}

// CodeOf is the code of an error of an operation.
func CodeOf(err error) control.Code {
	usage, isUsage := errors.AsType[*env.Error](err)
	_, inFile := errors.AsType[job.Errors](err)
	switch {
	case errors.Is(err, control.ErrNotFound), errors.Is(err, home.ErrNoSite),
		errors.Is(err, record.ErrNoVersion), env.FieldOf(err) == env.FieldState:
		return control.NotFound
	case errors.Is(err, control.ErrConflict), errors.Is(err, find.ErrNoIndex), errors.Is(err, find.ErrDamaged),
		env.FieldOf(err) == env.FieldImported, isUsage && usage.Kind == env.Locked:
		return control.Conflict
	case errors.Is(err, control.ErrInvalid), inFile, isUsage && usage.Kind == env.Usage:
		return control.Invalid
	}
	return control.Internal
}

// StatusOf is the status of an answer with a code of CodeOf.
func StatusOf(code control.Code) int {
	switch code {
	case control.NotFound:
		return http.StatusNotFound
	case control.Conflict:
		return http.StatusConflict
	case control.Invalid:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func send(w http.ResponseWriter, log *slog.Logger, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Debug("answer not sent", "err", err)
	}
}
