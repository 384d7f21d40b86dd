// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
	"time"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/app/depots"
	"mirrord/app/jobs"
	"mirrord/app/life"
	"mirrord/app/look"
	"mirrord/app/nodes"
	"mirrord/app/replicas"
	"mirrord/app/runs"
	"mirrord/app/search"
	"mirrord/app/spaces"
	"mirrord/cluster/depot"
	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/cluster"
	"mirrord/mirror/report"
	"mirrord/mirror/scope"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store/record"
)

// checkedText is the value of the text "checked".
type checkedText struct {
	*jobs.Checked
	Effective bool
	Dir       string
}

// saidOf are the values of the texts of commands, by template.
func saidOf() map[string]any {
	return map[string]any{
		"apply": &archives.Updated{},
		"archived space": &struct {
			*archives.ExportedSpace
			What string
		}{},
		"cluster":      &cluster.ClusterState{},
		"cluster jobs": &nodes.JobsLook{},
		"depot":        &depots.InDepot{},
		"depot gc": &struct {
			*depot.DepotCollection
			Dry bool
		}{},
		"candidates":         &replicas.Candidates{},
		"pairs":              &cli.TestedPairs{},
		"registry":           &replicas.Registry{},
		"replicas":           &replicas.Replicas{},
		"study":              &replicas.Study{},
		"pull":               &depots.Pulled{},
		"push":               &depots.Pushed{},
		"removed from depot": &depots.RemovedFromDepot{},
		"explained file":     &archives.FileExplanation{},
		"export":             &archives.Exported{},
		"import": &struct {
			*archives.Imported
			Name, Init string
		}{},
		"since when": &look.Wording{},
		"spaces": &struct {
			All      []spaces.LookedSpace
			Verified bool
		}{},
		"spaces in short": &[]spaces.LookedSpace{},
		"daemon":          &status.All{},
		"evolution":       &report.Evolution{},
		"password":        &jobs.UserInfo{},
		"secret":          &jobs.TokenInfo{},
		"users":           &[]jobs.UserInfo{},
		"prices":          &runs.PriceReport{},
		"tuned": &struct {
			*runs.TuneReport
			Flag string
		}{},
		"preview": &struct {
			*runs.Preview
			Takes string
		}{},
		"reloaded": &control.Reloaded{},
		"remove":   &life.Removal{},
		"rename":   &life.Renamed{},
		"rules":    &report.SiteRules{},
		"runs": &struct {
			Job  string
			Runs []status.Run
		}{},
		"status": &struct {
			*status.Job
			Now time.Time
		}{},
		"statuses": &struct {
			status.All
			Dir string
		}{},
		"addresses": &[]care.Forgotten{},
		"checked":   &checkedText{},
		"init":      &jobs.NewJobFile{},
		"told":      &[]control.Told{},
		"tokens":    &[]jobs.TokenInfo{},
		"together":  &report.Associations{},
		"versions":  &[]record.Version{},
		"find":      &search.FoundTexts{},
		"forget":    &care.Forgetting{},
		"forgotten": &struct {
			Job string
			*scope.TakeDowns
		}{},
		"gc":      &care.Collected{},
		"noise":   &look.Difference{},
		"rebuild": &care.Rebuilt{},
		"repair":  &care.Repaired{},
		"verify": &struct {
			What string
			*care.Verified
		}{},
	}
}

// Each text of a command can be made of a value that has everything, and of one that has little.
func TestTextsAreMade(t *testing.T) {
	files, err := filepath.Glob("cli/texts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	a := &cli.CLI{Environ: cli.Environ{LookupEnv: os.LookupEnv}}
	said := saidOf()
	defined, used := regexp.MustCompile(`{{define "([^"]*)"`), regexp.MustCompile(`(?:clauses "[^"]*"|template) "([^"]*)"`)
	parts := map[string]bool{}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range defined.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
		for _, m := range used.FindAllStringSubmatch(string(text), -1) {
			parts[m[1]] = true
		}
	}
	for _, name := range names {
		v := said[name]
		if v == nil {
			if !parts[name] {
				t.Errorf("no value of the text %q", name)
			}
			continue
		}
		for _, all := range []bool{false, true} {
			fill(reflect.ValueOf(v), all, 0)
			if c, is := v.(*checkedText); is && all {
				c.Files[0].NotRead = false // nothing is said of the other
			}
			if got, err := a.Text(name, v); err != nil || (got == "" && all) {
				t.Errorf("%s, all %v: %q, %v", name, all, got, err)
			}
		}
	}
}

// fill gives a value something in each field, or else only what pointers lead to.
func fill(v reflect.Value, all bool, depth int) {
	if !v.CanSet() && v.Kind() != reflect.Pointer {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && v.CanSet() && depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			fill(v.Elem(), all, depth+1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1e9, 0)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), all, depth+1)
		}
	case reflect.Slice:
		if all && depth < 8 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), all, depth+1)
			fill(v.Index(1), all, depth+1)
		}
	case reflect.Map:
		if all && v.Type().Key().Kind() == reflect.String {
			of := reflect.New(v.Type().Elem()).Elem()
			fill(of, all, depth+1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), of)
		}
	case reflect.String:
		if all {
			v.SetString("text")
		}
	case reflect.Bool:
		v.SetBool(all)
	case reflect.Int, reflect.Int64:
		if all {
			v.SetInt(2)
		}
	}
}
