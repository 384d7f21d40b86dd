// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"slices"
	"strings"
	"testing"

	"mirrord/app/access"
)

// The rows of the table are whole, and each name, call and reason stands there once.
func TestTable(t *testing.T) {
	names, calls := map[string]bool{}, map[string]string{}
	roles := []string{"anonymous", "read", "order", "operate"}
	for _, o := range read().Operations {
		if o.Operation.On < 0 || o.Operation.Risk < 0 || o.Operation.Where < 0 || !slices.Contains(roles, o.Need) {
			t.Errorf("%s: on %q, risk %q, where %q, role %q", o.Name, o.On, o.Risk, o.Where, o.Need)
		}
	}
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
		noAPI, noSocket := o.Lacks(API) != "", o.Lacks(Socket) != ""
		if (o.Call == "") != (noAPI && noSocket) || (o.run == nil && !noSocket) {
			t.Errorf("%s: call %q; API and socket lack it: %v, %v", o.Name, o.Call, noAPI, noSocket)
		}
	}
	surfaces := []Surface{Socket, API, Console, CommandLine}
	for _, l := range read().Lacking {
		for _, name := range l.Names {
			if !names[name] || l.Why == "" || !slices.Contains(surfaces, l.At) {
				t.Errorf("%s lacks %s, which is no operation, or without a reason", l.At, name)
			}
		}
	}
	for name := range deeds() {
		if !names[name] {
			t.Errorf("%s is no operation", name)
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
