// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/fetch/reach"
)

// decode stores the TOML value v (as go-toml decodes into any) in the field of k. It checks the type, the
// range and the words of a choice, and stores nothing when one of them is wrong.
func decode(k Key, j *Job, v any) error {
	switch p := k.of(j).(type) {
	case *string:
		s, ok := v.(string)
		if !ok {
			return wrongType(k, v)
		}
		if len(k.Enum) > 0 && !slices.Contains(k.Enum, s) {
			hint := "known are " + strings.Join(k.Enum, ", ")
			if n := Nearest(s, k.Enum); n != "" {
				hint = fmt.Sprintf("did you mean %q?", n)
			}
			return problemf(hint, "%s %q is not known", k.Name, s)
		}
		*p = s
	case *envName:
		s, ok := v.(string)
		name, is := cutEnv(s)
		if !ok {
			return wrongType(k, v)
		}
		if !is && s != "" {
			return problemf(`write "${NAME}" with the name of an environment variable, or use password_file`,
				"%s must not hold a secret", k.Name)
		}
		*p = envName(name)
	case *[]string:
		return decodeList(k, p, v)
	case *bool:
		b, ok := v.(bool)
		if !ok {
			return wrongType(k, v)
		}
		*p = b
	case *int64:
		n, ok := v.(int64)
		if !ok {
			return wrongType(k, v)
		}
		if err := inRange(k, n); err != nil {
			return err
		}
		*p = n
	case *float64:
		f, ok := number(v)
		if !ok {
			return wrongType(k, v)
		}
		if !(f >= 0) || (k.Max > 0 && f > float64(k.Max)) {
			return problemf("", "%s must be between 0 and %d", k.Name, k.Max)
		}
		*p = f
	case *Size:
		n, err := decodeUnit(k, v, ParseSize)
		if err != nil {
			return err
		}
		if err := inRange(k, int64(n)); err != nil {
			return err
		}
		*p = n
	case *Rate:
		n, err := decodeUnit(k, v, ParseRate)
		if err != nil {
			return err
		}
		*p = n
	case *Share:
		return decodeShare(k, p, v)
	case *time.Duration:
		return decodeDuration(k, p, v)
	case *Private:
		return decodePrivate(k, p, v)
	case *Nofollow:
		b, ok := v.(bool)
		if ok || v == "profile" {
			*p = Nofollow{Obeyed: b || !ok, ByProfile: !ok}
			return nil
		}
		return wrongType(k, v)
	case *Secret:
		s, err := decodeSecret(k.Name, v)
		if err != nil {
			return err
		}
		*p = s
	case *map[string]Secret:
		m, ok := v.(map[string]any)
		if !ok {
			return wrongType(k, v)
		}
		var out map[string]Secret
		if len(m) > 0 {
			out = make(map[string]Secret, len(m))
		}
		for _, name := range sortedKeys(m) {
			s, err := decodeSecret(k.Name+"."+quoteKey(name), m[name])
			if err != nil {
				return err
			}
			out[name] = s
		}
		*p = out
	default:
		panic(fmt.Sprintf("job: key %s has a field of unknown type %T", k.Name, p))
	}
	return nil
}

func decodeList(k Key, p *[]string, v any) error {
	if s, ok := v.(string); ok {
		v = []any{s}
	}
	list, ok := v.([]any)
	if !ok {
		return wrongType(k, v)
	}
	var out []string // nil when empty: one way to say nothing
	if len(list) == 0 && *p != nil {
		out = []string{} // none, where the default is some: package site takes nil for its own default
	}
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return problemf("put it in quotes", "%s wants a list of strings, and one element is %s", k.Name,
				typeName(e))
		}
		out = append(out, s)
	}
	*p = out
	return nil
}

