// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// An applet whose class the mirror does not have finds it at the origin, until the mirror has it.
func TestAppletWithoutClass(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", `<a href=demo/>demo</a>`))
	w.Set(home+"/demo/", mirrortest.HTML("Demo", `<applet code="Clock.class" width=9></applet>`))
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	const outside = `code="Clock.class" codebase="` + home + `/demo/" width=9`
	if page := m.Tree()["demo/index.html"]; !strings.Contains(page, outside) {
		t.Error(page)
	}
	w.Set(home+"/demo/Clock.class", mirrortest.Page{
		Header: map[string]string{"Content-Type": "application/java-vm"},
		Body:   "class",
	})
	for range 20 {
		if s := m.Run(); s.Published {
			break
		}
	}
	if page := m.Tree()["demo/index.html"]; !strings.Contains(page, `code="Clock.class" width=9`) {
		t.Error(page)
	}
}
