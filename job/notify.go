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

func notifyKeys() []Key {
	return []Key{
		{
			Name:    "notify.command",
			Type:    "text",
			Example: `"/usr/local/bin/tell-ops"`,
			Doc: "Run by the shell when a run did not end well, when a resource is newly missing, when the " +
				"mirror is suspicious or stale, when jobs wait for room on the disk, and when it is well again. " +
				"It gets the report as JSON " +
				"on standard input, and " +
				"MIRRORD_JOB, MIRRORD_KIND, MIRRORD_STATE and MIRRORD_SUBJECT in the environment. It " +
				"is killed after 30 seconds, with all that it started.",
			Risk: "Runs as the daemon's user, in its sandbox.",
		},
		{
			Name:    "notify.email",
			Type:    "address or list of addresses",
			Example: `["ops@example.org"]`,
			Doc: "Receivers of the report by mail: through the machine's sendmail, or as mail.via " +
				"of daemon.toml says.",
			check: checkEmail,
		},
		{
			Name:    "notify.webhook",
			Type:    "URL, { env = … } or { file = … }",
			Example: `{ env = "MIRRORD_WEBHOOK" }`,
			Doc:     "Receives the report as JSON in a POST.",
			check:   checkWebhook,
		},
		{
			Name:    "notify.webhook_key",
			Type:    "{ env = … } or { file = … }",
			Example: `{ file = "/etc/mirrord/webhook.key" }`,
			Doc: "Signs the POST by the rules of the Standard Webhooks; whsec_ and base64, or any text. " +
				"X-Mirrord-Signature is t=UNIX,v1=HEX, the HMAC-SHA256 of the time, a dot and the body.",
			check: checkWebhookKey,
		},
		{
			Name:    "notify.stale_after",
			Type:    "duration",
			Example: `"7d"`,
			Doc: "Also report when a part of the mirror was not verified for longer; the status is " +
				"then stale. 0s: never.",
		},
	}
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
