// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The manual page of job files fits a terminal of 80 columns: each long cell of its tables may break.
func TestJobPageFits(t *testing.T) {
	page, err := jobPage(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	tables, table, block := 0, false, false
	for line := range strings.Lines(string(page)) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case text == ".TS" || text == ".TE":
			table = text == ".TS"
			tables++
		case block || strings.HasPrefix(text, "T}"):
			block = !strings.HasPrefix(text, "T}") || strings.HasSuffix(text, "T{")
		case table:
			for cell := range strings.SplitSeq(text, "\t") {
				if block = cell == "T{"; len(cell) > mostCell {
					t.Errorf("a cell cannot break: %s", cell)
				}
			}
		}
	}
	if tables < 4 {
		t.Errorf("%d lines begin or end tables", tables)
	}
	if strings.Contains(string(page), `\\|`) {
		t.Error("a pipe is escaped as in Markdown")
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff, which says what a terminal shows")
	}
	cmd := exec.Command(groff, "-t", "-man", "-Tutf8", "-Kutf8", "-rLL=78n", "-ww", "-P-cbou")
	var out, says bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(page), &out, &says
	if err := cmd.Run(); err != nil || strings.Contains(says.String(), "wider") {
		t.Errorf("%v:\n%s", err, says.String())
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimSpace(line))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
