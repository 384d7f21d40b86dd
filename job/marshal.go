// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Effective returns the whole configuration as a job file, defaults included. Parse reads it back as the same
// job.
func (j *Job) Effective() []byte { return j.write(true) }

// Marshal returns the job as a job file of those keys that differ from the defaults. Parse reads it back as
// the same job.
func (j *Job) Marshal() []byte { return j.write(false) }

func (j *Job) write(all bool) []byte {
	var b strings.Builder
	def, now, current := Default(), j.current(), ""
	for _, k := range everyKey() {
		table, leaf := k.Table()
		v := encode(k.of(j))
		if k.isOld() && v == encode(k.of(now)) {
			continue
		}
		// An empty list differs from the default list but kind prefixes must not meet an empty one.
		if (!all && k.Name != "url" && !k.isOld() && v == encode(k.of(def))) ||
			(k.Name == "scope.prefixes" && len(j.Scope.Prefixes) == 0) {
			continue
		}
		if k.Name == "notify.webhook" && j.Notify.Webhook.IsZero() {
			continue
		}
		if table != current {
			fmt.Fprintf(&b, "\n[%s]\n", table)
			current = table
		}
		fmt.Fprintf(&b, "%s = %s\n", leaf, v)
	}
	return []byte(b.String())
}

// current returns the job as the keys of the reference alone describe it: what old keys changed is at its
// default.
func (j *Job) current() *Job {
	out := Default()
	for _, k := range Keys() {
		reflect.ValueOf(k.of(out)).Elem().Set(reflect.ValueOf(k.of(j)).Elem())
		if k.apply != nil {
			k.apply(out)
		}
	}
	return out
}

// encode returns the TOML value of the field that p points to.
func encode(p any) string {
	switch p := p.(type) {
	case *string:
		return quote(*p)
	case *envName:
		if *p == "" {
			return `""`
		}
		return quote("${" + string(*p) + "}")
	case *[]string:
		parts := make([]string, len(*p))
		for i, s := range *p {
			parts[i] = quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *bool:
		return strconv.FormatBool(*p)
	case *int64:
		return strconv.FormatInt(*p, 10)
	case *float64:
		s := strconv.FormatFloat(*p, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	case *time.Duration:
		return quote(formatDuration(*p))
	case *Size, *Rate, *Share:
		return quote(fmt.Sprint(p))
	case *Nofollow:
		if p.ByProfile {
			return `"profile"`
		}
		return strconv.FormatBool(p.Obeyed)
	case *Private:
		if len(p.Rules) == 0 {
			return strconv.FormatBool(p.All)
		}
		parts := make([]string, len(p.Rules))
		for i, r := range p.Rules {
			parts[i] = quote(r.String())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *[]PriorityRule:
		return EncodePriorities(*p)
	case *Secret:
		return encodeSecret(*p)
	case *map[string]Secret:
		if len(*p) == 0 {
			return "{}"
		}
		parts := make([]string, 0, len(*p))
		for _, name := range sortedKeys(*p) {
			parts = append(parts, quoteKey(name)+" = "+encodeSecret((*p)[name]))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	panic(fmt.Sprintf("job: cannot encode %T", p))
}

func encodeSecret(s Secret) string {
	switch {
	case s.Env != "":
		return "{ env = " + quote(s.Env) + " }"
	case s.File != "":
		return "{ file = " + quote(s.File) + " }"
	}
	return quote(s.Value)
}

// quote writes a TOML basic string. Bytes that are no UTF-8 become U+FFFD, as TOML has no way to write them.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quoteKey writes a key bare when TOML allows it.
func quoteKey(s string) string {
	if s != "" && consistsOf(s, letters+digits+"_-") {
		return s
	}
	return quote(s)
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// consistsOf reports whether a text has no other characters than these.
func consistsOf(s, chars string) bool { return strings.Trim(s, chars) == "" }
