// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"mirrord/fetch/heads"
)

// The reason phrase of an answer may hold any bytes; what a terminal would obey is not printed. What never
// answered has no head.
func TestHeadsOnATerminal(t *testing.T) {
	var text bytes.Buffer
	x := Explanation{Head: &heads.Head{
		Status: "HTTP/1.1 200 \x1b[31mO\u009bK\x07",
		Fields: []heads.Field{{Name: "A", Value: "b\tc"}},
	}}
	if err := x.WriteText(&text); err != nil || strings.ContainsAny(text.String(), "\x1b\x07\u009b") ||
		!strings.Contains(text.String(), "A: b\tc\n") {
		t.Errorf("%v: %q", err, &text)
	}
}
