// SPDX-License-Identifier: Apache-2.0

package job

import (
	_ "embed"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

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

	Min     int64
	Max     int64  // 0 is no bound
	Instead string // of an old key: what to do about it
	Start   any    `toml:"default"` // nil: nothing

	field func(j *Job) any   // pointer to the field, where its name is another than the key's
	check func(j *Job) error // beyond the type; may be nil
	apply func(j *Job)       // sets what follows from a new value of the field; may be nil
}

//go:embed keys.toml
var keysFile []byte

// described is what keys.toml says.
type described struct {
	job  Job   // with all defaults
	Keys []Key // the old ones last in each table
}

var reference = sync.OnceValue(func() (d described) {
	if err := toml.Unmarshal(keysFile, &d); err != nil {
		panic(err)
	}
	var policies []string
	for _, p := range known.All() {
		policies = append(policies, string(p.Name)+": "+p.Doc)
	}
	text := strings.NewReplacer("\n", " ", "{policies}", strings.Join(policies, ". "))
	fields, checks, applies := fields(), checks(), applies()
	for i := range d.Keys {
		k := &d.Keys[i]
		k.Doc, k.Risk, k.Instead = text.Replace(k.Doc), text.Replace(k.Risk), text.Replace(k.Instead)
		if k.Name == "policy" {
			k.Enum = known.All().Names()
		}
		k.field, k.check, k.apply = fields[k.Name], checks[k.Name], applies[k.Name]
		if k.Start == nil {
			continue
		}
		if err := decode(*k, &d.job, k.Start); err != nil {
			panic(err)
		}
	}
	return d
})

// fields are the fields of keys with other names.
func fields() map[string]func(*Job) any {
	return map[string]func(*Job) any{
		"url":                      func(j *Job) any { return &j.URLs },
		"polite.timeout":           func(j *Job) any { return &j.Polite.HeaderTimeout },
		"auth.password":            func(j *Job) any { return (*envName)(&j.Auth.Password.Env) },
		"auth.password_file":       func(j *Job) any { return &j.Auth.Password.File },
		"auth.password_env":        func(j *Job) any { return &j.Auth.Password.Env },
		"auth.proxy_password_file": func(j *Job) any { return &j.Auth.ProxyPassword.File },
		"auth.proxy_password_env":  func(j *Job) any { return &j.Auth.ProxyPassword.Env },
	}
}

// applies set what follows from a new value of a key.
func applies() map[string]func(*Job) {
	return map[string]func(*Job){
		"limits.traps":   func(j *Job) { j.Limits.setTraps() },
		"polite.timeout": func(j *Job) { j.Polite.setTimeout() },
	}
}

// checks are what keys check beyond their types.
func checks() map[string]func(*Job) error {
	return map[string]func(*Job) error{
		"url":                     checkURLs,
		"title":                   func(j *Job) error { return checkLine("title", j.Title, 1000) },
		"authors":                 checkAuthors,
		"copyright":               func(j *Job) error { return checkLine("copyright", j.Copyright, 1000) },
		"abstract":                func(j *Job) error { return checkLine("abstract", j.Abstract, 4000) },
		"space":                   checkSpace,
		"schedule":                func(j *Job) error { _, err := ParseSchedule(j.Schedule); return err },
		"max_interval":            checkIntervals,
		"timezone":                checkTimezone,
		"window":                  func(j *Job) error { _, err := ParseWindow(j.Window); return err },
		"priority":                checkPriority,
		"profile":                 checkProfile,
		"proxy":                   checkProxy,
		"alternates":              checkAlternates,
		"scope.prefixes":          checkPrefixes,
		"scope.include":           func(j *Job) error { return checkGlobs(j.Scope.Include) },
		"scope.exclude":           checkExclude,
		"scope.aliases":           checkAliases,
		"scope.sessions":          checkSessions,
		"scope.types":             func(j *Job) error { return checkTypes(j.Scope.Types) },
		"scope.not_types":         func(j *Job) error { return checkTypes(j.Scope.NotTypes) },
		"programs.suffixes":       checkSuffixes,
		"programs.dirs":           checkDirs,
		"programs.globs":          func(j *Job) error { return checkGlobs(j.Programs.Globs) },
		"limits.max_repeats":      checkRepeats,
		"polite.user_agent":       checkUserAgent,
		"adaptive.learn_for":      func(j *Job) error { return checkDuration(j.Adaptive.LearnFor) },
		"limits.max_skip_time":    func(j *Job) error { return checkDuration(j.Limits.MaxSkipTime) },
		"near.min_foc":            checkFoC,
		"reuse.job":               checkReuse,
		"reuse.from":              func(j *Job) error { return checkDirectory(j.Reuse.From) },
		"reuse.at":                func(j *Job) error { return checkDirectory(j.Reuse.At) },
		"auth.user":               checkUser,
		"auth.password":           func(j *Job) error { return checkEnv(j.Auth.Password.Env) },
		"auth.password_file":      checkPassword,
		"auth.proxy_password_env": func(j *Job) error { return checkEnv(j.Auth.ProxyPassword.Env) },
		"auth.headers":            checkHeaders,
		"publish.keep":            func(j *Job) error { _, err := ParseKeep(j.Publish.Keep); return err },
		"publish.dir":             checkPublishDir,
		"publish.grace":           checkGrace,
		"hooks.before":            func(j *Job) error { return checkHook(j.Hooks.Before) },
		"hooks.published":         func(j *Job) error { return checkHook(j.Hooks.Published) },
		"hooks.after":             func(j *Job) error { return checkHook(j.Hooks.After) },
		"notify.email":            checkEmail,
		"notify.webhook":          checkWebhook,
		"notify.webhook_key":      checkWebhookKey,
	}
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

// tablesOf returns the tables of a file with these keys, in their order; "" is the top level.
func tablesOf(keys []Key) (out []string) {
	for _, k := range keys {
		if table, _ := k.Table(); !slices.Contains(out, table) {
			out = append(out, table)
		}
	}
	return out
}

// everyKey returns the keys that a job file may have, table by table, the old ones last in each.
func everyKey() []Key { return slices.Clone(reference().Keys) }

// Keys returns the keys of a job file in the order of the reference.
func Keys() []Key { return slices.DeleteFunc(everyKey(), Key.isOld) }

// oldKeys returns the keys that the reference no longer has. A job file may still set them: they are read
// for good and keep their effect, and each says what to write instead.
func oldKeys() []Key { return slices.DeleteFunc(everyKey(), func(k Key) bool { return !k.isOld() }) }

func (k Key) isOld() bool { return k.Instead != "" }

// notNeeded is said of an old key that no key replaces.
const notNeeded = "the key is no longer needed: remove the line"