// decodePrivate reads true, false, or which addresses are meant.
func decodePrivate(k Key, p *Private, v any) error {
	if b, ok := v.(bool); ok {
		*p = Private{All: b}
		return nil
	}
	var texts []string
	if err := decodeList(k, &texts, v); err != nil {
		return err
	}
	var rules []reach.Rule // nil when empty, as false is
	for _, s := range texts {
		if s == "true" || s == "false" {
			return problemf("write it without quotes", "%s: %q is a string", k.Name, s)
		}
		r, err := reach.ParseRule(s)
		if err != nil {
			cause := err.Error()
			if !strings.Contains(cause, s) {
				cause = fmt.Sprintf("%q: %s", s, cause)
			}
			return problemf(`elements look like "10.0.0.0/8:80,443", "[fd00::/8]:443" or "host:8080"`, "%s: %s",
				k.Name, cause)
		}
		rules = append(rules, r)
	}
	*p = Private{Rules: rules}
	return nil
}

// decodeUnit reads a text with a unit or a plain number of bytes.
func decodeUnit[T ~int64](k Key, v any, parse func(string) (T, error)) (T, error) {
	switch v := v.(type) {
	case int64:
		if v < 0 {
			return 0, problemf("", "%s must not be negative", k.Name)
		}
		return T(v), nil
	case string:
		return parse(v)
	}
	return 0, wrongType(k, v)
}

func decodeShare(k Key, p *Share, v any) error {
	if s, ok := v.(string); ok {
		sh, err := ParseShare(s)
		if err != nil {
			return err
		}
		*p = sh
		return nil
	}
	f, ok := number(v)
	if !ok {
		return wrongType(k, v)
	}
	if !(f >= 0 && f <= 1) {
		hint := ""
		if f > 1 && f <= 100 {
			hint = fmt.Sprintf("did you mean %q?", strconv.FormatFloat(f, 'f', -1, 64)+"%")
		}
		return problemf(hint, "%s must be between 0 and 1", k.Name)
	}
	*p = Share(f)
	return nil
}

func decodeDuration(k Key, p *time.Duration, v any) error {
	var d time.Duration
	switch v := v.(type) {
	case string:
		var err error
		if d, err = ParseDuration(v); err != nil {
			return err
		}
	case int64:
		if v != 0 {
			return problemf(fmt.Sprintf("write \"%ds\" for seconds", v), "%s has no unit", k.Name)
		}
	default:
		return wrongType(k, v)
	}
	if int64(d) < k.Min {
		return problemf("", "%s must be at least %s", k.Name, time.Duration(k.Min))
	}
	*p = d
	return nil
}

func decodeSecret(name string, v any) (Secret, error) {
	const hint = `write a text, "${NAME}", { env = "NAME" } or { file = "/path" }`
	switch v := v.(type) {
	case string:
		header, is := strings.CutPrefix(name, "auth.headers.")
		if env, ok := cutEnv(v); ok && (!is || secretHeader(header)) { // in another header it is a text
			return Secret{Env: env}, nil
		}
		return Secret{Value: v}, nil
	case map[string]any:
		env, _ := v["env"].(string)
		file, _ := v["file"].(string)
		if len(v) == 1 && (env != "") != (file != "") {
			return Secret{Env: env, File: file}, nil
		}
	}
	return Secret{}, problemf(hint, "%s is neither a text nor a place to read it from", name)
}

func inRange(k Key, n int64) error {
	switch {
	case n < k.Min && k.Max == 0:
		return problemf("", "%s must be at least %d", k.Name, k.Min)
	case n < k.Min || (k.Max > 0 && n > k.Max):
		return problemf("", "%s must be between %d and %d", k.Name, k.Min, k.Max)
	}
	return nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return 0, false
}

func wrongType(k Key, v any) error {
	hint := ""
	if k.Example != "" {
		_, leaf := k.Table()
		hint = "write " + leaf + " = " + k.Example
	}
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return problemf(hint, "%s wants %s, not %v", k.Name, article(k.Type), f)
	} else if ok && k.Type == "number" {
		return problemf(hint, "%s wants a whole number, not %v", k.Name, f)
	}
	return problemf(hint, "%s wants %s, not %s", k.Name, article(k.Type), typeName(v))
}

func article(noun string) string {
	switch {
	case noun == "text" || noun == "true or false" || strings.HasPrefix(noun, "URL,"):
		return noun
	case strings.HasPrefix(noun, "address"):
		return "an " + noun
	}
	return "a " + noun
}

func typeName(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
