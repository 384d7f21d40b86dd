// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Notify is who hears about a run that did not end well.
type Notify struct {
	Command    string        // run with the report on standard input
	Email      []string      // addresses
	Webhook    Secret        // URL that gets the report as JSON
	WebhookKey Secret        // key that signs it
	StaleAfter time.Duration // also tell when the last complete version is older; 0 never
}

func checkEmail(j *Job) error {
	for _, a := range j.Notify.Email {
		if !mailAddress(a) {
			return problemf(`addresses look like "ops@example.org"`, "%q is not a mail address", a)
		}
	}
	return nil
}

// mailAddress accepts the dot-atom form of RFC 5322 3.4.1: what a mailer's command line takes without
// quoting, and never an option.
func mailAddress(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || len(s) > 254 || local == "" || domain == "" || strings.HasPrefix(s, "-") {
		return false
	}
	for _, part := range append(strings.Split(local, "."), strings.Split(domain, ".")...) {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool {
			return r <= ' ' || r == 0x7f || strings.ContainsRune("\"(),:;<>@[\\]", r)
		}) {
			return false
		}
	}
	return utf8.ValidString(s)
}

func checkWebhook(j *Job) error {
	w := j.Notify.Webhook
	if err := checkEnv(w.Env); err != nil {
		return err
	}
	if w.Value == "" {
		return nil
	}
	return checkURL(w.Value)
}

func checkWebhookKey(j *Job) error {
	if j.Notify.WebhookKey.Value != "" {
		return problemf(`write { env = "NAME" } or { file = "/path" }`, "a key does not belong in a job file")
	}
	return checkEnv(j.Notify.WebhookKey.Env)
}
