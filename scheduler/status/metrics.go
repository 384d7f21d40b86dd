// SPDX-License-Identifier: Apache-2.0

package status

import (
	"embed"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"time"

	"mirrord/internal/wording"
)

// texts has the metrics and the messages about jobs.
//
//go:embed texts
var texts embed.FS

func textOf(name string, v any, words template.FuncMap) (string, error) {
	return wording.Templates{Files: texts, Glob: "texts/" + name + ".txt", Words: words}.Text(name, v)
}

// WriteMetrics writes all as metrics in the text format of Prometheus, version 0.0.4. Jobs are labels; hosts
// and URLs never are, so that the number of series is bounded by that of the jobs.
func WriteMetrics(w io.Writer, all All) error {
	m := metrics{All: all, States: map[string]int{}, Refused: all.Daemon.Problem != ""}
	for i := range all.Jobs {
		m.States[string(all.Jobs[i].Health)]++
		m.Refused = m.Refused || all.Jobs[i].Refused
	}
	family := ""
	text, err := textOf("metrics", &m, template.FuncMap{
		"gauge": func(name, help string) string {
			family = name
			return "# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n"
		},
		"counter": func(name, help string) string {
			family = name
			return "# HELP " + name + " " + help + "\n# TYPE " + name + " counter\n"
		},
		"states": Healths,
		"waits":  WaitsFor,
		"sample": func(v any, labels ...string) string { return sample(family, v, labels) },
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text+"\n")
	return err
}

// metrics is what the text of them is made of.
type metrics struct {
	All
	States  map[string]int
	Refused bool // a file, or all of them
}

// sample is a value with labels: name, value, name, value …; "" when there is no value.
func sample(family string, v any, labels []string) string {
	x, ok := number(v)
	if !ok {
		return ""
	}
	var b strings.Builder
	b.WriteString(family)
	for i := 0; i < len(labels); i += 2 {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + labels[i] + `="`)
		b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(
			strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		b.WriteByte('}')
	}
	return b.String() + " " + strconv.FormatFloat(x, 'g', -1, 64) + "\n"
}

// number is the value of a metric; not ok: it has no value.
func number(v any) (x float64, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			x = 1
		}
		return x, true
	case *time.Time:
		if v == nil {
			return 0, false
		}
		return number(*v)
	case time.Time:
		if !v.IsZero() {
			x = float64(v.UnixMilli()) / 1000
		}
		return x, true
	case float64:
		return v, true
	}
	return float64(reflect.ValueOf(v).Int()), true
}
