// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"regexp"
	"strings"
)

// manExample is the job file that the manual page shows.
const manExample = `url      = "https://www.samba.org/"
schedule = "30 3 * * *"
timezone = "Europe/Berlin"
window   = "00:00-06:00"
scope    = { kind = "host", exclude = ["/ftp/**"] }

[limits]
max_size   = "20GB"

[polite]
delay      = "1s"

[notify]
email       = "ops@example.org"
stale_after = "7d"
`

// ManPage returns the manual page mirrord-job(5) in roff: what a job file is, and every key of it. date is
// shown at its foot.
func ManPage(version, date string) []byte {
	var m roff
	fmt.Fprintf(&m, ".TH MIRRORD-JOB 5 %q %q mirrord\n", date, "mirrord "+version)
	m.section("NAME")
	m.text(`mirrord-job - what a job file of mirrord says`)
	m.section("DESCRIPTION")
	m.text("A job says what to mirror, when, how politely, and what to do with the result. It is one TOML " +
		"file, NAME.toml, in the jobs directory: --jobs, else /etc/mirrord/jobs.d, else ./jobs.d. Without " +
		"--jobs, jobs.d of the state directory is read too, where the daemon saves new jobs. The name of " +
		"the file is the name of the job: 1 to 64 of a-z 0-9 . _ -, starting with a letter or digit. Files " +
		"that start with . or _ are not read. Only url must be given.")
	m.text("mirrord init URL writes a job file to begin with. mirrord check reports every mistake with its " +
		"line; mirrord check --effective prints a job with all defaults. mirrord get and run-now take each " +
		"key as --set KEY=VALUE by its full name, such as --set polite.connections=16.")
	m.section("EXAMPLE")
	m.example(manExample)
	m.section("VALUES")
	for _, v := range reference().Values {
		m.term(v[0])
		m.line(v[1])
	}
	m.section("KEYS")
	last := "-"
	for _, k := range Keys() {
		if table, _ := k.Table(); table != last {
			m.table(table)
			last = table
		}
		m.key(&k)
	}
	m.section("SEE ALSO")
	m.text("mirrord(1), mirrord-init(1), mirrord-check(1), mirrord-run-now(1)")
	return []byte(m.String())
}

// roff is text in the macros of man(7).
type roff struct{ strings.Builder }

// line writes text of which no character is an instruction.
func (m *roff) line(text string) {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	m.WriteString(text + "\n")
}

func (m *roff) section(title string) { m.WriteString(".SH " + title + "\n") }

func (m *roff) text(text string) {
	m.WriteString(".PP\n")
	m.line(text)
}

func (m *roff) term(text string) {
	m.WriteString(".TP\n.B ")
	m.line(text)
}

func (m *roff) example(text string) {
	m.WriteString(".PP\n.nf\n.RS 4\n")
	for line := range strings.Lines(text) {
		m.line(strings.TrimSuffix(line, "\n"))
	}
	m.WriteString(".RE\n.fi\n")
}

func (m *roff) table(name string) {
	title := "Top level"
	if name != "" {
		title = "[" + name + "]"
	}
	m.WriteString(".SS ")
	m.line(title)
	if about := reference().About[name]; about != "" {
		markdownLink := regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
		m.line(strings.ReplaceAll(markdownLink.ReplaceAllString(about, "$1"), "`", ""))
	}
}

// key writes the description of a key.
func (m *roff) key(k *Key) {
	_, leaf := k.Table()
	m.term(leaf)
	typ := k.Type
	if len(k.Enum) > 0 {
		typ = `"` + strings.Join(k.Enum, `", "`) + `"`
	}
	if k.Unit != "" {
		typ += " of " + k.Unit
	}
	switch def := k.Default(); def {
	case "":
		typ += "; must be given"
	case `""`, "[]", "{}":
		typ += "; default: nothing"
	default:
		typ += "; default: " + def
	}
	m.line(typ + ".")
	m.WriteString(".br\n")
	m.line(k.Doc)
	if k.Risk != "" {
		m.WriteString(".br\n")
		m.line("Risk: " + k.Risk)
	}
	m.WriteString(".br\n")
	m.line("Example: " + leaf + " = " + k.Example)
}
