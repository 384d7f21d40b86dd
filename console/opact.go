// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/ops"
	"mirrord/app/replicas"
	"mirrord/scheduler/control"
)

// actData is what the page of an operation shows.
type actData struct {
	Job     string
	Op      ops.Operation
	Fields  []argField
	Plans   bool     // it is shown what it does before it is done
	Planned bool     // that is what the page shows
	Plan    []string // what it does
	Tag     string   // of the job file that the plan is about
	Problem string
}

// argField is an argument in a form.
type argField struct {
	Name, Label, Value string
	Check              bool // is a check box
}

// act is a request of the visitor for the operation of the route.
func (v *visit) act() ops.Act {
	return ops.Act{Host: ops.Host{Daemon: v.Daemon, App: v.App}, Job: v.job, Who: v.who.Name}
}

// actPage is the form of an operation. Of one that deletes it shows what that would be, once its arguments
// are given.
func actPage(v *visit) error {
	d := actData{Job: v.job, Op: v.op, Plans: v.op.Risk == ops.Deletes}
	in := v.op.In()
	missing := false
	for f := range reflect.TypeOf(in).Elem().Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if label := f.Tag.Get("doc"); label != "" {
			value := v.r.FormValue(name)
			missing = missing || (rest == "" && value == "")
			d.Fields = append(d.Fields, argField{
				Name:  name,
				Label: label,
				Value: value,
				Check: f.Type.Kind() == reflect.Bool,
			})
		}
	}
	code := http.StatusOK
	if d.Plans && !missing {
		err := ops.ReadValues(v.r.Form, in)
		if err != nil {
			return err
		}
		switch d.Plan, d.Tag, err = v.planned(in); {
		case isUsage(err):
			code, d.Problem = http.StatusUnprocessableEntity, env.Remedied(err)
		case err != nil:
			return err
		default:
			d.Planned = true
		}
	}
	return v.draw(code, "act.html", v.op.Doc+": "+v.job, d)
}

// planned says what an operation that deletes would do, by the job file of a tag.
func (v *visit) planned(in any) (plan []string, tag string, err error) {
	if tag, err = v.jobTag(); err != nil {
		return nil, "", err
	}
	reflect.ValueOf(in).Elem().FieldByName("Dry").SetBool(true)
	out, err := v.op.Do(v.r.Context(), v.act(), in)
	if err != nil {
		return nil, "", err
	}
	return out.(interface{ Plan() []string }).Plan(), tag, nil
}

// asPlanned wants the job file to be the one that a plan was about.
func (v *visit) asPlanned(tag string) error {
	now, err := v.jobTag()
	if err == nil && now != tag {
		return ops.ErrChanged
	}
	return err
}

// jobTag is the tag of the job file; "" of a mirror that has none.
func (v *visit) jobTag() (string, error) {
	if !env.Exists(v.App.JobFile(v.job)) {
		return "", nil
	}
	t, err := jobs.ReadJobText(v.App, v.job)
	if err != nil {
		return "", err
	}
	return t.Tag, nil
}

// doAct does the operation of the route with the arguments of a form. What deletes is refused when the job
// file is not the one that its plan was about.
func doAct(v *visit) error {
	in := v.op.In()
	err := ops.ReadValues(v.r.PostForm, in)
	if err == nil && v.op.Risk == ops.Deletes {
		err = v.asPlanned(v.r.PostFormValue("tag"))
	}
	if err == nil {
		w := http.NewResponseController(v.w)
		_ = w.SetWriteDeadline(time.Now().Add(actFor)) // where there is one
		var out any
		out, err = v.op.Do(v.r.Context(), v.act(), in)
		if told, is := out.([]control.Told); is && err == nil {
			err = untold(told)
		}
	}
	a := act{}
	if in, says := in.(interface{ About() string }); says {
		a.about = in.About()
	}
	to := jobPath(v.job, "")
	switch in := in.(type) {
	case *ops.Removing:
		to = "/"
	case *ops.NewName:
		to = jobPath(in.To, "")
	case *ops.OlderVersion:
		to = jobPath(v.job, "versions")
	case *ops.NamedPlace:
		to = jobPath(v.job, "equivalents")
	}
	return v.done(a, err, to)
}

// untold is the error of the messages that were not delivered.
func untold(told []control.Told) error {
	var bad []string
	for _, t := range told {
		if t.Error != "" {
			bad = append(bad, t.To+": "+t.Error)
		}
	}
	switch {
	case len(told) == 0:
		return env.Usagef("the job names no receiver: add one in its table notify")
	case bad != nil:
		return fmt.Errorf("%w: not delivered: %s", control.ErrConflict, strings.Join(bad, "; "))
	}
	return nil
}

// equivalentsData is what the page of places shows that have what a mirror has.
type equivalentsData struct {
	Job string
	All []replicas.RegistryEquivalent
}

// actFor is how long an operation may take, such as the test of a place.
const actFor = 20 * time.Minute

// equivalentsPage lists the places of the registry, and has the form that registers another one.
func equivalentsPage(v *visit) error {
	m, err := replicas.EquivalentsOf(v.App, v.job)
	if err != nil {
		return err
	}
	d := equivalentsData{Job: v.job, All: m.Equivalents}
	return v.show("equivalents.html", "Mirror URLs of "+v.job, d)
}
