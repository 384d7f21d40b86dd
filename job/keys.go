// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"mirrord/evolution/policy/known"
)

// Key describes one key of a job file.
type Key struct {
	Name    string   // dotted: "polite.delay"
	Type    string   // what a person reads: "duration", "size", "list of globs" …
	Unit    string   // of a plain number, or what a value counts; may be empty
	Doc     string   // what it does, one or two sentences
	Risk    string   // what a bad choice costs; may be empty
	Example string   // a TOML value
	Enum    []string // the words allowed, for a choice
	Later   bool     // checked already, but has no effect yet

	min, max int64              // of integers; max 0 is no bound
	field    func(j *Job) any   // pointer to the field, where its name is another than the key's
	check    func(j *Job) error // beyond the type; may be nil
	apply    func(j *Job)       // sets what follows from a new value of the field; may be nil
	instead  string             // of an old key: what to do about it
}

// Default returns the key's default as a TOML value; "" when the key must be given.
func (k Key) Default() string {
	if k.Name == "url" {
		return ""
	}
	return encode(k.of(Default()))
}

// of returns a pointer to the field of the key: the one of its name, without underscores.
func (k Key) of(j *Job) any {
	if k.field != nil {
		return k.field(j)
	}
	v := reflect.ValueOf(j).Elem()
	for part := range strings.SplitSeq(strings.ReplaceAll(k.Name, "_", ""), ".") {
		v = v.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, part) })
	}
	if v.Kind() == reflect.String {
		return v.Addr().Convert(reflect.TypeFor[*string]()).Interface()
	}
	return v.Addr().Interface()
}

// To returns the key with its value stored where field points to, for any job. Of the key its Name,
// Type, Example and Enum count.
func (k Key) To(field any) Key {
	k.field = func(*Job) any { return field }
	return k
}

// Values returns the values that a key can have, when these are few; nil otherwise.
func (k Key) Values() []string {
	if k.Type == "true or false" {
		return []string{"true", "false"}
	}
	return k.Enum
}

// Table returns the table of the key, "" for the top level, and the key inside it.
func (k Key) Table() (table, leaf string) { return cutLast(k.Name) }

// Tables returns the tables of a job file in the order of the reference; the first, "", is the top level.
func Tables() []string {
	return []string{
		"", "scope", "programs", "limits", "polite", "evidence", "adaptive", "near", "reuse", "auth", "tls",
		"publish", "hooks", "notify",
	}
}

// Keys returns the keys of a job file in the order of the reference.
func Keys() []Key {
	return slices.Concat(
		topKeys(), replicaKeys(), scopeKeys(), limitKeys(), politeKeys(), evidenceKeys(), policyKeys(), reuseKeys(),
		accessKeys(), resultKeys(), hookKeys(), notifyKeys(),
	)
}

// policyDocs says of each policy what it asks for.
func policyDocs() string {
	var docs []string
	for _, p := range known.All() {
		docs = append(docs, string(p.Name)+": "+p.Doc)
	}
	return strings.Join(docs, ". ")
}

// oldKeys returns the keys that the reference no longer has. A job file may still set them: they are read
// for good and keep their effect, and each says what to write instead.
func oldKeys() []Key {
	const traps = `write limits.traps = "strict", "normal" or "off"`
	const timeout = "write polite.timeout"
	return []Key{
		{
			Name:    "limits.max_repeats",
			Type:    "number",
			Example: "0",
			max:     1000,
			instead: traps,
			check:   checkRepeats,
		},
		{
			Name:    "limits.max_url_length",
			Type:    "number",
			Example: "500",
			min:     64,
			max:     maxURLLength,
			instead: traps,
		},
		{
			Name:    "limits.max_stale",
			Type:    "number",
			Example: "100",
			max:     1 << 20,
			instead: traps,
		},
		{
			Name:    "limits.max_ratio",
			Type:    "number",
			Example: "1000",
			min:     10,
			max:     1_000_000,
			instead: notNeeded,
		},
		{
			Name:    "polite.connect_timeout",
			Type:    "duration",
			Example: `"5s"`,
			min:     int64(time.Millisecond),
			instead: timeout,
		},
		{
			Name:    "polite.header_timeout",
			Type:    "duration",
			Example: `"2m"`,
			min:     int64(time.Millisecond),
			instead: timeout,
		},
		{
			Name:    "polite.idle_timeout",
			Type:    "duration",
			Example: `"1m"`,
			min:     int64(time.Millisecond),
			instead: timeout,
		},
		{
			Name:    "polite.total_timeout",
			Type:    "duration",
			Example: `"30m"`,
			instead: notNeeded + "; polite.min_rate and limits.max_time end what takes too long",
		},
		{
			Name:    "auth.password_env",
			Type:    "name",
			Example: `"EXAMPLE_PASSWORD"`,
			instead: `write auth.password = "${NAME}"`,
			field:   func(j *Job) any { return &j.Auth.Password.Env },
		},
		{
			Name:    "auth.proxy_user",
			Type:    "text",
			Example: `"mirror"`,
			instead: `write proxy = "http://USER@HOST:PORT"`,
		},
		{
			Name:    "auth.proxy_password_env",
			Type:    "name",
			Example: `"PROXY_PASSWORD"`,
			instead: `write proxy = "http://USER:${NAME}@HOST:PORT"`,
			field:   func(j *Job) any { return &j.Auth.ProxyPassword.Env },
			check:   func(j *Job) error { return checkEnv(j.Auth.ProxyPassword.Env) },
		},
		{
			Name:    "publish.grace",
			Type:    "duration",
			Example: `"6h"`,
			instead: notNeeded,
			check:   checkGrace,
		},
		{
			Name:    "publish.trees",
			Type:    "number",
			Example: "2",
			min:     1,
			max:     100,
			instead: notNeeded,
		},
	}
}

// notNeeded is said of an old key that no key replaces.
const notNeeded = "the key is no longer needed: remove the line"

// everyKey returns the keys that a job file may have, table by table, the old ones last in each.
func everyKey() []Key {
	keys := slices.Concat(Keys(), oldKeys())
	table := func(k Key) int {
		t, _ := k.Table()
		return slices.Index(Tables(), t)
	}
	slices.SortStableFunc(keys, func(a, b Key) int { return cmp.Compare(table(a), table(b)) })
	return keys
}
