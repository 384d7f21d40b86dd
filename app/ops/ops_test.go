// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"strings"
	"testing"

	"mirrord/app/access"
)

// The rows of the table are whole, and each name, call and reason stands there once.
func TestTable(t *testing.T) {
	names, calls := map[string]bool{}, map[string]string{}
	for _, o := range Table() {
		if names[o.Name] {
			t.Errorf("%s stands there twice", o.Name)
		}
		names[o.Name] = true
		if o.Doc == "" || strings.HasSuffix(o.Doc, ".") || o.Doc[:1] != strings.ToUpper(o.Doc[:1]) {
			t.Errorf("%s: %q is no sentence without its full stop", o.Name, o.Doc)
		}
		if o.Risk == Reads && o.Done != "" {
			t.Errorf("%s only reads and says what it did", o.Name)
		}
		if o.Risk > Reads && o.Need == access.Read {
			t.Errorf("%s: readers change nothing", o.Name)
		}
		if o.Call != "" && calls[o.Call] != "" {
			t.Errorf("%s has the call of %s", o.Name, calls[o.Call])
		}
		calls[o.Call] = o.Name
		method, _, _ := strings.Cut(o.Call, " ")
		if o.Call != "" && (method == "GET") != (o.Risk == Reads) {
			t.Errorf("%s: %s with risk %d", o.Name, method, o.Risk)
		}
		if o.Call != "" && strings.Contains(o.Call, "{job}") != (o.On == Job) {
			t.Errorf("%s: %s is not on a job", o.Name, o.Call)
		}
		_, noAPI := Lacking()[API][o.Name]
		_, noSocket := Lacking()[Socket][o.Name]
		if (o.Call == "") != (noAPI && noSocket) || (o.run == nil && !noSocket) {
			t.Errorf("%s: call %q; API and socket lack it: %v, %v", o.Name, o.Call, noAPI, noSocket)
		}
	}
	for at, lacks := range Lacking() {
		for name, why := range lacks {
			if !names[name] || why == "" {
				t.Errorf("%s lacks %s, which is no operation, or without a reason", at, name)
			}
		}
	}
	for _, of := range []map[string]string{acts(), commands()} {
		for name := range of {
			if !names[name] {
				t.Errorf("%s is no operation", name)
			}
		}
	}
	for name, want := range map[string]string{
		"pause": "pause", "removeJob": "remove the job", "job": "", "hook": "",
	} {
		if got := Named(name).Act(); got != want {
			t.Errorf("%s: act %q, want %q", name, got, want)
		}
	}
}
